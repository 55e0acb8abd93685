"""Work that goes on when a cell has ended: threads, tasks, timers, calls to pools, processes.

None of it can be copied to another process. It is named, by texts such as "thread w runs poll": the platform says
what a move or a suspension would end, and keeps an idle session that works from being suspended. Only the user's work
counts: not the threads of the kernel, of a library that keeps some for itself, or of a pool that has nothing to do.
`users.py` says whose work it is; `beside.py` asks only whether code ran that may have touched variables.
Look at the class below first.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterable
from types import FrameType

from banyan.background import processes, threads
from banyan.background.tasks import on_loop

_MOST = 16


class Background:
    """Knows which work went on at the last look. For the main thread."""

    def __init__(self) -> None:
        self._threads = threads.Threads()
        self._processes = processes.Processes()
        self.work: list[str] = []  # that goes on, as of the last look
        self.begun: list[str] = []  # of that, what did not at the look before
        self.ended = False  # some that went on then does not: what has it may be a value now
        self._cells: dict[str, int] = {}  # hashes of the codes of the cells that began what goes on

    def begin(self) -> None:
        """The kernel's own threads run now."""
        self._threads = threads.Threads()

    @property
    def hears(self) -> dict[str, Callable[[FrameType], None]]:
        """What to call at which audit events of Python, with the frame of whoever raised them."""
        return dict.fromkeys(processes.EVENTS, self._processes.heard)

    def look(self, code: str, loop: asyncio.AbstractEventLoop | None) -> None:
        """A cell with this code has run, also once more. loop: where its tasks run."""
        before, self.work = self.work, self._now(loop)
        self.begun = [each for each in self.work if each not in before]
        self.ended = any(each not in self.work for each in before)
        if self.work or self._cells:
            self._cells = {each: self._cells.get(each, hash(code)) for each in self.work}

    def left_by(self, code: str, loop: asyncio.AbstractEventLoop | None) -> list[str]:
        """Of what the last run of a cell with this code has begun, what goes on now."""
        return [each for each in self._now(loop) if self._cells.get(each) == hash(code)]

    def _now(self, loop: asyncio.AbstractEventLoop | None) -> list[str]:
        found: list[str] = []
        with contextlib.suppress(Exception):  # threads come and go meanwhile, and objects are the user's
            found += self._threads.at_work()
        with contextlib.suppress(Exception):
            found += on_loop(loop) if loop is not None else ()
        with contextlib.suppress(Exception):
            found += self._processes.at_work()
        return _numbered(found[:_MOST]) if found else []


def _numbered(texts: Iterable[str]) -> list[str]:
    """Two that read alike are two."""
    found: dict[str, None] = {}
    for text in texts:
        name = text
        for number in itertools.count(2):
            if name not in found:
                break
            name = f"{text} ({number})"
        found[name] = None
    return list(found)
