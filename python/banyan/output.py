"""How what a cell shows leaves the kernel's process."""

from __future__ import annotations

import json

from ipykernel.iostream import OutStream
from jupyter_client.jsonutil import json_clean, json_default
from jupyter_client.session import json_packer


def pack(part: object) -> bytes:
    """One part of a message as JSON in UTF-8; a lone surrogate becomes "?".

    jupyter_client raises on one, and ipykernel's output thread then loses what it was told to flush: each later flush
    waits its ten seconds.
    """
    try:
        return bytes(json_packer(part))
    except UnicodeEncodeError:
        text = json.dumps(json_clean(part), default=json_default, ensure_ascii=False, allow_nan=False)
        return text.encode(errors="replace")


class Stream(OutStream):
    """Standard output or error. A flush when nothing was written does not wake ipykernel's output thread."""

    _sending = False

    def flush(self) -> None:
        pending = getattr(self, "_flush_pending", True) or getattr(self, "_subprocess_flush_pending", True)
        if pending or self._sending:
            super().flush()  # type: ignore[no-untyped-call]

    def _flush(self) -> None:
        self._sending = True  # it is no more pending before it is sent
        try:
            super()._flush()  # type: ignore[no-untyped-call]
        finally:
            self._sending = False
