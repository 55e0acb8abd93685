"""Objects of which a library has one: its global generator, a distribution, a registry, a wrapped function.

They are pickled by name, as a library's functions are. A copy would not be the generator that the library seeds, and
some cannot be loaded at all. Plain values that a cell has set as their public attributes are pickled as well.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from banyan.reducers.reducer import Pickling

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_OTHERS = frozenset({*_PLAIN, list, dict, set, tuple, frozenset, types.BuiltinFunctionType, types.ModuleType})
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})

_BY_IDENTITY = vars(object)["__eq__"]

_places: dict[int, tuple[str, str]] = {}  # By the id of an object: the module and the attribute that refer to it.
_kinds: set[type] = set()
_searched: set[str] = set()  # Modules that were searched.
# Places to which cells have bound an object that no other process has, so that it cannot be pickled by name.
set_by_cells: set[tuple[str, str]] = set()
_modules: dict[str, int] = {}  # By library: how many modules were imported when it was last searched.


def installed(module: object) -> bool:
    """Whether a module is of the standard library or of an installed package, and not of the user's own."""
    file = getattr(module, "__file__", None)
    if file is None:
        return getattr(module, "__spec__", None) is not None
    return file.startswith(_INSTALLED) or "site-packages" in file or "dist-packages" in file


def place(obj: object) -> tuple[str, str] | None:
    """Module and attribute where a library holds this very object. None if none does."""
    owner = obj if isinstance(obj, (type, types.FunctionType)) else type(obj)
    _search(str(owner.__module__).partition(".")[0])
    found = _places.get(id(obj))
    if found is None or found in set_by_cells or getattr(sys.modules.get(found[0]), found[1], None) is not obj:
        return None
    return found


def has(kind: type) -> bool:
    """Whether a library holds an instance of this type."""
    _search(str(kind.__module__).partition(".")[0])
    return kind in _kinds


def reduce_singleton(obj: Any, _pickling: Pickling) -> Any:
    found = place(obj)
    if found is None:
        return NotImplemented
    return singleton, (*found, type(obj).__qualname__), _state(obj), None, None, set_attributes


def singleton(module: str, name: str, kind: str) -> Any:
    """Pickles call it. Raises TypeError when this version of the library has something else at that place."""
    found = getattr(importlib.import_module(module), name)
    if type(found).__qualname__ != kind:
        raise TypeError(f"{module}.{name} is no {kind} here")
    return found


def set_attributes(obj: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        if vars(obj).get(name) != value:
            setattr(obj, name, value)


def _state(obj: Any) -> dict[str, Any]:
    attributes = getattr(obj, "__dict__", {})
    return {
        name: value for name, value in sorted(attributes.items()) if type(value) in _PLAIN and not name.startswith("_")
    }


def _search(library: str) -> None:
    if _modules.get(library) == len(sys.modules) or library in ("builtins", "__main__"):
        return
    _modules[library] = len(sys.modules)
    part = library + "."
    for name, module in list(sys.modules.items()):
        if (name == library or name.startswith(part)) and name not in _searched:
            _searched.add(name)
            if installed(module):
                _search_in(name, module)


def _search_in(name: str, module: Any) -> None:
    root = name.partition(".")[0]
    for attribute, value in list(getattr(module, "__dict__", {}).items()):
        kind = type(value)
        if kind in _OTHERS:
            continue
        if kind is types.FunctionType or issubclass(kind, type):
            # An object that its own name leads to needs no other place.
            if "<" not in value.__qualname__ or str(value.__module__).partition(".")[0] != root:
                continue
        elif str(kind.__module__).partition(".")[0] != root or vars(object)["__eq__"] is not getattr(
            kind, "__eq__", None
        ):
            continue  # An object that is compared by its value may be copied.
        else:
            _kinds.add(kind)
        _places.setdefault(id(value), (name, attribute))
