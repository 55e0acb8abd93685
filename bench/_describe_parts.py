"""What an object consists of, by its kind, for _describe.py: parts with names, in an order that equal objects have.

Nothing here knows what was met before.
"""

from __future__ import annotations

import array
import collections
import functools
import hashlib
import io
import itertools
import random
import socket
import sqlite3
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Part = tuple[str, Any]  # its name, and what it is

_PLAIN = (bool, int, float, complex, type(None), type(...), type(NotImplemented), range, slice)
_OF_ANY_CLASS = frozenset({"__dict__", "__weakref__", "__slotnames__", "__static_attributes__", "__firstlineno__"})
_SHORT = 200  # characters; a longer text is told by its digest
_MANY = 500  # items; a larger container is told by the digest of its lines
_ITERABLES: tuple[Any, ...] = ([], (), {}, set(), {}.items(), {}.values(), range(0), range(1 << 70), "", b"")
ITERATORS: tuple[Any, ...] = (*(type(iter(iterable)) for iterable in _ITERABLES), type(reversed([])))
ITERATORS += (zip, map, filter, enumerate, reversed, itertools.count, itertools.cycle, itertools.chain)
ITERATORS += (itertools.islice, itertools.product, itertools.combinations, itertools.permutations, itertools.repeat)
ITERATORS += (itertools.accumulate, itertools.starmap, itertools.takewhile, itertools.dropwhile)
_GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


def digest(data: Any) -> str:
    return hashlib.sha1(data).hexdigest()[:16]


def atom(value: Any) -> str | None:
    """What has no identity that a program could rely on, in a line; None for anything else."""
    kind = type(value)
    if kind in _PLAIN:
        text = repr(value)
        return text if len(text) <= _SHORT else f"{kind.__name__} {digest(text.encode())}"
    if kind in (str, bytes):
        if len(value) <= _SHORT:
            return repr(value)
        data = value if kind is bytes else value.encode("utf-8", "surrogatepass")
        return f"{kind.__name__} of {len(value)}, {digest(data)}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, type) and value.__module__ != "__main__":
        return f"class {value.__module__}.{value.__qualname__}"
    if isinstance(value, (types.BuiltinFunctionType, types.FunctionType)) and _is_found(value):
        return f"function {value.__module__}.{value.__qualname__}"
    if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, (types.ModuleType, type(None))):
        return f"function {value.__module__}.{value.__qualname__}"
    if _is_enum(kind):
        return f"{type_name(kind)}.{value.name}"
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.generic, numpy.dtype, numpy.ufunc)):
        return f"{type_name(kind)} {getattr(value, 'dtype', '')} {value!r}"
    module = kind.__module__.partition(".")[0]
    if module in _VALUE_MODULES and kind.__name__ in _VALUE_MODULES[module]:
        return f"{type_name(kind)} {value!r}"
    return None


_VALUE_MODULES: dict[str, tuple[str, ...]] = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "uuid": ("UUID",),
    "pathlib": ("PosixPath", "PurePosixPath"),
    "re": ("Pattern",),
    "zoneinfo": ("ZoneInfo",),
    "ipaddress": ("IPv4Address", "IPv4Network"),
    "pandas": ("Timestamp", "Timedelta", "Interval", "Period", "NAType", "NaTType", "CategoricalDtype", "StringDtype"),
    "operator": ("itemgetter", "attrgetter", "methodcaller"),
}


def _is_enum(kind: type) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and issubclass(kind, enum.Enum) and kind.__module__ != "__main__"


def _is_found(function: Any) -> bool:
    """Whether the object's module has it under its name."""
    if function.__module__ in ("__main__", None):
        return False
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def type_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _items(value: Iterable[Any]) -> Iterator[Part]:
    yield from many([(f"[{index}]", item) for index, item in enumerate(value)])


def _mapping(value: dict[Any, Any]) -> Iterator[Part]:
    if isinstance(value, collections.defaultdict):
        yield ".default_factory", value.default_factory
    parts: list[Part] = []
    for number, (key, item) in enumerate(value.items()):
        text = atom(key)
        if text is None:
            parts.append((f".key[{number}]", key))
            text = f"key {number}"
        parts.append((f"[{text}]", item))
    yield from many(parts)


