"""What a function holds beside its code, in the form that cloudpickle gives it, and in a tenth of its time."""

from __future__ import annotations

import sys
import types
from collections.abc import Collection, Iterator
from typing import Any

_OWN = ("__name__", "__qualname__", "__annotations__", "__kwdefaults__", "__defaults__", "__module__", "__doc__")


def state_of(function: types.FunctionType, names: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Its attributes, and what is set on it by name; without its closure and its globals, of which it uses `names`.

    With it go the submodules that its code may reach through packages: to load them is to import them.
    """
    values = [function.__globals__.get(name) for name in sorted(names)]
    values += _contents(function.__closure__ or ())
    own = {name: getattr(function, name) for name in _OWN}
    attributes = frozenset(function.__code__.co_names)
    submodules = [
        found
        for value in values
        if isinstance(value, types.ModuleType) and getattr(value, "__package__", None)
        for found in _submodules(value.__name__, attributes)
    ]
    own |= {"__closure__": None, "_cloudpickle_submodules": submodules, "__globals__": None}
    return dict(function.__dict__), own


def _contents(cells: tuple[types.CellType, ...]) -> Iterator[object]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # an empty one
            continue


def _submodules(package: str, attributes: frozenset[str]) -> Iterator[types.ModuleType]:
    """Those whose path below `package` is made of `attributes`, all of it imported."""
    for attribute in sorted(attributes):
        name = f"{package}.{attribute}"
        if (module := sys.modules.get(name)) is not None:
            yield module
            yield from _submodules(name, attributes)
