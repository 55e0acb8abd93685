"""Contexts of mpmath, and the types of their numbers, which mpmath makes for each context.

sympy's RR and CC have such a context, and so have their elements. Copied attribute by attribute they cannot be loaded.
"""

from __future__ import annotations

import sys
from typing import Any

from banyan.reducers.reducer import Pickling

_TYPES = ("mpf", "mpc", "constant")
_SETTINGS = ("prec", "pretty", "trap_complex")


def reduce_type(cls: type) -> Any:
    """How to get a type of numbers from its context; None for other types."""
    context = vars(cls).get("context")
    if context is None or cls.__name__ not in _TYPES or getattr(context, cls.__name__, None) is not cls:
        return None
    return getattr, (context, cls.__name__)


def reduce_context(context: Any, _pickling: Pickling) -> Any:
    mpmath: Any = sys.modules.get("mpmath")
    for name in ("mp", "fp", "iv"):
        if context is getattr(mpmath, name, None):
            return global_context, (name,)  # The part <mpmath> keeps its settings.
    settings = {name: getattr(context, name) for name in _SETTINGS if hasattr(context, name)}
    return type(context), (), settings, None, None, set_settings


def global_context(name: str) -> Any:
    import mpmath

    return getattr(mpmath, name)


def set_settings(context: Any, settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        setattr(context, name, value)
