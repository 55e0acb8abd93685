"""The process's own sys.stdout and sys.stderr, which cells may replace by other streams."""

from __future__ import annotations

import sys
from typing import Any

from banyan.reducers.reducer import Pickling

_own: dict[str, Any] = {}


def bind_streams() -> None:
    """Take the current streams as the process's own. Call it before any user code runs."""
    _own.update(stdout=sys.stdout, stderr=sys.stderr)


def own_stream(name: str) -> Any:
    return _own.get(name, getattr(sys, name))


def reduce_stream(stream: Any, _pickling: Pickling) -> Any:
    for name in ("stdout", "stderr"):
        if stream is own_stream(name):
            return standard_stream, (name,)
    return NotImplemented


def standard_stream(name: str) -> Any:
    """Pickles call it."""
    return own_stream(name)
