"""Files and folders that are removed from the disk when the objects that own them lose their variable.

Before head moves, the user is told of them: a temporary folder goes with its TemporaryDirectory object.
"""

from __future__ import annotations

import gc
import tempfile
import types
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from banyan.notebook import api

_LOOKED_AT_MAX = 10_000
_NO_VALUES = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.FrameType)


def removed_with(namespace: dict[str, Any], names: Collection[str]) -> list[tuple[str, str]]:
    """Pairs of a path that exists and the first variable that owns it, for these variables."""
    found: dict[str, str] = {}
    for name in sorted(name for name in names if name in namespace):
        for path in _paths(namespace[name]):
            if Path(path).exists():
                found.setdefault(path, name)
    return list(found.items())


def removed_by(answer: api.TravelAnswer, namespace: dict[str, Any]) -> list[api.RemovedFile]:
    """What is about to be removed from the disk by the move of head that an answer of the history announces."""
    names = {*answer["restores"], *answer["deletes"], *answer["recomputes"]}
    return [{"name": name, "path": path} for path, name in removed_with(namespace, names)]


def _paths(value: Any) -> Iterator[str]:
    """Paths of the temporary files and folders that a value refers to. Code is not searched."""
    seen: set[int] = set()
    pending = [value]
    while pending and len(seen) < _LOOKED_AT_MAX:
        each = pending.pop()
        # isinstance() would ask the object for its class, and a weak proxy to an object that is gone raises then.
        kind = type(each)
        if id(each) in seen or issubclass(kind, _NO_VALUES):
            continue
        seen.add(id(each))
        if issubclass(kind, tempfile.TemporaryDirectory):
            finalizer: Any = getattr(each, "_finalizer", None)
            if finalizer is not None and finalizer.alive:
                yield each.name
        elif issubclass(kind, tempfile._TemporaryFileWrapper):
            closer: Any = getattr(each, "_closer", None)
            if getattr(closer, "delete", False) and not getattr(closer, "close_called", False):
                yield str(each.name)
        elif gc.is_tracked(each):
            pending += gc.get_referents(each)