def many(parts: list[Part]) -> Iterator[Part]:
    """The parts; atoms of a large container as one digest."""
    if len(parts) <= _MANY:
        yield from parts
        return
    sum_of_all = hashlib.sha1()
    for place, value in parts:
        if (text := atom(value)) is None:
            yield place, value
        else:
            sum_of_all.update(f"{place} {text}\n".encode("utf-8", "surrogatepass"))
    yield " atoms", f"{len(parts)} parts, {sum_of_all.hexdigest()[:16]}"


def _deque(value: Any) -> Iterator[Part]:
    yield from _items(value)
    yield ".maxlen", value.maxlen


def _code(code: Any) -> Iterator[Part]:
    yield ".code", digest(code.co_code)
    yield ".names", (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    yield from ((f".const[{number}]", item) for number, item in enumerate(code.co_consts))


def _class(kind: Any) -> Iterator[Part]:
    yield ".bases", kind.__bases__
    descriptors = (types.MemberDescriptorType, types.GetSetDescriptorType)
    for name, item in sorted(vars(kind).items()):
        if name not in _OF_ANY_CLASS and not isinstance(item, descriptors) and not name.startswith("_abc_"):
            yield f".{name}", item


def _cell(cell: Any) -> Iterator[Part]:
    try:
        yield ".contents", cell.cell_contents
    except ValueError:
        yield ".contents", "nothing yet"


def _method(method: Any) -> Iterator[Part]:
    yield ".name", method.__name__
    yield ".self", method.__self__
    if isinstance(method, types.MethodType):
        yield ".func", method.__func__


def _partial(value: Any) -> Iterator[Part]:
    yield ".parts", (value.func, value.args, value.keywords)


def _cached(value: Any) -> Iterator[Part]:
    yield ".function", value.__wrapped__
    found = value.cache_info()  # hits and misses begin anew in a new process
    yield ".cache", (found.maxsize, found.currsize, value.cache_parameters()["typed"])


def _generator(value: Any) -> Iterator[Part]:
    frame = next(getattr(value, name) for name in ("gi_frame", "cr_frame", "ag_frame") if hasattr(value, name))
    yield ".name", value.__qualname__
    if frame is None:
        yield ".position", "at its end"
        return
    yield ".position", (frame.f_lasti, frame.f_lineno - frame.f_code.co_firstlineno)
    yield ".code", frame.f_code
    yield from ((f".locals[{name}]", item) for name, item in sorted(frame.f_locals.items()))


def _stream(value: Any) -> Iterator[Part]:
    yield ".closed", value.closed
    if value.closed:
        return
    if isinstance(value, (io.StringIO, io.BytesIO)):
        yield ".value", value.getvalue()
    else:
        yield ".file", (str(getattr(value, "name", "")).rpartition("/")[2], getattr(value, "mode", ""))
    if value.seekable():
        yield ".position", value.tell()


def _database(value: sqlite3.Connection) -> Iterator[Part]:
    try:
        yield ".content", digest("\n".join(value.iterdump()).encode())
        yield ".in_transaction", value.in_transaction
        yield ".row_factory", value.row_factory
    except sqlite3.ProgrammingError as error:
        yield ".state", str(error)


def _cursor(value: sqlite3.Cursor) -> Iterator[Part]:
    yield ".connection", value.connection
    yield ".columns", value.description and tuple(column[0] for column in value.description)


def _socket(value: Any) -> Iterator[Part]:
    yield ".state", (int(value.family), int(value.type), "closed" if value.fileno() < 0 else "open")


def _lock(value: Any) -> Iterator[Part]:
    yield ".locked", value.locked() if hasattr(value, "locked") else repr(value).startswith("<locked")


def _reference(value: Any) -> Iterator[Part]:
    yield ".target", value()


def _thread(value: threading.Thread) -> Iterator[Part]:
    yield ".state", (value.is_alive(), value.daemon)


def _wrapped(value: Any) -> Iterator[Part]:
    yield ".function", value.__func__


def _property(value: property) -> Iterator[Part]:
    yield ".functions", (value.fget, value.fset, value.fdel)


def _raw(value: Any) -> Iterator[Part]:
    yield ".bytes", bytes(value)
    if isinstance(value, memoryview):
        yield ".of", value.obj
    if isinstance(value, array.array):
        yield ".typecode", value.typecode


def _error(value: BaseException) -> Iterator[Part]:
    yield ".args", value.args
    yield ".notes", getattr(value, "__notes__", None)
    yield from ((f".{name}", item) for name, item in sorted(value.__dict__.items()))


def _random(value: Any) -> Iterator[Part]:
    yield ".state", digest(repr(value.getstate()).encode())


def _nothing(_value: Any) -> Iterator[Part]:
    yield from ()


KINDS: tuple[tuple[Any, Callable[[Any], Iterator[Part]]], ...] = (
    (dict, _mapping),
    ((list, tuple), _items),
    (collections.deque, _deque),
    (type, _class),
    (types.CodeType, _code),
    (types.CellType, _cell),
    ((types.MethodType, types.BuiltinMethodType), _method),
    (functools.partial, _partial),
    (functools._lru_cache_wrapper, _cached),
    (_GENERATORS, _generator),
    (ITERATORS, _nothing),
    (io.IOBase, _stream),
    (sqlite3.Connection, _database),
    (sqlite3.Cursor, _cursor),
    (type(threading.Lock()), _lock),
    (type(threading.RLock()), _lock),
    (weakref.ref, _reference),
    (threading.Thread, _thread),
    ((staticmethod, classmethod), _wrapped),
    (property, _property),
    ((bytearray, memoryview, array.array), _raw),
    (BaseException, _error),
    (random.Random, _random),
    (socket.socket, _socket),
)


def state(value: Any) -> Iterator[Part]:
    """The attributes in the instance's dictionary and in its slots."""
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in _OF_ANY_CLASS and hasattr(value, name):
                yield f".{name}", getattr(value, name)
    yield from ((f".{name}", item) for name, item in getattr(value, "__dict__", {}).items())


def reduced(value: Any) -> Iterator[Part]:
    """An object of a library, as its class says how it is made."""
    try:
        made = value.__reduce_ex__(4)
    except Exception as error:
        yield ".reduce", f"{type(error).__name__}"
        yield from ((f".{name}", item) for name, item in getattr(value, "__dict__", {}).items())
        return
    if isinstance(made, str):
        yield ".found", made
        return
    parts = (*made, None, None, None)
    yield ".make", parts[:2]
    yield ".state", parts[2]
    for name, items in (("items", parts[3]), ("pairs", parts[4])):
        if items is not None:
            yield f".{name}", list(items)


def column(values: Any) -> tuple[Any, ...]:
    """The values of a column or an index, whatever array holds them."""
    dtype = values.dtype
    text = str(dtype)
    if text == "category":
        return (text, dtype.ordered, column(dtype.categories.array), digest(values.codes.tobytes()))
    if dtype.kind in "mM" and hasattr(values, "asi8"):
        return (text, digest(values.asi8.tobytes()))
    plain = getattr(values, "_ndarray", None)
    if plain is not None and plain.dtype.kind in "biufc":
        return (text, digest(plain.tobytes()))
    return (text, list(values))


def of_pandas(value: Any) -> Iterator[Part]:
    kind = type(value).__name__
    if kind == "RangeIndex":
        yield ".range", (value.start, value.stop, value.step, value.name)
    elif kind == "MultiIndex":
        yield ".names", tuple(value.names)
        for number, (level, codes) in enumerate(zip(value.levels, value.codes, strict=True)):
            yield f".level[{number}]", (column(level.array), digest(codes.tobytes()))
    elif kind.endswith("Index"):
        yield ".name", value.name
        yield ".values", column(value.array)
        yield ".freq", str(getattr(value, "freq", None))
    elif kind.endswith("Array") or kind == "Categorical":
        yield ".values", column(value)
    else:
        yield from reduced(value)


def of_matplotlib(value: Any) -> Iterator[Part]:
    """A figure by its pixels; what is in a figure by its place there."""
    if type(value).__name__ == "Figure":
        yield ".pixels", _pixels(value)
        yield ".axes", tuple(type(axes).__name__ for axes in value.axes)
        return
    figure = getattr(value, "figure", None)
    if figure is None:
        yield ".figure", "none"
        return
    yield ".figure", figure
    same = [index for index, artist in enumerate(figure.findobj()) if artist is value]
    yield ".place", same


def _pixels(figure: Any) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # the kernel has it, as there is a figure

    before = figure.canvas
    try:
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return f"{canvas.get_width_height()} {digest(canvas.buffer_rgba())}"
    except Exception as error:
        return f"cannot be drawn: {type(error).__name__}: {error}"
    finally:
        figure.set_canvas(before)
