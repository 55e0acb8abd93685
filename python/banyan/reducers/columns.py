"""How pyarrow's arrays and tables are pickled: as pyarrow does it, but memory that they share with
others is shared again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from banyan.reducers.memory import BLOCK

if TYPE_CHECKING:
    from banyan.reducers.reducer import Pickling, Reducer


def reducers(arrow: Any) -> list[tuple[type, Reducer]]:
    kinds = (arrow.Array, arrow.ChunkedArray, arrow.RecordBatch, arrow.Table)
    return [*((kind, _note) for kind in kinds), (arrow.Buffer, _reduce_buffer)]


def _note(value: Any, pickling: Pickling) -> Any:
    for buffer in _buffers(value):
        if buffer is not None and buffer.is_cpu and buffer.is_mutable:
            pickling.memory.note(value, buffer.address, buffer.address + buffer.size, BLOCK)
    return NotImplemented


def _buffers(value: Any) -> Iterator[Any]:
    if hasattr(value, "buffers"):
        yield from value.buffers()
        return
    for part in value.chunks if hasattr(value, "chunks") else value.columns:
        yield from _buffers(part)


def _reduce_buffer(buffer: Any, pickling: Pickling) -> Any:
    region = pickling.memory.region(buffer.address, buffer.address + buffer.size)
    if region is None or not buffer.is_mutable:
        return NotImplemented
    return buffer_over, (region.memory, buffer.address - region.begin, buffer.size)


def buffer_over(memory: Any, offset: int, size: int) -> Any:
    import pyarrow  # type: ignore[import-not-found]

    return pyarrow.py_buffer(memoryview(memory)[offset : offset + size])
