"""What a namespace holds, as lines of text that are equal for two namespaces exactly when these are isomorphic.

An object that can be changed is described where it is met first; where it is met again, a line names that place. So the
lines tell equal values and equal sharing. The code runs inside kernels and needs nothing of Banyan: it must not trust
what it checks.
"""

from __future__ import annotations

import collections
import json
import re
import tempfile
import time
import types
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from _describe_parts import (
    ITERATORS,
    KINDS,
    Part,
    atom,
    column,
    digest,
    many,
    of_matplotlib,
    of_pandas,
    reduced,
    state,
    type_name,
)
from IPython.core.getipython import get_ipython

Line = tuple[str, str]  # the place, and what is there

_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
_OUTPUTS = re.compile(r"_+|_i+|_i?\d+|_[iod]h|_exit_code")  # what IPython keeps of inputs and outputs
_YIELDS_MAX = 40
_YIELDS_S = 2.0


def describe(namespace: dict[str, Any], hidden: Iterable[str] = ()) -> list[Line]:
    """The lines of all variables, by name. `hidden` are the names that belong to the shell. Changes no value."""
    return _Description(namespace, _variables(namespace, hidden)).lines()


def yields(namespace: dict[str, Any], hidden: Iterable[str] = ()) -> list[Line]:
    """The next items of the generators and iterators to which variables are bound. This uses the items up."""
    found: dict[str, Any] = {}
    for name, value in sorted(_variables(namespace, hidden).items()):
        if isinstance(value, (types.GeneratorType, *ITERATORS)):
            found[name] = _next_items(value)
    return _Description(namespace, found).lines()


def _variables(namespace: dict[str, Any], hidden: Iterable[str]) -> dict[str, Any]:
    own = set(hidden)
    return {
        name: value
        for name, value in namespace.items()
        if name not in own and not _OUTPUTS.fullmatch(name) and not (name.startswith("__") and name.endswith("__"))
    }


def _next_items(source: Any) -> Any:
    items, end = [], time.monotonic() + _YIELDS_S
    try:
        for item in source:
            items.append(item)
            if len(items) == _YIELDS_MAX or time.monotonic() > end:
                return items
    except Exception as error:
        return [*items, f"{type(error).__name__}: {error}"]
    return [*items, "the end"]


