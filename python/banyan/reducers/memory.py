"""Memory that arrays, tensors and blocks of frames lie in together. It is pickled once, and they as views of it.

Which memory that is shows only at the end of a pickling, when all was met that lies somewhere: then it is done again.
"""

from __future__ import annotations

import ctypes
import functools
import pickle
from collections.abc import Collection, Hashable, Sequence
from typing import Any

from banyan.reducers.sharing import Made

ARRAY, TENSOR, BLOCK = 0, 1, 2  # as _native.Owned has it


class Memory:
    """What one pickling knows of it."""

    def __init__(self, shared: Sequence[tuple[int, int, int]] = (), tenants: Collection[int] = ()) -> None:
        """shared: what is to be pickled apart from what lies in it, as _native.Owned says; tenants: who was noted."""
        self._ranges = shared
        self._tenants = tenants
        self.shared = [Region(*each) for each in shared]
        self._once: dict[Hashable, Any] = {}
        self.notes: list[tuple[int, int, int, int]] = []

    def afresh(self) -> Memory:
        """The same shared memory, and nothing known of what lies in it."""
        return Memory(self._ranges, self._tenants)

    def note(self, obj: object, begin: int, end: int, tenant: int) -> None:
        """`obj` lies there."""
        if begin != end:
            self.notes.append((id(obj), begin, end, tenant))

    def region(self, begin: int, end: int) -> Region | None:
        """The shared memory that this is a part of."""
        return next((region for region in self.shared if region.begin <= begin and end <= region.end), None)

    def noted(self, obj: object) -> bool:
        """Whether it was, by the pickling that found out what is shared."""
        return id(obj) in self._tenants

    def once(self, key: Hashable, made: Any) -> Any:
        """The first that was made for this key: pickled once, whatever refers to it."""
        return self._once.setdefault(key, made)


class Region(Made):
    """Comes back as an array of bytes, where its memory is not that of a bytearray.

    memory: what to refer to in a pickle.
    """

    def __init__(self, begin: int, end: int, lender: int) -> None:
        self.begin = begin
        self.end = end
        self.memory: object = ctypes.cast(lender, ctypes.py_object).value if lender else self

    def __reduce__(self) -> Any:
        return memory_over, (view(self.begin, self.end - self.begin),)


def view(address: int, size: int, owner: object = None) -> pickle.PickleBuffer:
    """The bytes that lie there; `owner` lives as long."""
    data: Any = (ctypes.c_char * size).from_address(address)
    data.owner = owner
    return pickle.PickleBuffer(data)


def memory_over(buffer: Any) -> Any:
    import numpy

    size = memoryview(buffer).nbytes
    if not isinstance(buffer, bytearray):
        return numpy.ndarray.__new__(_lent(), (size,), numpy.uint8, buffer)
    copy = numpy.ndarray.__new__(_lent(), (size,), numpy.uint8)  # a bytearray would be what links its views
    copy[:] = numpy.frombuffer(buffer, numpy.uint8)
    return copy


@functools.cache
def _lent() -> Any:
    """The type of memory that was loaded: nobody's array, so that what lies in it pickles as it did."""
    import numpy

    return type("Lent", (numpy.ndarray,), {})


def extent(array: Any) -> tuple[int, int]:
    """Where the items of an array lie."""
    begin = end = array.__array_interface__["data"][0]
    if array.flags.forc:
        end += array.nbytes
    elif array.size:
        end += array.itemsize
        for length, stride in zip(array.shape, array.strides, strict=True):
            begin += min(0, (length - 1) * stride)
            end += max(0, (length - 1) * stride)
    return begin, end
