"""Memory that several arrays, tensors or blocks of frames share. It is pickled once, and they are
pickled as views of it.

What is shared is known only at the end of a pickling, when all objects have been met. If something is, everything is
pickled once more, with the shared memory given.
"""

from __future__ import annotations

import ctypes
import functools
import pickle
from collections.abc import Collection, Hashable, Sequence
from typing import Any

from banyan.reducers.sharing import Made

ARRAY, TENSOR, BLOCK = 0, 1, 2  # The numbers of _native.Pickle.owned.


class Memory:
    """What one pickling knows of memory."""

    def __init__(self, shared: Sequence[tuple[int, int, int]] = (), tenants: Collection[int] = ()) -> None:
        """What is known from an earlier pickling of the same values.

        shared: the memory to be pickled apart from what lies in it, as _native.Owned.shared_memory returns it.
        tenants: ids of the objects that lay in some memory.
        """
        self._ranges = shared
        self._tenants = tenants
        self.shared = [Region(*each) for each in shared]
        self._once: dict[Hashable, Any] = {}
        self.notes: list[tuple[int, int, int, int]] = []

    def afresh(self) -> Memory:
        """A Memory with the same shared memory, for another pickling."""
        return Memory(self._ranges, self._tenants)

    def note(self, obj: object, begin: int, end: int, tenant: int) -> None:
        """Note that the memory of `obj` is from `begin` to `end`."""
        if begin != end:
            self.notes.append((id(obj), begin, end, tenant))

    def region(self, begin: int, end: int) -> Region | None:
        """The shared memory that contains this range, if any."""
        return next((region for region in self.shared if region.begin <= begin and end <= region.end), None)

    def noted(self, obj: object) -> bool:
        """Whether the pickling that found out what is shared has noted the object."""
        return id(obj) in self._tenants

    def once(self, key: Hashable, made: Any) -> Any:
        """The first object that was made for a key, so that it is pickled once whatever refers to it."""
        return self._once.setdefault(key, made)


class Region(Made):
    """A piece of shared memory. It is loaded as an array of bytes, unless it is the memory of a bytearray.

    memory: the object that a pickle refers to: the bytearray, or this one.
    """

    def __init__(self, begin: int, end: int, lender: int) -> None:
        self.begin = begin
        self.end = end
        self.memory: object = ctypes.cast(lender, ctypes.py_object).value if lender else self

    def __reduce__(self) -> Any:
        return memory_over, (view(self.begin, self.end - self.begin),)


def view(address: int, size: int, owner: object = None) -> pickle.PickleBuffer:
    """The bytes at an address. `owner` is kept alive as long as they are."""
    data: Any = (ctypes.c_char * size).from_address(address)
    data.owner = owner
    return pickle.PickleBuffer(data)


def memory_over(buffer: Any) -> Any:
    import numpy

    size = memoryview(buffer).nbytes
    if not isinstance(buffer, bytearray):
        return numpy.ndarray.__new__(_lent(), (size,), numpy.uint8, buffer)
    # It is copied into memory of numpy, because views of one bytearray would be linked by it.
    copy = numpy.ndarray.__new__(_lent(), (size,), numpy.uint8)
    copy[:] = numpy.frombuffer(buffer, numpy.uint8)
    return copy


@functools.cache
def _lent() -> Any:
    """The type of loaded memory. It is a type of its own, so that what lies in such memory pickles as it did before."""
    import numpy

    return type("Lent", (numpy.ndarray,), {})


def extent(array: Any) -> tuple[int, int]:
    """The range of addresses in which the items of an array lie."""
    begin = end = array.__array_interface__["data"][0]
    if array.flags.forc:
        end += array.nbytes
    elif array.size:
        end += array.itemsize
        for length, stride in zip(array.shape, array.strides, strict=True):
            begin += min(0, (length - 1) * stride)
            end += max(0, (length - 1) * stride)
    return begin, end
