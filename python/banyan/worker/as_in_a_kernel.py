"""Lets libraries that a zygote imports believe that they are in a notebook's kernel.

Some decide at their import whether there is a notebook: pandas how many columns it shows, plotly how it renders,
tqdm.autonotebook which bar it draws. The zygote has no shell yet, so they would decide as for a script.
"""

from __future__ import annotations

import builtins
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

from IPython.core.events import EventManager, available_events
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


class ZMQInteractiveShell(InteractiveShell):  # Libraries look at the name of this class.
    """Stands for the shell that a worker will have. It answers only what libraries look up while they are imported."""

    def __init__(self) -> None:
        """InteractiveShell's own is not called, because nothing runs in this shell."""
        self.config = Config({"IPKernelApp": {}})
        self.kernel = object()
        self.events = EventManager(self, available_events)


class Imports:
    """What imports did to the shell that stood in for a worker's, to be done to the worker's shell."""

    def __init__(self) -> None:
        self._registered: list[tuple[str, Callable[..., Any]]] = []
        self._logging: list[tuple[Any, str]] = []  # Handlers, and the names of the streams that they write to.

    @contextlib.contextmanager
    def as_in_a_kernel(self) -> Iterator[None]:
        shell = ZMQInteractiveShell()
        single: Any = InteractiveShell
        single._instance = shell
        vars(builtins).update(get_ipython=get_ipython, __IPYTHON__=True)
        try:
            yield
        finally:
            single._instance = None
            del vars(builtins)["get_ipython"], vars(builtins)["__IPYTHON__"]
            self._registered += [(event, each) for event, found in shell.events.callbacks.items() for each in found]
            self._logging += _handlers()

    def hand_over(self, shell: InteractiveShell) -> None:
        """In a worker: register with its shell what libraries have registered, and let their logging
        go to its streams.
        """
        for event, callback in self._registered:
            shell.events.register(event, callback)
        for handler, name in self._logging:
            handler.stream = getattr(sys, name)


def _handlers() -> Iterator[tuple[Any, str]]:
    """Handlers that write to stdout or stderr. They are collected here because a kernel that starts forgets them."""
    for reference in list(logging._handlerList):  # type: ignore[attr-defined]
        handler = reference()
        for name in ("stdout", "stderr"):
            if type(handler) is logging.StreamHandler and handler.stream is getattr(sys, name):
                yield handler, name
