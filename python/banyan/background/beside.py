"""Notices code that may touch variables beside the cell that names them: threads, tasks, callbacks, silent requests.

`changes` then looks at all variables, and not only at those in the cell's source.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from banyan.background.tasks import others_on
from banyan.background.threads import OWN, runs_scripts
from banyan.state.access import Accesses


class Beside:
    """Knows whether such code has run since the last call of `widen`. For the main thread."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        """Take threads that run already as not the user's, unless their function belongs to the namespace."""
        self._namespace = namespace
        self._own_threads = {thread.ident for thread in threading.enumerate() if not self._is_users(thread)}
        self._ran = False

    def note(self) -> None:
        """Code ran outside of a cell, and may have changed any variable."""
        self._ran = True

    def widen(self, accesses: Accesses, loop: asyncio.AbstractEventLoop | None) -> None:
        """Make a cell's accesses those of all variables if such code ran with it. loop: the one on
        which its tasks run.
        """
        runs = self._threads_run() or self._tasks_run(loop)
        accesses.dynamic = accesses.dynamic or runs or self._ran
        self._ran = runs  # It counts until it has ended, and once more after that.

    def _threads_run(self) -> bool:
        return any(
            thread.ident not in self._own_threads
            and type(thread).__module__.partition(".")[0] not in OWN
            and not runs_scripts(thread)
            for thread in threading.enumerate()
        )

    def _tasks_run(self, loop: asyncio.AbstractEventLoop | None) -> bool:
        frames = (getattr(task.get_coro(), "cr_frame", None) for task in others_on(loop))
        return any(frame is not None and frame.f_globals is self._namespace for frame in frames)

    def _is_users(self, thread: threading.Thread) -> bool:
        runs = getattr(thread, "_target", None) or type(thread).run
        return getattr(runs, "__globals__", None) is self._namespace
