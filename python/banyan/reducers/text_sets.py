"""How large sets of texts are pickled: in parts, so that only the parts that have changed are written again."""

from __future__ import annotations

import pickle
import weakref
from dataclasses import dataclass
from typing import Any

from banyan import _native
from banyan.reducers.reducer import Pickling

_PER_PART_BITS = 14  # About how many bits the number of texts in one part has.
_KEPT_MAX = 256 << 20  # At most so many bytes of parts are remembered, for all sets.


@dataclass(frozen=True, slots=True)
class _Known:
    """What a set was when it was last pickled.

    table: what _native.table_of_set returned.
    sums, parts: of each part; empty if the set has other elements than texts.
    """

    alive: weakref.ref[Any]
    table: bytes
    sums: tuple[bytes, ...]
    parts: tuple[bytes, ...]


_known: dict[int, _Known] = {}


def reduce_set(texts: Any, _pickling: Pickling) -> Any:
    if len(texts) < _native.LARGE_SET:
        return NotImplemented
    parts = _parts_of(texts)
    return (set_of_texts, (type(texts), *map(pickle.PickleBuffer, parts))) if parts else NotImplemented


def set_of_texts(kind: Any, *parts: Any) -> Any:
    texts: set[str] = set()
    for part in parts:
        texts.update(_native.texts_of_part(part))
    return texts if kind is set else kind(texts)


def _parts_of(texts: Any) -> tuple[bytes, ...]:
    table = _native.table_of_set(texts)
    known = _known.get(id(texts))
    if known is not None and known.alive() is not texts:
        known = None
    if known is not None and known.table == table:
        return known.parts
    bits = max((len(texts) - 1).bit_length() - _PER_PART_BITS, 0)
    before = known if known is not None and len(known.sums) == 1 << bits else None
    found = _native.parts_of_set(texts, bits, before.sums if before is not None else ()) or []
    sums = tuple(total for total, _ in found)
    parts = tuple(_written(part, before, at) for at, (_, part) in enumerate(found))
    _keep(texts, _Known(weakref.ref(texts, _forget(id(texts))), table, sums, parts))
    return parts


def _written(part: bytes | None, before: _Known | None, at: int) -> bytes:
    if part is not None:
        return part
    assert before is not None
    return before.parts[at]


def _keep(texts: Any, now: _Known) -> None:
    _known.pop(id(texts), None)
    _known[id(texts)] = now
    while sum(len(part) for known in _known.values() for part in known.parts) > _KEPT_MAX:
        del _known[next(iter(_known))]


def _forget(key: int) -> Any:
    def forget(reference: object) -> None:
        known = _known.get(key)
        if known is not None and known.alive is reference:
            del _known[key]

    return forget
