"""Which libraries workers import, so that a zygote can import them before it forks.

A worker reports what its cells have imported (`Imported`). The host agent passes that to a zygote for later workers,
which imports it with what other processes leave of the processors (`import_ahead`, `at_leisure`).

No list says which libraries a fork may have: the zygote tries. One that leaves a thread behind is unfit, because a
fork has none of its threads and waits for ever for a lock that one of them holds. So is one that has drawn a random
state, because all forks would draw the same numbers from it. So is one that keeps the shell which stands in for a
worker's while it is imported (`as_in_a_kernel.py`), because what it does later it would do to that one.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import itertools
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from IPython.core.getipython import get_ipython

from banyan.process import installed

_MODULE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)?\Z")
_MODULES_MAX = 500  # In one frame.
_LEAST = 19  # The highest niceness of a process, which is the lowest priority (nice(2)).
_AGAIN_S = 0.05  # Linux lets an autogroup be changed every 0.1 s.
_TRY_S = 5.0
_DRAWN_ANEW = (("random", "_inst"), ("numpy.random.mtrand", "_rand"))
_GENERATORS = frozenset({"random.Random", "numpy.random.mtrand.RandomState", "numpy.random._generator.Generator"})

EVERY = "*"

# Names of the packages that may be imported ahead; EVERY stands for all that are installed. A zygote sets them before
# it forks.
libraries: frozenset[str] = frozenset()


class Imported:
    """Which of these libraries this process has imported and not reported yet. Make it in a worker
    before user code runs.
    """

    def __init__(self) -> None:
        self._seen = len(sys.modules)
        self._told = set(sys.modules)

    def news(self) -> list[str]:
        """Packages and their direct submodules that were imported since the last call, in the order of their import."""
        if len(sys.modules) == self._seen:
            return []
        names = [name for name in list(sys.modules) if name not in self._told and is_of_library(name)]
        if len(names) <= _MODULES_MAX:
            self._seen = len(sys.modules)
        self._told.update(names[:_MODULES_MAX])
        return names[:_MODULES_MAX]


def is_of_library(name: object) -> bool:
    """Whether a module is to be imported ahead. A library's private modules are not, as the library
    imports them itself.
    """
    if not isinstance(name, str) or _MODULE.match(name) is None:
        return False
    library = name.partition(".")[0]
    return library in libraries or (EVERY in libraries and is_installed(library))


@functools.cache
def is_installed(library: str) -> bool:
    """Whether a package was put there by an installer. What is of the standard library is imported quickly,
    and files elsewhere are the user's own, which change.
    """
    try:
        spec = getattr(sys.modules.get(library), "__spec__", None) or importlib.util.find_spec(library)
    except (ImportError, ValueError):
        return False
    origin = os.path.realpath(spec.origin) if spec is not None and spec.origin else ""
    return bool(origin) and installed.is_of_package(library, origin)


def import_ahead(modules: Iterable[object], bytes_max: int = 0) -> dict[str, object]:
    """Import those of the modules that belong to the libraries, in their order, while this process has less than
    `bytes_max` bytes in memory (0: any number).

    Returns `failed`, the modules that could not be imported; `unfit`, the libraries after whose import no fork may
    be made of this process; `left`, the modules for which there was no memory; and `files`, whose times of
    modification show whether a library has been replaced since.
    """
    failed: list[str] = []
    unfit: list[str] = []
    left: list[str] = []
    done: set[str] = set()
    for name in modules:
        if not isinstance(name, str) or not is_of_library(name):
            continue
        library = name.partition(".")[0]
        if bytes_max and _resident_bytes() >= bytes_max:
            left.append(name)
            continue
        known, threads = set(sys.modules), _threads()
        try:
            importlib.import_module(name)
        except BaseException as error:  # It may be an exception that would end the process, such as SystemExit.
            print(f"zygote: cannot import {name} ahead: {error!r}", file=sys.stderr)
            failed.append(name)
            continue
        done.add(library)
        why = _why_unfit(set(sys.modules) - known, threads)
        if why and library not in unfit:
            print(f"zygote: {library} is not imported ahead: {why}", file=sys.stderr)
            unfit.append(library)
    paths = [getattr(sys.modules.get(library), "__file__", None) for library in sorted(done)]
    files = [{"path": path, "mtime_ns": os.stat(path).st_mtime_ns} for path in paths if path]
    return {"failed": failed, "unfit": unfit, "left": left, "files": files}


def _why_unfit(modules: Iterable[str], threads_before: int) -> str:
    """Why a fork of this process must not have these modules, which were just imported; empty when it may."""
    if _threads() > threads_before:
        _end_pools()
    if _threads() > threads_before:
        return "it starts threads when it is imported"
    shell = get_ipython()
    if shell is not None and (keeper := _keeper_of(shell, modules)):
        return f"{keeper} keeps the shell that was there when it was imported, and a worker has another one"
    # The states of these two are drawn anew in each worker.
    known = [getattr(sys.modules.get(name), state, None) for name, state in _DRAWN_ANEW]
    for name in modules:
        for value in list(getattr(sys.modules.get(name), "__dict__", {}).values()):
            is_generator = f"{type(value).__module__}.{type(value).__name__}" in _GENERATORS
            if is_generator and not any(value is other for other in known):
                return f"{name} draws a random state when it is imported"
    return ""


def _keeper_of(shell: Any, modules: Iterable[str]) -> str:
    """One of the modules that has the shell as a global, or a callback registered with the shell that refers to it."""
    for name in modules:
        if any(value is shell for value in list(getattr(sys.modules.get(name), "__dict__", {}).values())):
            return name
    for callback in itertools.chain.from_iterable(shell.events.callbacks.values()):
        for cell in getattr(callback, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # The cell is empty.
                if cell.cell_contents is shell:
                    return str(callback.__module__)
    return ""


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


_T = TypeVar("_T")


def at_leisure(work: Callable[[], _T], *, own_session: bool = False) -> _T:
    """Run `work` in a thread of lowest priority, so that it takes only what other processes leave of the processors.

    A thread is used because going back to a usual priority takes a privilege (sched(7)). own_session: no other
    process is in the session of this one. Where Linux shares the processors between sessions first (autogroups,
    sched(7)), a thread's priority counts only within its session, so the session's own priority is lowered, too, and
    raised afterwards.
    """
    lowered = own_session and _weigh_session(_LEAST)
    try:
        with ThreadPoolExecutor(1, initializer=_stand_back) as thread:
            number = thread.submit(threading.get_native_id).result()
            try:
                return thread.submit(work).result()
            finally:
                thread.shutdown()
                _wait_for_end(number)
                _end_pools()
    finally:
        if lowered:
            _weigh_session(0)


def _stand_back() -> None:
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # 0 means this thread.


def _wait_for_end(thread: int) -> None:
    """Wait until the kernel has removed the thread, because it may hold locks until then."""
    while os.path.exists(f"/proc/self/task/{thread}"):
        time.sleep(0.001)


def _end_pools() -> None:
    """Fork and end a child. Libraries such as OpenBLAS end their threads before a fork: these inherited the low
    priority, and they are to end now and not when a worker is forked.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # It is about children that go on; this one ends.
        child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _weigh_session(nice: int) -> bool:
    """False where Linux has no autogroups, or does not let this one be changed for long."""
    end = time.monotonic() + _TRY_S
    while time.monotonic() < end:
        try:
            Path("/proc/self/autogroup").write_text(str(nice))
            return True
        except BlockingIOError:  # It was changed a moment ago.
            time.sleep(_AGAIN_S)
        except OSError:
            return False
    return False
