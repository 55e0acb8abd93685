"""What a repeated cell does not do: print, display, ask for input, and register again what its first run did here.

Objects that the cell makes keep the real streams: a stream is not replaced, but its `write` does nothing meanwhile.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from IPython.utils.capture import capture_output

from banyan.process import pages

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_Write = Callable[..., Any]


@contextlib.contextmanager
def held_back(shell: InteractiveShell, ran_here: bool) -> Iterator[None]:
    """Run the body as a repeated cell runs.

    ran_here: the cell has run in this process before, so that what it registers with atexit is registered already.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(pages.quiet())
        for stream in {id(stream): stream for stream in _streams()}.values():
            stack.enter_context(_muted(stream))
        stack.enter_context(_unseen(shell))
        stack.enter_context(_unasked(shell))
        if ran_here:
            stack.enter_context(_no_more_at_exit())
        yield


def _streams() -> Iterator[Any]:
    yield from (stream for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__) if stream is not None)


class _Mute:
    """The `write` of a stream, also for code that keeps the function: while it is on, it only says
    that it has written.
    """

    def __init__(self, write: _Write) -> None:
        self._write = write
        self.on = True

    def __call__(self, text: Any, *rest: Any) -> Any:
        return len(text) if self.on else self._write(text, *rest)


@contextlib.contextmanager
def _muted(stream: Any) -> Iterator[None]:
    """Mute a stream. One whose `write` cannot be set stays as it is; none of Python's or ipykernel's
    is such a stream.
    """
    own = vars(stream).get("write") if hasattr(stream, "__dict__") else None
    mute = _Mute(stream.write)
    try:
        stream.write = mute
    except AttributeError:
        yield
        return
    try:
        yield
    finally:
        mute.on = False
        if own is not None:
            stream.write = own
        else:
            with contextlib.suppress(AttributeError):
                del stream.write


@contextlib.contextmanager
def _unseen(shell: InteractiveShell) -> Iterator[None]:
    """Display nothing. ipykernel's publisher stays in place, because objects may refer to it."""
    publisher: Any = shell.display_pub
    if not hasattr(publisher, "register_hook"):
        with capture_output(stdout=False, stderr=False):
            yield
        return

    def drop(_message: object) -> None:
        return None

    publisher.register_hook(drop)
    try:
        yield
    finally:
        publisher.unregister_hook(drop)


@contextlib.contextmanager
def _unasked(shell: InteractiveShell) -> Iterator[None]:
    """Refuse `input`."""
    kernel: Any = getattr(shell, "kernel", None)
    if kernel is None:
        yield
        return
    asks = getattr(kernel, "_allow_stdin", False)
    kernel._allow_stdin = False
    try:
        yield
    finally:
        kernel._allow_stdin = asks


@contextlib.contextmanager
def _no_more_at_exit() -> Iterator[None]:
    """Register nothing with `atexit`, because the cell's first run has."""
    module: Any = atexit
    register = module.register
    module.register = lambda function, *_, **__: function
    try:
        yield
    finally:
        module.register = register
