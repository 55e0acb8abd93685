"""Threads that work for the user, and calls to pools that are not done."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from IPython.core.getipython import get_ipython

from banyan.background.tasks import on_loop
from banyan.background.users import bare, code_on, is_global, is_users, name_of

# Threads that these packages start belong to the kernel or to a debugger, whenever they start.
OWN = frozenset({"IPython", "ipykernel", "zmq", "tornado", "debugpy", "_pydevd_bundle", "pydevd", "banyan"})
_RUN_FOREVER = asyncio.BaseEventLoop.run_forever.__code__
# `threading` begins a thread by one of these functions: by the second since Python 3.13.
_STARTERS = ("_start_new_thread", "_start_joinable_thread")
_FRAMES_MAX = 100

_started: weakref.WeakSet[threading.Thread] = weakref.WeakSet()  # Threads that the user's own code has started.
_watching = False


def _watch_starts() -> None:
    """Notice which code starts a thread, because Python does not record it. It is done once, and for good."""
    global _watching
    if _watching:
        return
    _watching = True
    for name in _STARTERS:
        if (start := getattr(threading, name, None)) is not None:
            setattr(threading, name, functools.partial(_start, start))


def _start(start: Callable[..., Any], function: Any, *arguments: Any, **options: Any) -> Any:
    with contextlib.suppress(Exception):
        thread, frame = getattr(function, "__self__", None), sys._getframe(2)  # Beyond Thread.start.
        if isinstance(thread, threading.Thread) and is_global(frame.f_globals):
            _started.add(thread)
    return start(function, *arguments, **options)


def _thread_of(ident: int) -> threading.Thread | None:
    """None if `threading` has not started it. A thread that has just begun is not yet among the active ones."""
    found: threading.Thread | None = threading._active.get(ident)  # type: ignore[attr-defined]
    if found is None and (begins := list(threading._limbo)):  # type: ignore[attr-defined]
        return next((each for each in begins if each.ident == ident), None)
    return found


class Threads:
    def __init__(self) -> None:
        """Take threads that run already as not the user's, unless what they run is."""
        # By identifier. The next thread may get the identifier of one that has ended, so the object is kept as well.
        self._own = {ident: _thread_of(ident) for ident in sys._current_frames()}
        _watch_starts()

    def at_work(self) -> list[str]:
        frames = sys._current_frames()
        # Its entry for this thread would refer to this very dict, and so keep alive what the callers hold, such as
        # buffers of the user's objects.
        del frames[_thread.get_ident()]
        if all(self._is_own(ident) for ident in frames):
            return []
        found: list[str] = []
        for ident, frame in frames.items():
            found += self._of(_thread_of(ident), ident, frame)
        return found

    def _is_own(self, ident: int) -> bool:
        return ident in self._own and self._own[ident] is _thread_of(ident)

    def _of(self, thread: threading.Thread | None, ident: int, frame: types.FrameType) -> Iterator[str]:
        if thread is None or isinstance(thread, threading._DummyThread):
            code = None if self._is_own(ident) else code_on(frame)
            if code is not None:
                yield f"thread {ident} runs {name_of(code)}"
            return
        if type(thread).__module__.partition(".")[0] in OWN or runs_scripts(thread):
            return
        runs = _runs(thread)
        if is_users(runs) or thread in _started:
            kind = "timer" if isinstance(thread, threading.Timer) else "thread"
            yield f"{kind} {thread.name} runs {name_of(runs)}"
        elif not self._is_own(ident):
            yield from _of_library(thread, runs, frame)


def _of_library(thread: threading.Thread, runs: Any, frame: types.FrameType) -> Iterator[str]:
    """The user's work that a thread of a library does."""
    # Executors with processes have this attribute, also joblib's.
    pending = getattr(thread, "pending_work_items", None)
    if pending:
        yield f"pool of processes has {_calls(len(pending))} to make"
        return
    if getattr(bare(runs), "__qualname__", "") == "Pool._handle_results":
        if cache := _cache(thread):
            yield f"pool of multiprocessing has {_calls(len(cache))} to make"
        return
    code = code_on(frame)
    if code is not None:
        yield f"thread {thread.name} runs {name_of(code)}"
    else:
        call, loop = _outermost(frame)
        if call is not None:
            yield f"thread {thread.name} runs {name_of(call)}"
        elif loop is not None:
            yield from on_loop(loop)


def _outermost(frame: types.FrameType) -> tuple[Any, asyncio.AbstractEventLoop | None]:
    """The call that a thread of an executor makes, or the event loop that it runs."""
    waits = getattr(getattr(sys.modules.get("concurrent.futures.thread"), "_worker", None), "__code__", None)
    at: types.FrameType | None = frame
    below = None
    for _ in range(_FRAMES_MAX):
        if at is None:
            break
        if at.f_code is waits:
            if below is None:  # It waits for calls.
                break
            item = below.f_locals.get("self")
            # `fn` until Python 3.13, `task` since then.
            call = getattr(item, "fn", None) or next(iter(getattr(item, "task", ())), None)
            return call or below.f_code, None
        if at.f_code is _RUN_FOREVER:
            return None, at.f_locals.get("self")
        below, at = at, at.f_back
    return None, None


def _runs(thread: threading.Thread) -> Any:
    runs = getattr(thread, "function", None) if isinstance(thread, threading.Timer) else None
    runs = runs or getattr(thread, "_target", None)
    return runs if runs is not None else type(thread).run


def _cache(thread: threading.Thread) -> Any:
    """Calls of a pool whose results have not come."""
    arguments = getattr(thread, "_args", ())
    return next((each for each in arguments if isinstance(each, dict)), None)


def _calls(count: int) -> str:
    return "a call" if count == 1 else f"{count} calls"


def runs_scripts(thread: threading.Thread) -> bool:
    """Whether this is the thread that IPython starts for `%%script` and similar magics."""
    loop = getattr(getattr(thread, "_target", None), "__self__", None)
    if loop is None:
        return False
    shell: Any = get_ipython()
    scripts = shell.magics_manager.registry.get("ScriptMagics") if shell is not None else None
    return loop is getattr(scripts, "event_loop", None)
