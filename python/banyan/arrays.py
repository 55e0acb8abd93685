"""How arrays and frames are pickled: views stay views, and what pandas shares only until a write is split.

Each reducer takes the object and a function that pickles a value apart from the rest (as bytes), and answers as
`reducer_override` does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Nested = Callable[[object], tuple[Any, ...]]
Reducer = Callable[[Any, Nested], Any]


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
    return found


def exact(kind: type) -> bool:
    """Whether a reducer is for this very type only: subclasses of ndarray know best how to pickle themselves."""
    return kind.__module__ == "numpy" and kind.__name__ == "ndarray"


def _reduce_array(array: Any, _nested: Nested) -> Any:
    root = _root(array)
    if root is None or root.size == 0 or not root.flags.forc or array.dtype.hasobject != root.dtype.hasobject:
        return NotImplemented
    if array.dtype.hasobject and array.dtype != root.dtype:
        return NotImplemented
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return view_of, (root, array.dtype, array.shape, offset, array.strides, array.flags.writeable)


def _root(array: Any) -> Any:
    """The array that holds the memory of a view; None when it is the array itself."""
    root = array
    base = root.base
    while base is not None:
        if type(base).__name__ == "DummyArray":  # what as_strided puts in between
            base = base.base
        if type(base) is not type(array):
            break
        root, base = base, base.base
    return None if root is array else root


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
