"""How arrays and frames are pickled: views stay views, and memory that pandas shares until a write is split up."""

from __future__ import annotations

import itertools
import pickle
import sys
from typing import Any

from banyan import _native
from banyan.reducers import columns, tensors
from banyan.reducers.memory import ARRAY, BLOCK, extent
from banyan.reducers.reducer import Pickling, Reducer
from banyan.reducers.sharing import Made

_SMALL = 1024  # Arrays of fewer bytes lie in the pickle itself.
_PLAIN_KINDS = "biufcmMSUV"  # Kinds of dtypes whose items are bytes that mean the same in every process.
_FEW = 1024  # Arrays of fewer objects lie in the pickle itself.


def reducers() -> list[tuple[type, Reducer]]:
    """Types and their reducers for the libraries that are imported. A type covers its subclasses,
    unless it is `exact`.
    """
    found: list[tuple[type, Reducer]] = []
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "ndarray"):
        found.append((numpy.ndarray, reduce_array))
    pandas = sys.modules.get("pandas")
    if pandas is not None and hasattr(pandas, "Index"):
        found.append((pandas.Index, _reduce_apart))
        found.append((pandas.api.extensions.ExtensionDtype, _reduce_apart))
        internals = sys.modules.get("pandas.core.internals.managers")
        if internals is not None and int(pandas.__version__.partition(".")[0]) >= 3:
            found.append((internals.SingleBlockManager, _reduce_series_manager))
            found.append((internals.BlockManager, _reduce_manager))
            found.append((sys.modules["pandas.core.internals.blocks"].Block, _reduce_block))
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(getattr(torch, "storage", None), "UntypedStorage"):
        found += tensors.reducers(torch)
    arrow: Any = sys.modules.get("pyarrow.lib")
    if arrow is not None and hasattr(arrow, "Table"):
        found += columns.reducers(arrow)
    cbook: Any = sys.modules.get("matplotlib.cbook")
    if cbook is not None and hasattr(cbook, "CallbackRegistry"):
        found.append((cbook.CallbackRegistry, _reduce_callbacks))
    return found


def exact(kind: type) -> bool:
    """Whether a reducer is for this very type only: subclasses of ndarray know best how to pickle themselves."""
    return kind.__module__ == "numpy" and kind.__name__ == "ndarray"


def reduce_array(array: Any, pickling: Pickling) -> Any:
    if pickling.parted:
        return _reduce_owner(array)
    if array.base is None and array.nbytes < _SMALL and not pickling.memory.shared:
        small = _reduce_small(array, pickling)
        if small is not None:
            return small
    if pickling.memory.shared and (shared := _view_of_shared(array, pickling)) is not None:
        return shared
    root, base = _root(array)
    if isinstance(base, bytearray) and not array.dtype.hasobject:
        return view_of_bytes, (base, array.dtype, array.shape, _address(array) - _address(base), *_form(array))
    if root is not None and root.size == 0:  # Nothing is in it that could be shared.
        return _reduce_owner(array)
    if root is None:
        if array.flags.writeable and not array.dtype.hasobject:
            pickling.memory.note(array, *extent(array), ARRAY)
        return _reduce_owner(array)
    if not root.flags.forc or array.dtype.hasobject != root.dtype.hasobject:
        return NotImplemented
    if array.dtype.hasobject and array.dtype != root.dtype:
        return NotImplemented
    return view_of, (root, array.dtype, array.shape, _address(array) - _address(root), *_form(array))


def _reduce_small(array: Any, pickling: Pickling) -> Any:
    """A quicker way for the many small arrays that own their memory and share it with nothing. None for others."""
    dtype, flags = array.dtype, array.flags
    if dtype.kind not in _PLAIN_KINDS or dtype.hasobject or not flags.forc:
        return None
    writeable = flags.writeable
    if writeable:
        begin = array.__array_interface__["data"][0]
        pickling.memory.note(array, begin, begin + array.nbytes, ARRAY)
    order = "F" if flags.fnc else "C"
    return small_array, (array.tobytes(order), dtype, array.shape, order, writeable)


def _view_of_shared(array: Any, pickling: Pickling) -> Any:
    """How to pickle an array that lies in shared memory. None if it does not."""
    begin, end = extent(array)
    region = pickling.memory.region(begin, end)
    if region is None or array.dtype.hasobject:
        return None
    return view_of_bytes, (region.memory, array.dtype, array.shape, _address(array) - region.begin, *_form(array))


