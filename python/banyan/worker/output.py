"""How what a cell shows leaves the worker: packing of messages, and the streams for standard output and error."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from io import StringIO

from ipykernel.iostream import OutStream
from jupyter_client.jsonutil import json_clean, json_default

from banyan.process import json_text

_encode = json_text.encoder(json_default, allow_nan=False)


def pack(part: object) -> bytes:
    """One part of a message as JSON in UTF-8, as jupyter_client packs it; a lone surrogate becomes "?".

    jupyter_client would raise for a lone surrogate. ipykernel's output thread then forgets that it was to flush, and
    each later flush waits for ten seconds.
    """
    try:
        text = _encode(part)
    except (TypeError, ValueError):
        text = _encode(json_clean(part))
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="replace")


class Stream(OutStream):
    """Standard output or error. A flush does not wake ipykernel's output thread when nothing was written."""

    _sending = False

    def begin_in_child(self) -> None:
        """In a process that user code has forked: forget what was written before, which the worker sends.

        The locks are made anew, because ipykernel's output thread may have held them when the process was forked.
        """
        self._buffer_lock = threading.RLock()
        self._buffers = defaultdict(StringIO)
        self._flush_pending = self._subprocess_flush_pending = self._sending = False
        self.pub_thread._event_pipe_gc_lock = threading.Lock()

    def flush(self) -> None:
        pending = getattr(self, "_flush_pending", True) or getattr(self, "_subprocess_flush_pending", True)
        if pending or self._sending:
            super().flush()  # type: ignore[no-untyped-call]

    def _flush(self) -> None:
        if os.getpid() != self._master_pid and not _lives(self._master_pid):
            self._rotate_buffers()  # type: ignore[no-untyped-call]
            self._subprocess_flush_pending = False
            # The kernel has ended before its child: nobody can show the text, and each attempt to send it takes 3 s.
            return
        self._sending = True  # ipykernel clears its own flag before it sends.
        try:
            super()._flush()  # type: ignore[no-untyped-call]
        finally:
            self._sending = False


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
