"""Context variables as values. What one is set to is no part of it (surroundings/of_contextvars.py); its default is."""

from __future__ import annotations

import contextvars
import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from banyan.reducers.reducer import Pickling

Variable = contextvars.ContextVar[Any]

# By the id of a context variable: the module and the attribute that refer to it.
_places: dict[int, tuple[str, str]] = {}
_modules: dict[int, int] = {}  # By the id of one that was not found: how many modules were imported then.


def default_of(variable: Variable) -> tuple[Any, ...]:
    """A tuple with the default of a context variable, or an empty one."""
    try:
        return (contextvars.Context().run(variable.get),)
    except LookupError:
        return ()


def place(variable: Variable) -> tuple[str, str] | None:
    """The module and attribute of a library, or of a module of the user, that refer to a context variable.
    None if none does.
    """
    found = _places.get(id(variable))
    if found is not None and getattr(sys.modules.get(found[0]), found[1], None) is variable:
        return found
    if _modules.get(id(variable)) == len(sys.modules):
        return None
    _modules[id(variable)] = len(sys.modules)
    for name, module in list(sys.modules.items()):
        if name in ("__main__", "__mp_main__") or not isinstance(module, types.ModuleType):
            continue
        for attribute, value in list(vars(module).items()):
            if value is variable:
                _places[id(variable)] = name, attribute
                return name, attribute
    return None


def reduce_context_var(variable: Variable, _pickling: Pickling) -> Any:
    found = place(variable)
    return (find_context_var, found) if found else (make_context_var, (variable.name, *default_of(variable)))


def find_context_var(module: str, attribute: str) -> Any:
    """Pickles call it."""
    return getattr(importlib.import_module(module), attribute)


def make_context_var(name: str, *default: Any) -> Variable:
    """Pickles call it."""
    return contextvars.ContextVar(name, default=default[0]) if default else contextvars.ContextVar(name)
