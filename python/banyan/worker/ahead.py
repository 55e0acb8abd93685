"""Libraries that workers have imported, for the zygote of workers that show variables, which imports them first."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

_MODULE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)?\Z")
_MODULES_MAX = 500  # in one frame
_LEAST = 19  # of the niceness of processes (nice(2))
_AGAIN_S = 0.05  # the kernel changes one autogroup in 0.1 s
_TRY_S = 5.0

# Names of their packages; a zygote sets them before it forks.
libraries: frozenset[str] = frozenset()


class Imported:
    """Knows which of them this process has, and which it has told. Made in a worker before user code runs."""

    def __init__(self) -> None:
        self._seen = len(sys.modules)
        self._told = set(sys.modules)

    def news(self) -> list[str]:
        """Packages and their direct parts, in the order of their import; since the last call."""
        if len(sys.modules) == self._seen:
            return []
        names = [name for name in list(sys.modules) if name not in self._told and is_of_library(name)]
        if len(names) <= _MODULES_MAX:
            self._seen = len(sys.modules)
        self._told.update(names[:_MODULES_MAX])
        return names[:_MODULES_MAX]


def is_of_library(name: object) -> bool:
    """What is private to a library, it imports by itself."""
    return isinstance(name, str) and _MODULE.match(name) is not None and name.partition(".")[0] in libraries


def import_ahead(modules: Iterable[object]) -> dict[str, object]:
    """Import those of them that are of the libraries: which failed, and the files by which one sees them replaced."""
    failed = []
    for name in modules:
        if isinstance(name, str) and is_of_library(name):
            try:
                importlib.import_module(name)
            except BaseException as error:  # also one that would end the process
                print(f"zygote: cannot import {name} ahead: {error!r}", file=sys.stderr)
                failed.append(name)
    paths = [getattr(sys.modules.get(name), "__file__", None) for name in sorted(libraries)]
    files = [{"path": path, "mtime_ns": os.stat(path).st_mtime_ns} for path in paths if path]
    return {"failed": failed, "files": files}


_T = TypeVar("_T")


def at_leisure(work: Callable[[], _T], *, own_session: bool = False) -> _T:
    """Do it with what others leave of the processors, in a thread: the priority of the other threads stays as it is.

    To go back to a usual priority takes a privilege (sched(7)). own_session: nobody else is in the session of this
    process. Where the kernel shares processors between sessions first, and heeds priorities only within one
    (autogroups, likewise), the priority of the session is lowered, and raised again.
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
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # 0: this thread


def _wait_for_end(thread: int) -> None:
    """Until the kernel has it no more, too: it may hold locks until then."""
    while os.path.exists(f"/proc/self/task/{thread}"):
        time.sleep(0.001)


def _end_pools() -> None:
    """Threads that libraries have started (OpenBLAS) stand back too, and end before a fork: now, not when it counts."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _weigh_session(nice: int) -> bool:
    """False where the kernel has no such thing, or does not let it happen for long."""
    end = time.monotonic() + _TRY_S
    while time.monotonic() < end:
        try:
            Path("/proc/self/autogroup").write_text(str(nice))
            return True
        except BlockingIOError:  # somebody did so just now
            time.sleep(_AGAIN_S)
        except OSError:
            return False
    return False
