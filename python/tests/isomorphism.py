"""Whether two namespaces are isomorphic: equal values, and the same sharing of what can be changed."""

from __future__ import annotations

import functools
import itertools
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy

# What a class has without anyone having set it.
_VALUES = (int, float, complex, str, bytes, bool, type(None), range, slice)
_OF_ANY_CLASS = frozenset({"__dict__", "__weakref__", "__module__", "__doc__", "__slotnames__", "__builtins__"})


class Different(AssertionError):
    """The two are not isomorphic; the text says where."""


def assert_isomorphic(left: dict[str, Any], right: dict[str, Any]) -> None:
    """Walk both in step; mutable objects and the memory of arrays correspond one to one. Raises Different."""
    _Walk().run(left, right)


class _Walk:
    def __init__(self) -> None:
        self._pairs: dict[object, object] = {}
        self._back: dict[object, object] = {}
        self._pending: list[tuple[Any, Any, str]] = []

    def run(self, left: dict[str, Any], right: dict[str, Any]) -> None:
        if left.keys() != right.keys():
            raise Different(f"names: {sorted(left)} and {sorted(right)}")
        self._pending = [(left[name], right[name], name) for name in left]
        while self._pending:
            x, y, path = self._pending.pop()
            if type(x) is not type(y) and not (_made_by_cells(x) and _made_by_cells(y)):
                raise Different(f"{path}: {x!r} and {y!r} are of different types")
            self._compare(x, y, path)

    def _compare(self, x: Any, y: Any, path: str) -> None:
        if isinstance(x, (tuple, frozenset, types.MethodType)) and type(x).__module__ == "builtins":
            return self._children(x, y, path)
        if type(x) in _VALUES or isinstance(x, (numpy.generic, numpy.dtype)):
            if x != y and not (x != x and y != y):
                raise Different(f"{path}: {x!r} and {y!r}")
            return None
        if isinstance(x, (types.ModuleType, types.BuiltinFunctionType, numpy.ufunc)) or (
            isinstance(x, type) and x.__module__ != "__main__"
        ):
            if x is not y and x != y:
                raise Different(f"{path}: {x!r} and {y!r}")
            return None
        if self._match(id(x), id(y), path):
            return self._children(x, y, path)
        return None

    def _match(self, x: object, y: object, path: str) -> bool:
        """Whether this pair is new."""
        new = x not in self._pairs
        if self._pairs.setdefault(x, y) != y:
            raise Different(f"{path}: one object became two")
        if self._back.setdefault(y, x) != x:
            raise Different(f"{path}: two objects became one")
        return new

    def _children(self, x: Any, y: Any, path: str) -> None:
        for (i, a), (j, b) in itertools.zip_longest(_parts(x), _parts(y), fillvalue=("nothing", None)):
            if i != j:
                raise Different(f"{path}: has {i} and {j}")
            self._pending.append((a, b, f"{path}{i}"))
        if isinstance(x, numpy.ndarray) and x.size:
            self._match_memory(x, y, path)
        if _made_by_cells(x):
            self._pending.append((type(x), type(y), f"type({path})"))

    def _match_memory(self, x: Any, y: Any, path: str) -> None:
        (owner, at), (twin, twin_at) = _memory(x), _memory(y)
        if isinstance(owner, bytes) or isinstance(twin, bytes):
            return
        root = id(owner)
        self._match(("memory", root), ("memory", id(twin)), f"{path}'s memory")
        if self._pairs.setdefault(("distance", root), twin_at - at) != twin_at - at:
            raise Different(f"{path}: begins elsewhere in its memory")


def _made_by_cells(x: Any) -> bool:
    return type(x).__module__ == "__main__"


def _parts(x: Any) -> Iterator[tuple[str, Any]]:
    """What an object consists of, each part under a name, in an order that equal objects have."""
    match x:
        case dict():
            yield from ((f"[{key!r}]", value) for key, value in x.items())
        case set() | frozenset():
            yield "{}", tuple(sorted(map(repr, x)))
        case bytearray():
            yield "bytes", bytes(x)
        case list() | tuple() | deque():
            yield from ((f"[{index}]", item) for index, item in enumerate(x))
        case numpy.ndarray():
            yield "form", (x.shape, x.strides if x.size else (), x.dtype.str, x.flags.writeable)
            yield from ((f".flat[{index}]", item) for index, item in enumerate(_items(x)))
        case types.FunctionType():
            yield "code", (x.__code__.co_code, x.__name__)
            yield "defaults", x.__defaults__
            yield from _named(x.__dict__.items())
            yield "()", tuple(x.__closure__ or ())
        case types.CellType():
            yield "contents", x.cell_contents
        case types.MethodType():
            yield "method", (x.__func__.__code__.co_code, x.__name__)
            yield ".__self__", x.__self__
        case functools.partial():
            yield "partial", (x.func, x.args, *x.keywords.items())
        case type():
            yield from _named((name, value) for name, value in sorted(vars(x).items()) if name not in _OF_ANY_CLASS)
            yield "bases", x.__bases__
    if _made_by_cells(x):
        slots = getattr(type(x), "__slots__", ())
        yield from _named((name, getattr(x, name)) for name in slots if hasattr(x, name))
        yield from _named(getattr(x, "__dict__", {}).items())
    if isinstance(x, deque):
        yield "maxlen", x.maxlen


def _items(array: Any) -> Iterable[Any]:
    return array.ravel().tolist() if array.dtype.hasobject else (array.tobytes(),)


def _named(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, value in items:
        if not isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            yield f".{name}", value


def _memory(array: Any) -> tuple[Any, int]:
    """What an array's memory belongs to, and where the array begins, as an address."""
    owner = array
    while (base := getattr(owner, "base", None)) is not None:
        owner = base
    if isinstance(owner, memoryview):
        owner = owner.obj
    return owner, array.__array_interface__["data"][0]
