"""Which objects link the variables that reach them: mutable objects that a pickle copies.

Immutable values, types, modules and whatever is pickled by reference link nothing. Otherwise one dtype
would link all frames.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import logging
import pathlib
import re
import sys
import types
import uuid
import weakref

from banyan.reducers import singletons

_IGNORE, _COUNT, _ASK = 0, 1, 2


class Made:
    """Base of the objects that reducers make for a pickle. They are no part of a value."""


_IMMUTABLE: tuple[type, ...] = (
    *(Made, types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.MethodType),
    *(type(None), type(...), type(NotImplemented), int, float, complex, str, bytes, tuple, frozenset, range, slice),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction),
    *(uuid.UUID, pathlib.PurePath, re.Pattern, enum.Enum, logging.Logger, types.GenericAlias, types.MappingProxyType),
)
_PLAIN = (int, float, complex, str, bytes, tuple, frozenset)
_IMMUTABLE_BY_NAME = {
    "numpy": ("dtype", "generic", "ufunc"),
    "pandas": ("Timestamp", "Timedelta", "Interval", "Period"),
    "pandas.api.extensions": ("ExtensionDtype",),
    # isinstance with DateOffset would be true for the other offsets as well, but pandas 3.1 warns of it.
    "pandas.tseries.offsets": ("BaseOffset",),
    "torch": ("dtype", "device", "Size"),
}

_known: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()


def sharing_of(obj: object) -> int:
    """Whether objects of this type link what reaches them: 0 no, 1 yes, 2 ask `counts`, as _native.Pickle expects."""
    kind = type(obj)
    known = _known.get(kind)
    if known is None:
        if issubclass(kind, type):
            known = _ASK
        elif (issubclass(kind, _IMMUTABLE) and not _has_attributes(obj)) or any(
            issubclass(kind, loaded) for loaded in _loaded_immutables()
        ):
            known = _IGNORE
        else:
            named = kind is not types.FunctionType and _has_a_name(obj)
            known = _ASK if named or singletons.has(kind) else _COUNT
        _known[kind] = known
    return known


def _has_a_name(obj: object) -> bool:
    try:
        return hasattr(obj, "__module__") and hasattr(obj, "__name__")
    except Exception:  # A proxy may raise whatever it is asked.
        return False


def _has_attributes(obj: object) -> bool:
    """Whether a value of an immutable type can have attributes all the same."""
    return isinstance(obj, _PLAIN) and not isinstance(obj, enum.Enum) and hasattr(obj, "__dict__")


def counts(obj: object) -> bool:
    """For an object whose type has the answer 2: whether this one links what reaches it."""
    return not importable(obj) and singletons.place(obj) is None


def importable(obj: object) -> bool:
    """Whether pickle finds this very object as an attribute of a module, so that it is pickled by name."""
    module_name = getattr(obj, "__module__", None)
    path = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if not isinstance(module_name, str) or not isinstance(path, str) or module_name == "__main__":
        return False
    found: object = sys.modules.get(module_name)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is obj


def _loaded_immutables() -> list[type]:
    found = []
    for module_name, names in _IMMUTABLE_BY_NAME.items():
        module = sys.modules.get(module_name)
        found += [getattr(module, name) for name in names if isinstance(getattr(module, name, None), type)]
    return found
