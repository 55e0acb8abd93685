"""Handles on clusters: what they stand for lives in other processes, and is reached through this one's connection.

Some pickle well and load as something that never answers, which would be a loss that nobody is told of. So all are
refused: they are named when they are made, and made again by their cell.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from banyan.arrays import Pickling, Reducer

# By module: asked about a type only where it is imported.
_HANDLES = {
    "distributed": (
        *("Client", "Future", "as_completed", "LocalCluster"),
        *("Variable", "Queue", "Lock", "MultiLock", "Event", "Semaphore", "Actor", "ActorFuture"),
    )
}


def reducer_for(kind: type) -> Reducer | None:
    """For handles of these libraries, and what derives from them."""
    for module, names in _HANDLES.items():
        library = sys.modules.get(module)
        if library is not None and any(issubclass(kind, each) for each in _types(library, names)):
            return _refuse
    return None


def _types(library: Any, names: tuple[str, ...]) -> list[type]:
    return [each for name in names if isinstance(each := getattr(library, name, None), type)]


def _refuse(handle: Any, _pickling: Pickling) -> NoReturn:
    raise TypeError(f"cannot pickle a {type(handle).__qualname__} of a cluster: only this process is connected to it")
