"""Leaves out of a value what reading it has added: results that a library stores so that it need not
compute them twice.

With them, looking at a value would count as a change of it, and an undo would take that back. They are computed
again when somebody needs them. That is so for libraries only: what a class of the user stores may be something that
nobody can make again.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

from banyan.reducers import singletons
from banyan.reducers.reducer import Pickling, Reducer

# Attributes of a library's objects, by the library's name.
_BY_LIBRARY = {
    "networkx": ("__networkx_cache__",),
    "pandas": ("_cache",),
    "scipy": ("_has_sorted_indices", "_has_canonical_format"),
    "xarray": ("_cache",),
}
_MUTABLE = (list, dict, set)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), tuple, frozenset, *_MUTABLE)

_known: weakref.WeakKeyDictionary[type, frozenset[str]] = weakref.WeakKeyDictionary()


def reducer_of_library(kind: type) -> Reducer | None:
    """The reducer for a type of which a library has an instance, or whose instances store such
    results. None for others.
    """
    kept = _reducer_for(kind)
    if not singletons.has(kind):
        return kept

    def reduce(obj: Any, pickling: Pickling) -> Any:
        reduced = singletons.reduce_singleton(obj, pickling)
        return kept(obj, pickling) if reduced is NotImplemented and kept is not None else reduced

    return reduce


def _reducer_for(kind: type) -> Reducer | None:
    names = _known.get(kind)
    if names is None:
        names = _known[kind] = _kept_by(kind)
    traitlets: Any = sys.modules.get("traitlets")
    if traitlets is not None and issubclass(kind, getattr(traitlets, "HasTraits", ())):
        return functools.partial(_reduce_traits, names)
    return functools.partial(_reduce_without, names) if names else None


def _kept_by(kind: type) -> frozenset[str]:
    names: set[str] = set()
    for base in kind.__mro__:
        library = str(base.__module__).partition(".")[0]
        names.update(_BY_LIBRARY.get(library, ()))
        properties = [name for name, value in vars(base).items() if isinstance(value, functools.cached_property)]
        if properties and library != "__main__" and singletons.installed(sys.modules.get(base.__module__)):
            names.update(properties)
    return frozenset(names)


def _reduce_without(names: frozenset[str], obj: Any, _pickling: Pickling) -> Any:
    reduced = obj.__reduce_ex__(5)
    if isinstance(reduced, str) or len(reduced) < 3:
        return reduced
    state = reduced[2]
    if isinstance(state, tuple):
        kept = tuple(_without(names, part) for part in state)
        # The state of an array of pandas has a third part only after something was read.
        state = kept[:2] if len(kept) == 3 and kept[2] == {} != state[2] else kept
    else:
        state = _without(names, state)
    return *reduced[:2], state, *reduced[3:]


def _without(names: frozenset[str], state: Any) -> Any:
    """The state, or a copy of it without these names. An attribute with a dunder name stays as an empty dict, because
    its object expects one.
    """
    if type(state) is not dict or names.isdisjoint(state):
        return state
    kept: dict[str, Any] = {name: value for name, value in state.items() if name not in names}
    return kept | {name: {} for name in names & state.keys() if name.startswith("__")}


def _reduce_traits(names: frozenset[str], obj: Any, pickling: Pickling) -> Any:
    """Leave out defaults that were made because somebody read them."""
    reduced = _reduce_without(names, obj, pickling)
    state: Any = reduced[2] if not isinstance(reduced, str) and len(reduced) > 2 else None
    if not isinstance(state, dict) or not isinstance(values := state.get("_trait_values"), dict):
        return reduced
    unread = {name for name in values if _is_as_made(obj, name, obj._trait_values)}
    kept = {name: value for name, value in values.items() if name not in unread}
    beside = {f"_{name}_metadata" for name in unread}  # A union of traits stores these.
    state = {name: value for name, value in state.items() if name not in beside}
    return *reduced[:2], {**state, "_trait_values": kept}, *reduced[3:]


def _is_as_made(obj: Any, name: str, values: dict[str, Any]) -> bool:
    """Whether a trait has the value that reading it would make, and nobody else refers to that object."""
    trait, kind = type(obj)._traits.get(name), type(values[name])
    if trait is None or name in type(obj)._static_immutable_initial_values or kind not in _PLAIN:
        return False
    if _has_maker(type(obj), name) or (kind in _MUTABLE and sys.getrefcount(values[name]) > _ALONE):
        return False
    default = trait.default(obj)
    return type(default) is kind and bool(default == values[name])


# References to an object that nobody else has: its dict's, that of the dict's copy in the state, and the
# caller's argument.
_ALONE = 3


def _has_maker(kind: type, name: str) -> bool:
    """Whether the class has a method that makes the default."""
    if hasattr(kind, f"_{name}_default"):
        return True
    return any(name in vars(base).get("_trait_default_generators", {}) for base in kind.__mro__)
