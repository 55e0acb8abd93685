"""Work in the background: threads, tasks, timers, calls to pools and processes that go on when their cell has ended.

None of it can be copied to another process. It is named to the user, by texts such as "thread w runs poll". The
platform says what a move or a suspension would end, and does not suspend an idle session that still works. Only the
user's work counts: not the threads of the kernel, of a library that keeps some for itself, or of a pool that has
nothing to do. `users.py` tells whose work it is; `beside.py` only tells whether code ran that may have touched
variables. Look at the class below first.
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
    """Knows which work went on when `look` was last called. For the main thread."""

    def __init__(self) -> None:
        self._threads = threads.Threads()
        self._processes = processes.Processes()
        self.work: list[str] = []  # The work that goes on, as of the last call of `look`.
        self.begun: list[str] = []  # The part of it that did not go on at the call before.
        # Whether some work has ended since the call before, so that objects which had it may have become values.
        self.ended = False
        # By the text of work that goes on: the hash of the code of the cell that began it.
        self._cells: dict[str, int] = {}

    def begin(self) -> None:
        """Take all threads that run now as the kernel's."""
        self._threads = threads.Threads()

    @property
    def hears(self) -> dict[str, Callable[[FrameType], None]]:
        """By audit event of Python: what to call, with the frame that raised it."""
        return dict.fromkeys(processes.EVENTS, self._processes.heard)

    def look(self, code: str, loop: asyncio.AbstractEventLoop | None) -> None:
        """A cell with this code has run, for the first time or again. loop: the one on which its tasks run."""
        before, self.work = self.work, self._now(loop)
        self.begun = [each for each in self.work if each not in before]
        self.ended = any(each not in self.work for each in before)
        if self.work or self._cells:
            self._cells = {each: self._cells.get(each, hash(code)) for each in self.work}

    def left_by(self, code: str, loop: asyncio.AbstractEventLoop | None) -> list[str]:
        """The work that the last run of a cell with this code has begun and that still goes on."""
        return [each for each in self._now(loop) if self._cells.get(each) == hash(code)]

    def _now(self, loop: asyncio.AbstractEventLoop | None) -> list[str]:
        found: list[str] = []
        with contextlib.suppress(Exception):  # Threads come and go meanwhile, and the user's objects may raise.
            found += self._threads.at_work()
        with contextlib.suppress(Exception):
            found += on_loop(loop) if loop is not None else ()
        with contextlib.suppress(Exception):
            found += self._processes.at_work()
        return _numbered(found[:_MOST]) if found else []


def _numbered(texts: Iterable[str]) -> list[str]:
    """The texts, with a number where several read alike, so that each remains."""
    found: dict[str, None] = {}
    for text in texts:
        name = text
        for number in itertools.count(2):
            if name not in found:
                break
            name = f"{text} ({number})"
        found[name] = None
    return list(found)
