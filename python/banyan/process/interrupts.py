"""Moments at which SIGINT must not raise, because something would be left half done."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interrupt_afterwards() -> Iterator[None]:
    """Delay an interrupt until the body has ended. For the main thread only."""
    interrupted = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True

    saved = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, saved or signal.SIG_DFL)
        if interrupted:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def no_interrupt() -> Iterator[None]:
    """Ignore interrupts while the body runs."""
    if threading.current_thread() is not threading.main_thread():  # Signals are handled on the main thread only.
        yield
        return
    saved = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, saved or signal.SIG_DFL)
