"""What cells leave running or registered in this process: a repeated cell replaces it, and does not double it.

Threads and tasks that the cell's first run began here end before it is repeated. Of the handlers and hooks that it
registers again, the older one of the same kind is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from banyan.background.tasks import others_on
from banyan.process import pages

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.background import Background

_END_S_MAX = 2.0


class Leftovers:
    """Which cell, known by the hash of its code, began what. For the main thread."""

    def __init__(self, shell: InteractiveShell, background: Background) -> None:
        self._shell = shell
        self._background = background
        self._cells: set[int] = set()  # Hashes of the code of cells that ran in this process.
        self._threads: weakref.WeakKeyDictionary[threading.Thread, int] = weakref.WeakKeyDictionary()
        self._tasks: weakref.WeakKeyDictionary[asyncio.Task[Any], int] = weakref.WeakKeyDictionary()
        # By the id of a handler or hook that a repeated cell has registered: the cell.
        self._registered: dict[int, int] = {}

    def note(self, code: str, loop: asyncio.AbstractEventLoop | None) -> None:
        """A cell has run: threads and tasks of the user of which no cell is known yet belong to it."""
        cell = hash(code)
        self._cells.add(cell)
        pages.note(code)
        for thread in threading.enumerate():
            if thread not in self._threads and _is_of(thread, self._shell.user_ns):
                self._threads[thread] = cell
        for task in others_on(loop):
            frame = getattr(task.get_coro(), "cr_frame", None)
            if frame is not None and frame.f_globals is self._shell.user_ns and task not in self._tasks:
                self._tasks[task] = cell

    def ran_here(self, code: str) -> bool:
        return hash(code) in self._cells

    def end(self, code: str, loop: asyncio.AbstractEventLoop | None) -> str:
        """End what an earlier run of this cell began here. Returns why the cell must not be repeated if something does
        not end; empty otherwise.
        """
        cell = hash(code)
        for task, by in list(self._tasks.items()):
            if by == cell:
                task.cancel()
                del self._tasks[task]
        threads = [thread for thread, by in self._threads.items() if by == cell and thread.is_alive()]
        for thread in threads:
            _ask_to_end(thread)
        for thread in threads:
            thread.join(_END_S_MAX)
            if thread.is_alive():
                return (
                    f"the thread {thread.name!r} that its cell began still runs, and a second one would double its work"
                )
        pages.end(code)
        if left := self._background.left_by(code, loop):
            return f"its cell began what still goes on ({', '.join(left)}), and would begin the same once more"
        return ""

    @contextlib.contextmanager
    def replacing(self, code: str) -> Iterator[None]:
        """Run a cell again in this context: what it registers replaces what is like it."""
        cell = hash(code)
        before = {id(items): list(items) for items in _lists(self._shell)}
        try:
            yield
        finally:
            for items in _lists(self._shell):
                older = [each for each in before.get(id(items), ()) if self._registered.get(id(each), cell) == cell]
                known = {id(each) for each in before.get(id(items), ())}
                for new in [each for each in items if id(each) not in known]:
                    self._registered[id(new)] = cell
                    old = next((each for each in older if _are_alike(each, new)), None)
                    if old is not None:
                        older.remove(old)
                        self._registered.pop(id(old), None)
                        items[:] = [each for each in items if each is not old]


def _is_of(thread: threading.Thread, namespace: dict[str, Any]) -> bool:
    """Whether the thread runs a function of the notebook."""
    runs = getattr(thread, "_target", None) or getattr(thread, "function", None) or type(thread).run
    return getattr(getattr(runs, "__func__", runs), "__globals__", None) is namespace


def _ask_to_end(thread: threading.Thread) -> None:
    if isinstance(thread, threading.Timer):
        thread.cancel()
    elif thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def _lists(shell: InteractiveShell) -> Iterator[list[Any]]:
    """The lists in which handlers and hooks are registered."""
    for logger in (logging.getLogger(), *logging.Logger.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            yield logger.handlers
            yield logger.filters
    yield from shell.events.callbacks.values()
    yield shell.input_transformers_cleanup
    yield shell.input_transformers_post
    yield shell.ast_transformers
    yield gc.callbacks
    yield sys.meta_path


def _are_alike(old: Any, new: Any) -> bool:
    """Whether two handlers or hooks look as if one line of code had made both."""
    function, other = getattr(old, "__func__", old), getattr(new, "__func__", new)
    if hasattr(other, "__code__"):
        alike: bool = getattr(function, "__code__", None) == other.__code__
        return alike and function.__qualname__ == other.__qualname__
    kinds = [(type(each).__module__, type(each).__qualname__) for each in (old, new)]
    if kinds[0] != kinds[1]:
        return False
    return not isinstance(new, logging.Handler) or _writes(old) == _writes(new)


def _writes(handler: logging.Handler) -> tuple[Any, ...]:
    stream = getattr(handler, "stream", None)
    named = {id(sys.stdout): "stdout", id(sys.stderr): "stderr"}.get(id(stream), type(stream).__qualname__)
    form = handler.formatter
    return named, getattr(handler, "baseFilename", ""), handler.level, getattr(form, "_fmt", None)
