"""Which libraries workers import, so that a zygote can import them before it forks.

A worker reports what its cells have imported (`Imported`). The host agent passes that to a zygote for later workers,
which imports it with what other processes leave of the processors (`import_ahead`, `at_leisure`).
"""

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
_MODULES_MAX = 500  # In one frame.
_LEAST = 19  # The highest niceness of a process, which is the lowest priority (nice(2)).
_AGAIN_S = 0.05  # Linux lets an autogroup be changed every 0.1 s.
_TRY_S = 5.0

# Names of the packages that may be imported ahead. A zygote sets them before it forks.
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
    return isinstance(name, str) and _MODULE.match(name) is not None and name.partition(".")[0] in libraries


def import_ahead(modules: Iterable[object]) -> dict[str, object]:
    """Import those of the modules that belong to the libraries.

    Returns which of them failed, and the files whose times of modification show whether a library has
    been replaced since.
    """
    failed = []
    for name in modules:
        if isinstance(name, str) and is_of_library(name):
            try:
                importlib.import_module(name)
            except BaseException as error:  # It may be an exception that would end the process, such as SystemExit.
                print(f"zygote: cannot import {name} ahead: {error!r}", file=sys.stderr)
                failed.append(name)
    paths = [getattr(sys.modules.get(name), "__file__", None) for name in sorted(libraries)]
    files = [{"path": path, "mtime_ns": os.stat(path).st_mtime_ns} for path in paths if path]
    return {"failed": failed, "files": files}


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