def _reduce_owner(array: Any) -> Any:
    """Pickle an array with memory of its own as numpy does, but so that the loaded array is no view either.

    Otherwise it would have another pickle when it is pickled again.
    """
    if array.dtype.hasobject and (atoms := _reduce_atoms(array)) is not None:
        return atoms
    times = array.dtype.kind in "mM"  # Arrays of times lend no buffer.
    reduced = (array.view("i8") if times else array).__reduce_ex__(5)
    # The content is filled in once the array exists, because it may contain a view of the array.
    if array.dtype.hasobject:
        order = "F" if array.flags.fnc else "C"
        return objects, (array.shape, array.dtype, order), (reduced[2], array.flags.writeable), None, None, fill
    if not reduced[1] or not isinstance(reduced[1][0], pickle.PickleBuffer):
        return array.__reduce_ex__(5) if times else reduced
    buffer, _, shape, order = reduced[1]
    if array.nbytes < _SMALL:
        return small_array, (array.tobytes(order), array.dtype, shape, order, array.flags.writeable)
    return array_over, (buffer, array.dtype, shape, order)


def _reduce_atoms(array: Any) -> Any:
    """How to pickle a large array of texts, numbers and None, without reading again what nobody
    wrote. None for others.
    """
    if array.dtype.kind != "O" or array.dtype.metadata or array.size < _FEW:
        return None
    if not array.flags.forc and array.ndim != 1:
        return None
    atoms = _native.atoms(array)
    return atoms and (array_of_atoms, (atoms, array.shape, "F" if array.flags.fnc else "C", array.flags.writeable))


def _address(memory: Any) -> int:
    if isinstance(memory, bytearray):
        memory = sys.modules["numpy"].frombuffer(memory, "u1")
    address: int = memory.__array_interface__["data"][0]
    return address


def _form(array: Any) -> tuple[tuple[int, ...], bool]:
    return array.strides, array.flags.writeable


def _root(array: Any) -> tuple[Any, Any]:
    """The array that owns the memory of a view (None if that is the array itself), and the object that this
    one's memory lies in.
    """
    root = array
    base = root.base
    while base is not None:
        if type(base).__name__ == "DummyArray":  # as_strided puts such an object in between.
            base = base.base
        if type(base) is not type(array):
            break
        root, base = base, base.base
    if isinstance(base, memoryview):
        base = base.obj
    return None if root is array else root, base


def small_array(data: bytes, dtype: Any, shape: tuple[int, ...], order: Any, writeable: bool) -> Any:
    import numpy

    array = numpy.ndarray(shape, dtype, data, order=order).copy(order)
    array.flags.writeable = writeable
    return array


def objects(shape: tuple[int, ...], dtype: Any, order: Any) -> Any:
    import numpy

    return numpy.empty(shape, dtype, order)


def fill(array: Any, state: tuple[Any, bool]) -> None:
    import numpy

    content, writeable = state
    filled = numpy.empty(0, array.dtype)
    filled.__setstate__(content)
    array[...] = filled
    array.flags.writeable = writeable


def array_of_atoms(data: Any, shape: tuple[int, ...], order: Any, writeable: bool) -> Any:
    import numpy

    array = numpy.empty(shape, object, order)
    _native.fill_atoms(array, data if isinstance(data, list) else [data])
    array.flags.writeable = writeable
    return array


def array_over(buffer: Any, dtype: Any, shape: tuple[int, ...], order: Any) -> Any:
    """An array whose memory is the buffer. A view of it may be writable even if the array itself is read-only."""
    import numpy

    if not isinstance(buffer, memoryview) or not buffer.readonly:
        return numpy.ndarray(shape, dtype, buffer, order=order)
    memory: Any = buffer.obj
    array = numpy.ndarray(shape, dtype, memory, order=order)
    array.flags.writeable = False
    return array


def view_of_bytes(
    data: Any, dtype: Any, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], writeable: bool
) -> Any:
    import numpy

    # Only frombuffer keeps a bytearray from moving its bytes: ndarray itself holds the object, but not its buffer.
    view = numpy.ndarray(shape, dtype, numpy.frombuffer(data, "u1"), offset, strides)
    if not writeable:
        view.flags.writeable = False
    return view


