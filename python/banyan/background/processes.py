"""Child processes that the user's code has started and that still run."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import types
from pathlib import Path
from typing import Any

from banyan.background.users import is_global

# Python raises one of these audit events before a process begins.
EVENTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "pty.spawn")
# These modules start processes on behalf of whoever calls them.
_STARTS = frozenset({"subprocess", "os", "pty", "asyncio", "multiprocessing", "IPython", "pexpect", "ptyprocess"})
_TEXT_MAX = 80
_LOOKS, _MOMENT_S = 5, 0.001
# These modules have processes that wait for calls.
_EXECUTORS = ("concurrent.futures.process", "joblib.externals.loky.process_executor")


class Processes:
    def __init__(self) -> None:
        # Whether the user's code (True) or other code (False) has started processes since the last call of `at_work`.
        self._heard: set[bool] = set()
        self._seen: set[int] = set()
        self._users: set[int] = set()
        self._others: set[int] = set()
        # By pid, for the user's: what it ran when it was first seen, so that it keeps its name when it runs
        # another program.
        self._commands: dict[int, str] = {}

    def heard(self, frame: types.FrameType) -> None:
        """Code in this frame is about to start a process."""
        at: types.FrameType | None = frame
        while at is not None and str(at.f_globals.get("__name__")).partition(".")[0] in _STARTS:
            at = at.f_back
        self._heard.add(at is not None and is_global(at.f_globals))

    def at_work(self) -> list[str]:
        forked = _multiprocessing()
        if not (forked or self._heard or self._users):
            return []
        now = _children()
        if self._heard:
            (self._users if True in self._heard else self._others).update(now - self._seen)
        self._heard.clear()
        self._seen = now
        self._users &= now
        self._others &= now
        others = self._others | _of_libraries()
        found = [
            f"process {child.name}"
            for child in forked
            if child.pid not in others and "PoolWorker" not in child.name and child.is_alive()
        ]
        others.update(child.pid for child in forked)
        running = [pid for pid in sorted(self._users - others) if _runs(pid)]
        self._commands = {pid: self._commands.get(pid) or _text(pid) for pid in running}
        return [*found, *self._commands.values()]


def _children() -> set[int]:
    found = set()
    for tasks in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError, ValueError):
            found |= {int(pid) for pid in (tasks / "children").read_text().split()}
    return found


def _of_libraries() -> set[int]:
    """Processes that wait for calls or watch over others. What a pool has to do is known from its threads."""
    found = set()
    for name, attribute, pid in (
        ("multiprocessing.resource_tracker", "_resource_tracker", "_pid"),
        ("multiprocessing.forkserver", "_forkserver", "_forkserver_pid"),
        ("joblib.externals.loky.backend.resource_tracker", "_resource_tracker", "_pid"),
    ):
        found.add(getattr(getattr(sys.modules.get(name), attribute, None), pid, None))
    for name in _EXECUTORS:
        for manager in list(getattr(sys.modules.get(name), "_threads_wakeups", ())):
            found |= set(getattr(manager, "processes", None) or ())
    return {pid for pid in found if pid is not None}


def _multiprocessing() -> list[Any]:
    processes: Any = sys.modules.get("multiprocessing.process")
    return list(getattr(processes, "_children", ()))


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _text(pid: int) -> str:
    """What a process runs. One that was just started may still be about to begin its program, so it is
    read several times.
    """
    with contextlib.suppress(OSError):
        own = _command(os.getpid())
        for _ in range(_LOOKS):
            if (command := _command(pid)) and command != own:
                return f"process {pid} runs {command[:_TEXT_MAX]}"
            time.sleep(_MOMENT_S)
    return f"process {pid}"


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
