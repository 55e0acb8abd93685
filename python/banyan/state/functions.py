"""What a function holds beside its code, in the form that cloudpickle gives it, and in a tenth of its time."""

from __future__ import annotations

import sys
import types
from collections.abc import Collection, Iterator
from typing import Any

_NAMED = ("__name__", "__qualname__")
_OWN = ("__kwdefaults__", "__defaults__", "__module__", "__doc__")
_ANNOTATE = "__annotate__"


def state_of(function: types.FunctionType, names: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Its attributes, and what is set on it by name; without its closure and its globals, of which it uses `names`.

    With it go the submodules that its code may reach through packages: to load them is to import them.
    """
    values = [function.__globals__.get(name) for name in sorted(names)]
    values += _contents(function.__closure__ or ())
    own = {name: getattr(function, name) for name in _NAMED}
    own |= _annotations(function)
    own |= {name: getattr(function, name) for name in _OWN}
    attributes = frozenset(function.__code__.co_names)
    submodules = [
        found
        for value in values
        if isinstance(value, types.ModuleType) and getattr(value, "__package__", None)
        for found in _submodules(value.__name__, attributes)
    ]
    own |= {"__closure__": None, "_cloudpickle_submodules": submodules, "__globals__": None}
    return dict(function.__dict__), own


def with_cells(function: types.FunctionType, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """cloudpickle's form of a function of a library, made over its cells: one may have the function itself, and be
    filled after it. cloudpickle copies what they have by then."""
    make, (code, namespace, name, defaults, _), (attributes, own), *rest = reduced
    return (
        make,
        (code, namespace, name, defaults, function.__closure__),
        (attributes, own | {"__closure__": None}),
        *rest,
    )


def _annotations(function: types.FunctionType) -> dict[str, Any]:
    """What they are; from Python 3.14 on how they are found out, as long as they name what is not there yet."""
    try:
        return {"__annotations__": function.__annotations__}
    except Exception:
        return {_ANNOTATE: getattr(function, _ANNOTATE)}


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
