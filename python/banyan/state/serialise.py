"""Values to bytes and back: cloudpickle, protocol 5, with the buffers out of band.

What differs from plain cloudpickle: functions of cells come back bound to the live namespace and share their closure
cells; a class that a cell defines exists once, whichever value brings it first; views of arrays stay views.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import itertools
import logging
import pickle
import sys
import time
import types
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cloudpickle
from cloudpickle import cloudpickle as _cloudpickle
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from banyan import _native, clusters
from banyan.reducers import (
    arrays,
    caches,
    closed,
    corrections,
    finished,
    handles,
    lazy,
    live,
    mpmath_numbers,
    sharing,
    singletons,
    text_sets,
    widgets,
)
from banyan.reducers.log_handlers import reduce_handler
from banyan.reducers.memory import Memory
from banyan.reducers.methods import reduce_method
from banyan.reducers.reducer import Pickling, Reducer
from banyan.reducers.streams import own_stream, reduce_stream
from banyan.reducers.streams import standard_stream as standard_stream  # Pickles of earlier versions name it here.
from banyan.state import classes, former_names, functions, own, roundtrip, visible
from banyan.state.access import SHELL_NAME, global_names, imported_names

if TYPE_CHECKING:
    from typing_extensions import Buffer

_namespace: dict[str, Any] = {}
# Dotted modules that cells imported, by the first part of the name: `import concurrent.futures` binds `concurrent`.
_submodules: dict[str, set[str]] = {}


def bind_namespace(namespace: dict[str, Any]) -> None:
    """Make `namespace` the one that loaded functions see as their globals. Once per process."""
    global _namespace
    _namespace = namespace


def note_imports(modules: Iterable[str]) -> None:
    for module in modules:
        if "." in module and module in sys.modules:
            _submodules.setdefault(module.partition(".")[0], set()).add(module)


class Unserialisable(Exception):
    """A value cannot be pickled. The text is the reason; `uses` is what was collected until then, as in Pickled."""

    def __init__(self, reason: str, uses: frozenset[str]) -> None:
        super().__init__(reason)
        self.uses = uses


# Digest (XXH3-128, hex) and size in bytes of a piece of bytes that is stored as a whole.
Block = tuple[str, int]
_Known = dict[int, Container[str]]  # Collections of digests whose bytes nobody will ask for, by the collection's id.
# Blocks of at least this many bytes are only sent to an end that does not have them.
LARGE_BLOCK = 64 * 1024 + 1


@dataclass(frozen=True, slots=True)
class Pickled:
    """Some variables as bytes. `buffers` are views of the live objects: use them before user code runs again.

    parts: the blocks of the pickle, then those of each buffer, in order. fingerprint: the parts that are of the values
    themselves, and not of a class that is another variable; equal ones mean equal values. owned: ids of the mutable
    objects among the values. uses: global names that their functions and classes refer to. links: by variable a number,
    which is equal for those that share objects. seconds: how long the pickling took.
    """

    names: tuple[str, ...]
    pickle: memoryview | _native.Spill
    buffers: Sequence[memoryview | _native.Atoms]
    parts: tuple[tuple[Block, ...], ...]
    fingerprint: tuple[tuple[Block, ...], ...]
    owned: _native.Owned
    uses: frozenset[str]
    links: Mapping[str, int]
    seconds: float = 0.0


class Bundle:
    """Variables that are pickled together, one by one. What their __reduce__ raises becomes Unserialisable."""

    def __init__(self, classes: Iterable[type] = (), spool: _native.Spool | None = None) -> None:
        """classes: those among the values; `links` joins each with its instances. spool: where a long pickle goes."""
        self._classes = {id(cls) for cls in classes}
        self._spool = spool
        self._known: _Known = {}
        self._values: dict[str, object] = {}
        self._remember_all = False
        self._seconds = 0.0
        self._begin(Memory())

    @property
    def names(self) -> list[str]:
        return list(self._values)

    @property
    def uses(self) -> frozenset[str]:
        return frozenset(self._pickling.uses)

    def know(self, blocks: Container[str]) -> None:
        """The bytes of the blocks with these digests need not be kept, because nobody will ask for them."""
        self._known[id(blocks)] = blocks

    def add(self, name: str, value: object, watch: _native.Watch | None = None) -> None:
        """Raises Unserialisable, and _native.Met at the first object that `watch` has. The bundle is then unusable."""
        self._values[name] = value
        begun = time.perf_counter()
        try:
            try:
                self._pickle.add(name, value, watch)
            except _native.Forgotten:
                self._remember_all = True
                self._again(Memory(), watch)
        except _native.Met:
            raise
        except BaseException as error:
            raise Unserialisable(_reason(error), self.uses) from error
        self._seconds += time.perf_counter() - begun

    def note(self, watch: _native.Watch, number: int) -> None:
        """Tell `watch` which objects this bundle has, under this number."""
        self._pickle.note(watch, number)

    def finish(self) -> Pickled:
        """Call it once. Raises Unserialisable."""
        names = self.names
        if names != sorted(names):
            done = dump(self._values, self._spool, *self._known.values())
            return replace(done, seconds=self._seconds + done.seconds)
        begun = time.perf_counter()
        try:
            self._pickle.end()
            self._pickling.forget()
            owned, labels = self._pickle.owned(self._pickling.memory.notes)
            if shared := owned.shared_memory():
                self._again(Memory(shared, {tenant for tenant, *_ in self._pickling.memory.notes}))
                self._pickle.end()
                self._pickle.forget()
            whole, buffers = self._pickle, [_apart(buffer) for buffer in self._pickle.buffers]
        except BaseException as error:
            raise Unserialisable(_reason(error), self.uses) from error
        pickle = whole.spill or memoryview(whole)
        parts = (tuple(_blocks_of_pickle(pickle)), *map(_blocks, buffers))
        fingerprint = (parts[0], *itertools.compress(parts[1:], map(self._pickling.of_values, whole.buffers)))
        links = dict(zip(names, labels, strict=True))
        seconds = self._seconds + time.perf_counter() - begun
        return Pickled(tuple(names), pickle, buffers, parts, fingerprint, owned, self.uses, links, seconds)

    def _begin(self, memory: Memory) -> None:
        self._pickling = _Pickling(set(self._classes))
        self._pickling.memory = memory
        self._pickle = self._pickling.begin(self._remember_all, self._spool, self._known)

    def _again(self, memory: Memory, watch: _native.Watch | None = None) -> None:
        """Pickle all values once more; only the last one is compared with `watch`."""
        self._begin(memory)
        *_, last = self._values
        try:
            for name, value in self._values.items():
                self._pickle.add(name, value, watch if name == last else None)
        except _native.Forgotten:  # What lies in shared memory was now pickled by other reducers.
            self._remember_all = True
            self._again(memory.afresh(), watch)


def dump(values: Mapping[str, object], spool: _native.Spool | None = None, *known: Container[str]) -> Pickled:
    """Pickle variables together. `spool` and `known` are as for Bundle. Raises Unserialisable."""
    bundle = Bundle((value for value in values.values() if isinstance(value, type)), spool)
    for blocks in known:
        bundle.know(blocks)
    for name in sorted(values):
        bundle.add(name, values[name])
    return bundle.finish()


def look_at(value: object) -> Pickled | None:
    """What can be said of a value that cannot be pickled: as `dump`, with stand-ins for the objects that fail.

    If two looks have equal parts, no change of the value shows. None when nothing can be said.
    """
    pickling = _Looking(None)
    try:
        done = pickling.whole(value)
        owned, _ = done.owned(pickling.memory.notes)
    except BaseException:
        return None
    parts = (tuple(_native.pickle_blocks(memoryview(done))), *(_blocks(_apart(buffer)) for buffer in done.buffers))
    return Pickled((), memoryview(b""), (), parts, parts, owned, frozenset(pickling.uses), {})


@dataclass(frozen=True, slots=True)
class Source:
    """Where the bytes of one block are. A call returns them."""

    data: memoryview | _native.Atoms | _native.Spill
    index: int
    begin: int
    end: int

    def __call__(self) -> Buffer:
        return self.data[self.begin : self.end] if isinstance(self.data, memoryview) else self.data.block(self.index)

    def spooled(self, spool: _native.Spool) -> int | None:
        """The offset of the block in `spool`; None when it is not there."""
        return self.data.at(self.index) if isinstance(self.data, _native.Spill) and self.data.spool is spool else None

    def piece(self) -> Buffer | tuple[_native.Atoms, int]:
        """For `_native.fill_atoms`, which takes the objects of a live array as they are."""
        return (self.data, self.index) if isinstance(self.data, _native.Atoms) else self()


def blocks_of(pickled: Pickled) -> Iterator[tuple[str, int, Source]]:
    """Digest, size and source of every block, in order."""
    for part, data in zip(pickled.parts, (pickled.pickle, *pickled.buffers), strict=True):
        at = 0
        for index, (digest, size) in enumerate(part):
            yield digest, size, Source(data, index, at, at + size)
            at += size


def load(data: Buffer, buffers: Iterable[Buffer | list[Any]]) -> dict[str, Any]:
    """The variables that `dump` pickled. It runs what the pickle says, so give it only pickles of this session."""
    values: dict[str, Any] = pickle.loads(data, buffers=buffers)
    return values


def _apart(buffer: Any) -> memoryview | _native.Atoms:
    """A buffer of a pickle as the bytes of its memory, or as the Atoms that make its bytes when they are wanted."""
    if isinstance(buffer, _native.Atoms):
        return buffer
    return buffer.raw() if isinstance(buffer, pickle.PickleBuffer) else memoryview(buffer).cast("B")


def _blocks_of_pickle(pickle: memoryview | _native.Spill) -> list[Block]:
    return pickle.blocks if isinstance(pickle, _native.Spill) else _native.pickle_blocks(pickle)


def _blocks(buffer: memoryview | _native.Atoms) -> tuple[Block, ...]:
    return tuple(buffer.blocks if isinstance(buffer, _native.Atoms) else _native.memory_blocks(buffer))


def _reason(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _in_any(known: Iterable[_Known], digest: str) -> bool:
    return any(digest in blocks for each in known for blocks in each.values())


class _Pickling:
    """The reducers of one pickling, and what they collect: `uses`, memory, classes of cells and the buffers of some."""

    def __init__(self, inline: set[int] | None, alone: object = None, *, parted: bool = False) -> None:
        """inline: ids of the classes among the values. None: only `alone` is pickled, apart from what refers to it."""
        self.parted = parted
        self.uses: set[str] = set()
        self.memory = Memory()
        self._classes: set[int] = set()  # Ids of the classes of cells that were met.
        self._owned: set[int] = set()  # Ids of those that are copied in place.
        self._inline = inline
        self._class_buffers: dict[int, object] = {}
        self._class_names: dict[int, list[str]] | None = None
        self._alone = alone
        self._library = arrays.reducers()
        self._cloudpickler: Any = None

    def begin(self, remember_all: bool = False, spool: _native.Spool | None = None, *known: _Known) -> _native.Pickle:
        live.look()
        hooks = self._treat, self._counts, locate, self._classes, _namespace, live_namespace, text_over, self._live
        return _native.Pickle(
            *hooks, live.identities, remember_all=remember_all, spool=spool, known=functools.partial(_in_any, known)
        )

    def whole(self, value: object) -> _native.Pickle:
        """A pickle of one value. Raises what its reducers raise."""
        try:
            done = self.begin()
            done.whole(value)
        except _native.Forgotten:
            self.memory.notes.clear()
            done = self.begin(remember_all=True)
            done.whole(value)
        self.forget()
        return done

    def forget(self) -> None:
        self._cloudpickler = None  # It holds objects that it made itself, which would count as owned by the values.

    def of_values(self, buffer: object) -> bool:
        """Whether a buffer belongs to the values themselves, and not to a class that is another variable."""
        return id(buffer) not in self._class_buffers

    def copies(self, cls: type) -> bool:
        """Whether a class, or a base of it, is copied in place."""
        return any(id(base) in self._owned for base in cls.__mro__)

    def _live(self, obj: object) -> Any:
        return NotImplemented if obj is self._alone else live.reduce_live(obj, self)

    def _counts(self, obj: object) -> bool:
        return id(obj) in self._owned if isinstance(obj, type) else sharing.counts(obj)

    def _treat(self, obj: Any) -> tuple[Callable[[Any], Any] | None, int, bool]:
        kind = type(obj)
        reducer = self._reducer_for(kind)
        if reducer is None:
            return None, sharing.sharing_of(obj), False
        direct = reducer in _DIRECT or kind in (types.FunctionType, types.CodeType) or issubclass(kind, type)
        return (
            (lambda obj: NotImplemented if obj is self._alone else reducer(obj, self)),
            sharing.sharing_of(obj),
            direct,
        )

    def _reducer_for(self, kind: type) -> Reducer | None:
        if kind is types.FunctionType:
            return self._reduce_function
        if issubclass(kind, type):
            return self._reduce_class
        if kind in _REDUCERS:
            return _REDUCERS[kind]
        for base, reducer in self._library:
            if kind is base or (issubclass(kind, base) and not arrays.exact(base)):
                return reducer
        if kind in (type(own_stream("stdout")), type(own_stream("stderr"))):
            return reduce_stream
        if issubclass(kind, logging.Handler):
            return reduce_handler
        if issubclass(kind, InteractiveShell):
            return _reduce_shell
        for reducer_for in _ROW:
            if (corrected := reducer_for(kind)) is not None:
                return corrected
        if self._inline is not None and roundtrip.doubtful(kind):
            return self._reduce_checked
        table = cloudpickle.Pickler.dispatch_table
        if kind in table:
            return lambda obj, _pickling: table[kind](obj)
        return lazy.reducer_of_library(kind)

    def apart(self, obj: object, *, parted: bool = False) -> tuple[Any, ...]:
        """Pickle an object apart: what it holds links nothing, and it is loaded whole before what refers to it.

        parted: a view of an array is pickled as what it shows, so that arrays share no memory when they are loaded.
        """
        nested = _Pickling(None, alone=None if isinstance(obj, type) else obj, parted=parted)
        done = nested.whole(obj)
        self.uses |= nested.uses
        self._classes |= nested._classes
        return load_apart, (bytes(done), *map(_lent, done.buffers))

    def _reduce_checked(self, obj: object, pickling: Pickling) -> Any:
        load, (data, *buffers) = pickling.apart(obj)
        roundtrip.check(obj, (load, data, buffers))
        return NotImplemented

    def _reduce_function(self, function: types.FunctionType, _pickling: Pickling) -> Any:
        if own.known and (mark := own.mark(function.__globals__.get("__name__"))) is not None:
            self.uses.add(mark)
            if not _cloudpickle._should_pickle_by_reference(function) and own.has(function):
                state = functions.state_of(function, global_names(function.__code__))
                return own.make_function, own.made_of(function), state, None, None, set_function_state
        if _cloudpickle._should_pickle_by_reference(function):
            return function.__qualname__
        if function.__globals__ is not _namespace:
            if singletons.place(function) is not None:
                return function.__qualname__
            if self._cloudpickler is None:
                self._cloudpickler = cloudpickle.Pickler(io.BytesIO())
            return functions.with_cells(function, self._cloudpickler._dynamic_function_reduce(function))
        names = global_names(function.__code__)
        self.uses |= names
        if own.known:
            self.uses |= own.marks(imported_names(function.__code__))
        state = functions.state_of(function, names)
        return make_function, (function.__code__, function.__closure__), state, None, None, set_function_state

    def _reduce_class(self, cls: type, _pickling: Pickling) -> Any:
        if own.known and (mark := own.mark(cls.__module__)) is not None:
            self.uses.add(mark)
        if "<" in cls.__qualname__ and singletons.place(cls) is not None:
            return cls.__qualname__
        reduced = (
            corrections.reduce_array_type(cls) or mpmath_numbers.reduce_type(cls) or _cloudpickle._class_reduce(cls)
        )
        if reduced is NotImplemented:
            return cls.__qualname__
        if len(reduced) != 6:
            return reduced
        make, arguments, state, _, _, set_state = reduced
        if classes.makes_slots(cls):
            arguments[3]["__slots__"] = vars(cls)["__slots__"]
        state = (classes.own_attributes(cls, state[0]), state[1])
        names = self._names_of(cls)
        self.uses.update(names)
        # A class that no variable is bound to is stored with the values that reach it, and links them.
        owner = self._inline is not None and (id(cls) in self._inline or not names)
        self._classes.add(id(cls))
        if owner or self._inline is None:
            self._owned.add(id(cls))
            content = owner, set_state, state, classes.attributes_of_members(cls)
            return classes.make_class, (make, arguments), content, None, None, classes.set_class_state
        return self._class_apart(cls)

    def _class_apart(self, cls: type) -> tuple[Any, ...]:
        """A class that is another variable is one buffer, so that the rest of the pickle does not depend on it."""
        _, (data, *buffers) = self.apart(cls)
        whole = pickle.dumps((data, *(bytearray(bytes(buffer)) for buffer in buffers)), 5)
        buffer = pickle.PickleBuffer(whole.ljust(_native.OUT_OF_BAND, b"\0"))
        self._class_buffers[id(buffer)] = buffer
        return load_class, (buffer,)

    def _names_of(self, cls: type) -> list[str]:
        """The variables that a class is bound to."""
        if self._class_names is None:
            self._class_names = {}
            for name, value in _namespace.copy().items():
                if isinstance(value, type) and not SHELL_NAME.match(name):
                    self._class_names.setdefault(id(value), []).append(name)
        return self._class_names.get(id(cls), [])


def _lent(buffer: Any) -> Any:
    return buffer if isinstance(buffer, _native.Atoms) else pickle.PickleBuffer(buffer)


class _Looking(_Pickling):
    """Pickles any value, with a description in the place of each object that fails: the bytes can only be compared."""

    def _treat(self, obj: Any) -> tuple[Callable[[Any], Any] | None, int, bool]:
        reducer, links, _ = super()._treat(obj)
        return functools.partial(self._reduce_or_describe, reducer), links, False

    def _reduce_or_describe(self, reducer: Callable[[Any], Any] | None, obj: Any) -> Any:
        try:
            reduced = NotImplemented if reducer is None else reducer(obj)
            if reduced is NotImplemented:
                reduced = obj.__reduce_ex__(5)
            if isinstance(reduced, str):
                locate(obj, reduced)
        except Exception:
            return described, (type(obj).__qualname__, id(obj)), self._seen_of(obj)
        return reduced

    def _seen_of(self, obj: Any) -> Any:
        of_user = type(obj).__module__ == "__main__" or own.mark(type(obj).__module__) is not None
        with contextlib.suppress(Exception):  # A proxy may raise whatever it is asked.
            if (code := visible.code_of(obj)) is not None:
                self.uses |= global_names(code)
            return visible.state_of(obj, of_user=of_user)
        return None


def locate(obj: Any, name: str | None) -> tuple[str, str]:
    """Module and path of an object that pickles by reference. Raises PicklingError where they do not lead to it."""
    if type(obj) is object and (found := corrections.sentinel(obj)) is not None:
        return found
    path = name or obj.__qualname__
    if "<" in path and (found := singletons.place(obj)) is not None:
        return found
    module = pickle.whichmodule(obj, path)  # type: ignore[attr-defined]
    there: object = sys.modules.get(module)
    for part in path.split("."):
        there = getattr(there, part, None)
    if there is not obj:
        raise pickle.PicklingError(f"cannot pickle {obj!r}: it is not {module}.{path}")
    return former_names.in_pickles(module), path


def _reduce_cell(cell: types.CellType, _pickling: Pickling) -> Any:
    try:
        content = (cell.cell_contents,)
    except ValueError:
        return types.CellType, ()
    return types.CellType, (), content, None, None, set_cell


def _reduce_module(module: types.ModuleType, pickling: Pickling) -> Any:
    pickling.uses |= own.marks([module.__name__])
    if sys.modules.get(module.__name__) is not module:
        return NotImplemented
    return import_module, (module.__name__, tuple(sorted(_submodules.get(module.__name__, ()))))


def _reduce_shell(_shell: Any, _pickling: Pickling) -> Any:
    return get_ipython, ()


def _reduce_reference(reference: weakref.ref[Any], _pickling: Pickling) -> Any:
    target = reference()
    return (dead_reference, ()) if target is None else (weakref.ref, (target,))


_REDUCERS: dict[type, Reducer] = {
    types.MethodType: reduce_method,
    weakref.ReferenceType: _reduce_reference,
    weakref.WeakValueDictionary: caches.reduce_weak_dict,
    weakref.WeakKeyDictionary: caches.reduce_weak_dict,
    types.CellType: _reduce_cell,
    **dict.fromkeys((set, frozenset), text_sets.reduce_set),
    types.ModuleType: _reduce_module,
    functools._lru_cache_wrapper: caches.reduce_cached_function,
    **handles.REDUCERS,
}

# Direct reducers: they put no container into their answer that another object has (see _native.Pickle).
_DIRECT = {
    text_sets.reduce_set,
    *(arrays.reduce_array, reduce_method, _reduce_reference, caches.reduce_weak_dict, _reduce_cell, _reduce_module),
}

# The modules that are asked for a reducer of a type, in this order.
_ROW: list[Callable[[type], Reducer | None]]
_ROW = [module.reducer_for for module in (widgets, corrections, closed, finished, clusters)]

# Pickles call what follows when they are loaded.


def described(*_what: object) -> None:
    """Stands for an object that cannot be pickled, in a pickle that nobody loads."""


def live_namespace() -> dict[str, Any]:
    return _namespace


def text_over(data: Buffer) -> str:
    return str(data, "utf-8", "surrogatepass")


def dead_reference() -> weakref.ref[Any]:
    return weakref.ref(type("Gone", (), {})())


def load_apart(data: Buffer, *buffers: Buffer) -> Any:
    return pickle.loads(data, buffers=buffers)


def load_class(whole: Buffer) -> Any:
    return load_apart(*pickle.loads(whole))


def import_module(name: str, submodules: Sequence[str]) -> types.ModuleType:
    module = importlib.import_module(name)
    for submodule in submodules:
        importlib.import_module(submodule)
    note_imports(submodules)
    return module


def make_function(code: types.CodeType, closure: tuple[types.CellType, ...] | None) -> types.FunctionType:
    return types.FunctionType(code, _namespace, code.co_name, None, closure)


def set_function_state(function: types.FunctionType, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    attributes, slots = state
    function.__dict__.update(attributes)
    for name, value in slots.items():
        if name not in ("__globals__", "__closure__", "_cloudpickle_submodules"):
            setattr(function, name, value)


def set_cell(cell: types.CellType, content: tuple[object]) -> None:
    (cell.cell_contents,) = content


former_names.find()