class _Description:
    """One walk over one namespace."""

    def __init__(self, namespace: dict[str, Any], roots: dict[str, Any]) -> None:
        self._namespace = namespace
        self._seen: dict[int, str] = {}  # where an object was met first
        self._alive: list[object] = []  # an identity is of one object as long as that lives
        self._lines: list[Line] = []
        self._memories: dict[int, tuple[str, int]] = {}  # by owner: the array met first, and where that begins
        self._frames: dict[int, str] = {}  # owners of the memory of frames, which are no link among themselves
        self._arrays: list[tuple[str, int]] = []
        self._todo: list[Part] = [(name, roots[name]) for name in sorted(roots, reverse=True)]

    def lines(self) -> list[Line]:
        while self._todo:
            place, value = self._todo.pop()
            if len(place) > 4000:
                place = f"…{digest(place.encode())}"
            self._describe(place, value)
        for place, owner in self._arrays:
            if owner in self._frames:
                self._say(f"{place}.memory", f"of the frame {self._frames[owner]}")
        return self._lines

    def _say(self, place: str, text: str) -> None:
        self._lines.append((place, text))

    def _go_on(self, parts: Iterable[Part]) -> None:
        """Describe these parts next, in this order."""
        self._todo += list(parts)[::-1]

    def _describe(self, place: str, value: Any) -> None:
        text = atom(value)
        if text is not None:
            self._say(place, text)
            return
        kind = type(value)
        if _is_value(value):
            self._say(place, type_name(kind))
            if _is_index(value):
                self._alive.append(value)
                self._say(f"{place}.layout", f"the index of {self._seen.setdefault(id(value), place)}")
        else:
            if (first := self._seen.get(id(value))) is not None:
                self._say(place, f"is {first}")
                return
            self._seen[id(value)] = place
            self._alive.append(value)
            self._say(place, type_name(kind))
        self._go_on((f"{place}{part}", inner) for part, inner in self._parts(place, value))

    def _parts(self, place: str, value: Any) -> Iterator[Part]:
        """The parts of an object, from the first describer that knows its kind."""
        if isinstance(value, (set, frozenset)):
            yield from _unordered(value)
            if type(value).__module__ == "__main__":
                yield from state(value)
            return
        for kinds, parts in KINDS:
            if isinstance(value, kinds):
                yield from parts(value)
                if isinstance(value, _CONTAINERS) and type(value).__module__ == "__main__":
                    yield from state(value)
                return
        name = type(value).__module__
        if name.startswith("numpy") and type(value).__name__ in ("ndarray", "memmap", "MaskedArray", "matrix"):
            yield from self._array(place, value)
        elif name.startswith("pandas") and type(value).__name__ in ("DataFrame", "Series"):
            yield from self._frame(place, value)
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif name.startswith("pandas"):
            yield from of_pandas(value)
        elif name.startswith("matplotlib"):
            yield from of_matplotlib(value)
        elif name == "__main__":
            yield from state(value)
            yield ".class", type(value)
        else:
            yield from reduced(value)

    def _function(self, function: Any) -> Iterator[Part]:
        yield ".code", function.__code__
        yield ".name", function.__qualname__
        yield ".defaults", function.__defaults__
        yield ".kwdefaults", function.__kwdefaults__
        yield ".closure", function.__closure__
        yield ".globals", "the session's" if function.__globals__ is self._namespace else "others"
        yield from ((f".{name}", item) for name, item in sorted(function.__dict__.items()))

    def _array(self, place: str, value: Any) -> Iterator[Part]:
        yield ".form", (value.dtype.str, value.dtype.names, value.shape)
        steps = tuple(step for step, size in zip(value.strides, value.shape, strict=True) if size > 1)
        yield ".layout", f"strides {steps}, writeable {value.flags.writeable}" if value.size else ""
        if value.dtype.hasobject:
            yield ".items", value.ravel().tolist()
        elif value.dtype.names:  # between fields there may be bytes of no meaning
            yield ".bytes", tuple(digest(value[name].tobytes()) for name in value.dtype.names)
        else:
            yield ".bytes", digest(value.tobytes())
        if type(value).__name__ == "MaskedArray":
            yield ".mask", value.mask
            yield ".fill_value", value.fill_value
        if value.size:
            yield ".memory", self._memory(place, value)

    def _memory(self, place: str, value: Any) -> str:
        owner = self._owner(value)
        begin = value.__array_interface__["data"][0]
        self._arrays.append((place, owner))
        first, first_begin = self._memories.setdefault(owner, (place, begin))
        return "its own" if first == place else f"{begin - first_begin} bytes from that of {first}"

    def _owner(self, value: Any) -> int:
        """What an array's memory belongs to: the address of the whole, or a bytearray or the like."""
        array = type(value).__mro__[-2]
        while isinstance(base := _base(value), array):
            value = base
        if isinstance(base, memoryview):
            base = base.obj
        known = isinstance(base, (bytes, bytearray))
        self._alive.append(base if known else value)
        return id(base) if known else int(value.__array_interface__["data"][0])

    def _frame(self, place: str, value: Any) -> Iterator[Part]:
        for block in value._mgr.blocks:
            if type(block.values).__name__ == "ndarray" and block.values.size:
                self._frames.setdefault(self._owner(block.values), place)
        yield ".index", value.index
        if value.ndim == 2:
            yield ".columns", value.columns
            for number in range(value.shape[1]):
                yield f".column[{number}]", column(value.iloc[:, number].array)
        else:
            yield ".name", value.name
            yield ".values", column(value.array)
        yield ".attrs", value.attrs


def _is_value(value: Any) -> bool:
    """Whether it cannot be changed, so that an equal one is as good. So is an index of pandas: only its name can."""
    kind = type(value)
    if kind in (types.MethodType, types.BuiltinMethodType, types.CodeType):
        return True
    if isinstance(value, (tuple, frozenset, int, float, str, bytes)):
        return not hasattr(value, "__dict__")
    return _is_index(value)


def _base(array: Any) -> Any:
    """What an array lies in, seen through what numpy's as_strided puts in between."""
    base = array.base
    return base.base if type(base).__name__ == "DummyArray" else base


def _is_index(value: Any) -> bool:
    return type(value).__module__.startswith("pandas") and type(value).__name__.endswith("Index")


def _unordered(value: Iterable[Any]) -> Iterator[Part]:
    """The items of a set, sorted by their descriptions."""
    known = [(text, item) for item in value if (text := atom(item)) is not None]
    others = [item for item in value if atom(item) is None]
    yield from many([(f"{{{number}}}", item) for number, (_, item) in enumerate(sorted(known, key=lambda one: one[0]))])
    yield from ((f"{{other {number}}}", item) for number, item in enumerate(sorted(others, key=_sorting_text)))


def _sorting_text(value: Any) -> str:
    return "\n".join(text for _, text in _Description({}, {"": value}).lines())


def described() -> str:
    """Writes the lines of the notebook in whose kernel this runs into a file."""
    shell: Any = get_ipython()
    return _packed(describe(shell.user_ns, shell.user_ns_hidden))


def yielded() -> str:
    """Does the same for the items that its generators and iterators give, and uses them up."""
    shell: Any = get_ipython()
    return _packed(yields(shell.user_ns, shell.user_ns_hidden))


def _packed(lines: list[Line]) -> str:
    """The name of a file: of large graphs they are hundreds of MB, which no reply should be."""
    with tempfile.NamedTemporaryFile("wb", prefix="banyan-described-", dir="/var/tmp", delete=False) as file:
        file.write(zlib.compress(json.dumps(lines).encode(), 1))
    return file.name
