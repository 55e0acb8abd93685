"""How arrays and frames are pickled: views stay views, and what pandas shares only until a write is split."""

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

_SMALL = 1024  # bytes of an array that lie in the pickle itself
_PLAIN_KINDS = "biufcmMSUV"  # of dtypes: their items are bytes that mean the same anywhere
_FEW = 1024  # objects of an array that do so


def reducers() -> list[tuple[type, Reducer]]:
    """Types and their reducers, for the libraries imported by now; a type covers its subclasses, unless `exact`."""
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
    if root is not None and root.size == 0:  # nothing is in it to be shared
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
    """The same for the many small ones that have their own memory and are no part of any other, with less ado."""
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
    """How to pickle an array that lies in shared memory."""
    begin, end = extent(array)
    region = pickling.memory.region(begin, end)
    if region is None or array.dtype.hasobject:
        return None
    return view_of_bytes, (region.memory, array.dtype, array.shape, _address(array) - region.begin, *_form(array))


def _reduce_owner(array: Any) -> Any:
    """As numpy does, but so that the array that is loaded is no view either: it has to pickle as this one does."""
    if array.dtype.hasobject and (atoms := _reduce_atoms(array)) is not None:
        return atoms
    times = array.dtype.kind in "mM"  # which lend no buffer
    reduced = (array.view("i8") if times else array).__reduce_ex__(5)
    if array.dtype.hasobject:  # filled when it has its memory: what is in it may be a view of it
        order = "F" if array.flags.fnc else "C"
        return objects, (array.shape, array.dtype, order), (reduced[2], array.flags.writeable), None, None, fill
    if not reduced[1] or not isinstance(reduced[1][0], pickle.PickleBuffer):
        return array.__reduce_ex__(5) if times else reduced
    buffer, _, shape, order = reduced[1]
    if array.nbytes < _SMALL:
        return small_array, (array.tobytes(order), array.dtype, shape, order, array.flags.writeable)
    return array_over, (buffer, array.dtype, shape, order)


def _reduce_atoms(array: Any) -> Any:
    """How to pickle a large array of texts, numbers and None: without a look at what nobody wrote. None for others."""
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
    """The array that holds the memory of a view (None when it is the array itself), and what that one lies in."""
    root = array
    base = root.base
    while base is not None:
        if type(base).__name__ == "DummyArray":  # what as_strided puts in between
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
    """An array whose memory is the buffer. A read-only one may have views that are not."""
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
    """The view of `root`'s memory that begins `offset` bytes after it."""
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
    # Its __getstate__ draws a number: looking would be a change.
    reduced = registry.__reduce_ex__(5)
    registry._cid_gen = itertools.count(reduced[2]["_cid_gen"])
    return reduced


def _reduce_manager(manager: Any, pickling: Pickling) -> Any:
    # Frames that have an index in common are no link: only who refers to it otherwise is one.
    return type(manager), (manager.blocks, [_Apart(axis, pickling) for axis in manager.axes])


def _reduce_series_manager(manager: Any, pickling: Pickling) -> Any:
    return type(manager), (manager.blocks[0], _Apart(manager.axes[0], pickling))


def _reduce_block(block: Any, pickling: Pickling) -> Any:
    # Frames share memory until one of them writes (copy on write), and know so by weak references that pickling loses.
    # Their blocks are therefore pickled as if nothing were shared, but where an array or a tensor shares it too: then
    # they lie in it as before, and know of each other again. Not where another sharer would be missing: a write that
    # leaves the array alone would change it then.
    make, (values, placement, *rest) = block.__reduce__()
    # Copies have it in common, and nobody changes it.
    place = slice(placement.start, placement.stop, placement.step) if type(placement) is slice else placement.copy()
    numpy = sys.modules["numpy"]
    known = [reference() for reference in block.refs.referenced_blocks]
    others = [other for other in known if other is not None and other is not block]
    blocks = sys.modules["pandas.core.internals.blocks"].Block
    if (
        type(values) is numpy.ndarray
        and not values.dtype.hasobject
        and all(isinstance(other, blocks) for other in others)  # and no index
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
    """What blocks that lie in the same memory know of each other by: of none yet."""
    from pandas._libs.internals import BlockValuesRefs  # type: ignore[import-untyped]

    return BlockValuesRefs()


def block_over(values: Any, placement: Any, ndim: int, references: Any) -> Any:
    """A block that joins those of `references`."""
    from pandas._libs.internals import BlockPlacement
    from pandas.core.internals.blocks import new_block  # type: ignore[import-untyped]

    return new_block(values, BlockPlacement(placement), ndim=ndim, refs=references)


class _Reduced(Made):
    """Pickles as it was told. alive: what is to live as long."""

    def __init__(self, reduced: tuple[Any, ...], alive: object = None) -> None:
        self._reduced = reduced
        self._alive = alive

    def __reduce__(self) -> Any:
        return self._reduced


class _Apart(Made):
    """Pickles as its value, and is a new object each time: the pickler's memo does not see the value itself."""

    def __init__(self, value: Any, pickling: Pickling) -> None:
        self._value = value
        self._pickling = pickling

    def __reduce__(self) -> Any:
        numpy = sys.modules["numpy"]
        if type(self._value) is numpy.ndarray:
            return _reduce_atoms(self._value) or self._value.__reduce_ex__(5)
        return self._pickling.apart(self._value, parted=True)
