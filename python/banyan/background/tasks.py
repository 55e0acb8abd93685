"""Tasks of an event loop that run the user's code, and calls of the user's functions that the loop is to make later."""

from __future__ import annotations

import asyncio
import functools
import types
from collections.abc import Iterator
from typing import Any

from banyan.background.users import is_global, is_users, name_of, users_among

_AWAITS_MAX = 20
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def on_loop(loop: asyncio.AbstractEventLoop) -> list[str]:
    return [*_tasks(loop), *_timers(loop)]


_handling: asyncio.Task[Any] | None = None


def handle(task: asyncio.Task[Any] | None) -> None:
    """From now on, this is the task in which the kernel handles a request."""
    global _handling
    _handling = task


def others_on(loop: asyncio.AbstractEventLoop | None) -> list[asyncio.Task[Any]]:
    """The tasks of a loop without the one in which the kernel handles a request, because that one is
    slow to look into.
    """
    return [] if loop is None else [task for task in asyncio.all_tasks(loop) if task is not _handling]


def _tasks(loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    for task in others_on(loop):
        runs = _users_code(task) if not task.cancelling() else ""
        if runs:
            yield f"task {task.get_name()} runs {runs}"


def _users_code(task: asyncio.Task[Any]) -> str:
    """The name of what a task runs of the user's: its coroutine, one that this awaits, or what is
    called when it is done.

    A cell itself does not count; the kernel's own tasks await that.
    """
    coroutine: Any = task.get_coro()
    awaited = coroutine
    for _ in range(_AWAITS_MAX):
        if type(awaited) is not types.CoroutineType or awaited.cr_frame is None:
            break
        if is_global(awaited.cr_frame.f_globals):
            return "" if awaited.cr_code.co_name == "<module>" else awaited.__qualname__
        awaited = awaited.cr_await if awaited.cr_suspended else _argument(awaited.cr_frame)
    for callback, *_ in getattr(task, "_callbacks", None) or ():
        if type(callback) in _FUNCTIONS and is_users(callback):
            return f"{getattr(coroutine, '__qualname__', 'a coroutine')}, then {name_of(callback)}"
    return ""


def _argument(frame: types.FrameType) -> Any:
    """A coroutine that was passed to one that has not begun yet."""
    return next((each for each in frame.f_locals.values() if isinstance(each, types.CoroutineType)), None)


def _timers(loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    for handle in list(getattr(loop, "_scheduled", ())):
        if handle.cancelled():
            continue
        calls = users_among(handle._callback, handle._args or ())
        if calls is not None:
            yield f"timer of the event loop calls {name_of(calls)}"
