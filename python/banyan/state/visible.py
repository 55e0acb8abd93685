"""What can be seen of the state of an object that refuses to be pickled, so that a cell that changes it is noticed.

That is so for objects of the user's own classes. One of a library that refuses is a handle on something elsewhere as a
rule, and changes with each use. To count that as a change would be worse than to miss one: after a move the cells would
run again with every statement that they sent to a database.
"""

from __future__ import annotations

import collections
import contextlib
import io
import threading
import types
from typing import Any

from banyan.reducers import handles

# Of the attributes of generators, coroutines and asynchronous generators.
_PREFIXES = ("gi", "cr", "ag")


def code_of(obj: Any) -> types.CodeType | None:
    """The code of a generator or a coroutine; None for any other object."""
    for prefix in _PREFIXES:
        if isinstance(code := getattr(obj, f"{prefix}_code", None), types.CodeType):
            return code
    return None


def state_of(obj: Any, *, of_user: bool) -> Any:
    """Something that differs after each change that can be seen: the position of a file, the frame of a generator, and
    the attributes and items of an object. None where there is nothing to see.

    of_user: a cell or a module of the user's has made the object's class.
    """
    if isinstance(obj, io.IOBase):
        return handles.position_of(obj)
    if isinstance(obj, type(threading.Lock())):
        return obj.locked()
    if code_of(obj) is not None:
        frame = next(frame for prefix in _PREFIXES if (frame := getattr(obj, f"{prefix}_frame", ...)) is not ...)
        return None if frame is None else (frame.f_lasti, dict(frame.f_locals))
    if not of_user or isinstance(obj, type):
        return None
    return _attributes_of(obj), _items_of(obj)


def _attributes_of(obj: Any) -> dict[str, Any]:
    attributes = {}
    for kind in type(obj).__mro__:
        for name, member in vars(kind).items() if "__slots__" in vars(kind) else ():
            if isinstance(member, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError):  # It is not set.
                    attributes[name] = member.__get__(obj)
    with contextlib.suppress(AttributeError):
        attributes |= object.__getattribute__(obj, "__dict__")
    return attributes


def _items_of(obj: Any) -> Any:
    """The container's own functions read them, so that none of the user's runs, and a proxy is no container."""
    kind = type(obj)
    if issubclass(kind, dict):
        return list(dict.items(obj))
    if issubclass(kind, bytearray):
        return bytes(memoryview(obj))
    for ordered in (list, tuple, collections.deque):
        if issubclass(kind, ordered):
            return list(ordered.__iter__(obj))
    for unordered in (set, frozenset):
        if issubclass(kind, unordered):
            return set(unordered.__iter__(obj))
    return None
