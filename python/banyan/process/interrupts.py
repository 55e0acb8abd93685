"""SIGINT at a moment where it must not raise."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interrupt_afterwards() -> Iterator[None]:
    """An interrupt meanwhile comes when this is done. On the main thread."""
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
    """An interrupt meanwhile is lost."""
    if threading.current_thread() is not threading.main_thread():  # where none arrives
        yield
        return
    saved = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, saved or signal.SIG_DFL)
