"""Handlers of the logging module as values: without their lock, and without the file that they have opened."""

from __future__ import annotations

import copyreg
import logging
from typing import Any

from banyan.reducers.reducer import Pickling


def reduce_handler(handler: logging.Handler, _pickling: Pickling) -> Any:
    """For a handler. One that writes to a file opens it again and appends."""
    kind = type(handler)
    if kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__:
        return NotImplemented
    state = {name: value for name, value in vars(handler).items() if name != "lock"}
    if isinstance(handler, logging.FileHandler):
        state |= {"stream": None, "mode": "a"}
    return copyreg.__newobj__, (kind,), state, None, None, set_handler  # type: ignore[attr-defined]


def set_handler(handler: logging.Handler, state: dict[str, Any]) -> None:
    vars(handler).update(state)
    handler.createLock()
    logging._addHandlerRef(handler)  # type: ignore[attr-defined]
