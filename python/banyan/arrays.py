"""How arrays and frames are pickled: views stay views, and what pandas shares only until a write is split.

Each reducer takes the object and a function that pickles a value apart from the rest (as bytes), and answers as
`reducer_override` does.
"""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Callable
from typing import Any

Nested = Callable[[object], tuple[Any, ...]]
Reducer = Callable[[Any, Nested], Any]

_SMALL = 1024  # bytes of an array that lie in the pickle itself


def reducers() -> list[tuple[type, Reducer]]:
    """Types and their reducers, for the libraries imported by now; a type covers its subclasses, unless `exact`."""
    found: list[tuple[type, Reducer]] = []
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "ndarray"):
        found.append((numpy.ndarray, _reduce_array))
    pandas = sys.modules.get("pandas")
    if pandas is not None and hasattr(pandas, "Index"):
        found.append((pandas.Index, _reduce_apart))
        found.append((pandas.api.extensions.ExtensionDtype, _reduce_apart))
        internals = sys.modules.get("pandas.core.internals.managers")
        if internals is not None and int(pandas.__version__.partition(".")[0]) >= 3:
            found.append((internals.SingleBlockManager, _reduce_series_manager))
            found.append((sys.modules["pandas.core.internals.blocks"].Block, _reduce_block))
    cbook: Any = sys.modules.get("matplotlib.cbook")
    if cbook is not None and hasattr(cbook, "CallbackRegistry"):
        found.append((cbook.CallbackRegistry, _reduce_callbacks))
    return found


def exact(kind: type) -> bool:
    """Whether a reducer is for this very type only: subclasses of ndarray know best how to pickle themselves."""
    return kind.__module__ == "numpy" and kind.__name__ == "ndarray"


def _reduce_array(array: Any, _nested: Nested) -> Any:
    root, base = _root(array)
    if isinstance(base, bytearray) and not array.dtype.hasobject:
        return view_of_bytes, (base, array.dtype, array.shape, _address(array) - _address(base), *_form(array))
    if root is None:
        return _reduce_owner(array)
    if root.size == 0 or not root.flags.forc or array.dtype.hasobject != root.dtype.hasobject:
        return NotImplemented
    if array.dtype.hasobject and array.dtype != root.dtype:
        return NotImplemented
    return view_of, (root, array.dtype, array.shape, _address(array) - _address(root), *_form(array))


def _reduce_owner(array: Any) -> Any:
    """As numpy does, but so that the array that is loaded is no view either: it has to pickle as this one does."""
    reduced = array.__reduce_ex__(5)
    if not reduced[1] or not isinstance(reduced[1][0], pickle.PickleBuffer):
        return reduced
    buffer, dtype, shape, order = reduced[1]
    if array.nbytes < _SMALL:
        return small_array, (array.tobytes(order), dtype, shape, order, array.flags.writeable)
    return array_over, (buffer, dtype, shape, order)


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


def array_over(buffer: Any, dtype: Any, shape: tuple[int, ...], order: Any) -> Any:
    """An array whose memory is the buffer."""
    import numpy

    return numpy.ndarray(shape, dtype, buffer, order=order)


def view_of_bytes(
    data: bytearray, dtype: Any, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], writeable: bool
) -> Any:
    import numpy

    view = numpy.ndarray(shape, dtype, data, offset, strides)
    if not writeable:
        view.flags.writeable = False
    return view


def view_of(
    root: Any, dtype: Any, shape: tuple[int, ...], offset: int, strides: tuple[int, ...], writeable: bool
) -> Any:
    """The view of `root`'s memory that begins `offset` bytes after it."""
    import numpy

    flat = root.ravel(order="K")
    view: Any
    if dtype.hasobject:
        view = numpy.lib.stride_tricks.as_strided(flat[offset // flat.itemsize :], shape, strides)
    else:
        view = numpy.ndarray(shape, dtype, flat.view(numpy.uint8), offset, strides)
    if not writeable:
        view.flags.writeable = False
    return view


def _reduce_apart(obj: Any, nested: Nested) -> Any:
    return nested(obj)


def _reduce_callbacks(registry: Any, _nested: Nested) -> Any:
    # Its __getstate__ draws a number: looking would be a change.
    reduced = registry.__reduce_ex__(5)
    registry._cid_gen = itertools.count(reduced[2]["_cid_gen"])
    return reduced


def _reduce_series_manager(manager: Any, _nested: Nested) -> Any:
    return type(manager), (manager.blocks[0], manager.axes[0])


def _reduce_block(block: Any, nested: Nested) -> Any:
    # Frames share memory until one of them writes (copy on write), and know so by weak references that pickling loses.
    # Their blocks are therefore pickled as if nothing were shared.
    make, arguments = block.__reduce__()
    return make, (_Apart(arguments[0], nested), *arguments[1:])


class _Apart:
    """Pickles as its value, and is a new object each time: the pickler's memo does not see the value itself."""

    def __init__(self, value: Any, nested: Nested) -> None:
        self._value = value
        self._nested = nested

    def __reduce__(self) -> Any:
        numpy = sys.modules["numpy"]
        if type(self._value) is numpy.ndarray:
            return self._value.__reduce_ex__(5)
        return self._nested(self._value)