def view_of(
    root: Any, dtype: Any, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], writeable: bool
) -> Any:
    """The view that begins `offset` bytes after the beginning of `root`'s memory."""
    import numpy

    read_only = writeable and not root.flags.writeable
    if read_only:
        root.flags.writeable = True
    flat = root.ravel(order="K")
    view: Any
    if dtype.hasobject:
        view = numpy.lib.stride_tricks.as_strided(flat[offset // flat.itemsize :], shape, strides)
    else:
        view = numpy.ndarray(shape, dtype, flat.view(numpy.uint8), offset, strides)
    if read_only:
        root.flags.writeable = False
    if not writeable:
        view.flags.writeable = False
    return view


def _reduce_apart(obj: Any, pickling: Pickling) -> Any:
    return pickling.apart(obj, parted=True)


def _reduce_callbacks(registry: Any, _pickling: Pickling) -> Any:
    # Its __getstate__ draws a number from the iterator, so looking at the object would change it.
    reduced = registry.__reduce_ex__(5)
    registry._cid_gen = itertools.count(reduced[2]["_cid_gen"])
    return reduced


def _reduce_manager(manager: Any, pickling: Pickling) -> Any:
    # Frames that have an index in common are not linked by it, so each frame's pickle has its own copy.
    return type(manager), (manager.blocks, [_Apart(axis, pickling) for axis in manager.axes])


def _reduce_series_manager(manager: Any, pickling: Pickling) -> Any:
    return type(manager), (manager.blocks[0], _Apart(manager.axes[0], pickling))


def _reduce_block(block: Any, pickling: Pickling) -> Any:
    # Frames share memory until one of them writes (copy on write), which pandas knows by weak references that pickling
    # loses. Their blocks are therefore pickled as if nothing were shared. An exception is memory that an array or a
    # tensor shares as well: then the blocks lie in it again when they are loaded, and know of each other. That is done
    # only if no other sharer would be missing, because then a write that leaves the array alone would change it.
    make, (values, placement, *rest) = block.__reduce__()
    # Copies of a frame have the placement in common, and nobody changes it.
    place = slice(placement.start, placement.stop, placement.step) if type(placement) is slice else placement.copy()
    numpy = sys.modules["numpy"]
    known = [reference() for reference in block.refs.referenced_blocks]
    others = [other for other in known if other is not None and other is not block]
    blocks = sys.modules["pandas.core.internals.blocks"].Block
    if (
        type(values) is numpy.ndarray
        and not values.dtype.hasobject
        and all(isinstance(other, blocks) for other in others)  # And no index is among them.
    ):
        root, _ = _root(values)
        pickling.memory.note(block, *extent(values if root is None else root), BLOCK)
        shared = _view_of_shared(values, pickling)
        if shared is not None and all(map(pickling.memory.noted, others)):
            key = "references", id(block.refs)
            references = pickling.memory.once(key, _Reduced((references_of_blocks, ()), alive=block.refs))
            return block_over, (_Reduced(shared), place, *rest, references)
    return make, (_Apart(values, pickling), place, *rest)


def references_of_blocks() -> Any:
    """The object by which blocks in the same memory know of each other. It is empty at first."""
    from pandas._libs.internals import BlockValuesRefs  # type: ignore[import-untyped]

    return BlockValuesRefs()


def block_over(values: Any, placement: Any, ndim: int, references: Any) -> Any:
    """A block that shares its memory with those in `references`."""
    from pandas._libs.internals import BlockPlacement
    from pandas.core.internals.blocks import new_block  # type: ignore[import-untyped]

    return new_block(values, BlockPlacement(placement), ndim=ndim, refs=references)


class _Reduced(Made):
    """Pickles as the tuple that it was given. alive: an object to be kept alive as long as this one."""

    def __init__(self, reduced: tuple[Any, ...], alive: object = None) -> None:
        self._reduced = reduced
        self._alive = alive

    def __reduce__(self) -> Any:
        return self._reduced


class _Apart(Made):
    """Pickles as its value, but is a new object each time, so that the pickler's memo does not see the value itself."""

    def __init__(self, value: Any, pickling: Pickling) -> None:
        self._value = value
        self._pickling = pickling

    def __reduce__(self) -> Any:
        numpy = sys.modules["numpy"]
        if type(self._value) is numpy.ndarray:
            return _reduce_atoms(self._value) or self._value.__reduce_ex__(5)
        return self._pickling.apart(self._value, parted=True)
