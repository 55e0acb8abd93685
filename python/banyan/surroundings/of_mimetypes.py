"""What cells add to the mimetypes module, beside what it knows by itself and reads from the host's files."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from banyan.surroundings.part import Part

# The dicts of the module, by the ending of a file: standard types, other types, what an ending stands for, and
# encodings. The first two say whether they are strict.
_STRICT = {"types_map": True, "common_types": False}
_DICTS = (*_STRICT, "suffix_map", "encodings_map")

_of_module = operator.attrgetter(*_DICTS)

_Dicts = dict[str, dict[str, str]]


def _module() -> Any:
    return sys.modules["mimetypes"]


def _now() -> _Dicts:
    return {name: dict(each) for name, each in zip(_DICTS, _of_module(_module()), strict=True)}


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """The items that differ; None for one that is gone."""
    yield from ((end, value) for end, value in now.items() if before.get(end) != value)
    yield from ((end, None) for end in before if end not in now)


class _Types:
    """Types and endings that differ from those of a fresh process."""

    def __init__(self) -> None:
        # The dicts when they were first seen, which is before any cell if the kernel has imported the module.
        self._first: _Dicts = _now() if "mimetypes" in sys.modules else {}
        self._own = self._first
        self._reads_files = bool(self._first) and _module().inited  # Whether `_own` has what the host's files say.
        self._seen: list[dict[str, str]] = []
        self._times = 0

    def glance(self) -> Any:
        """How often the dicts had changed at a glance. Comparing them is cheaper than copying them."""
        now = list(_of_module(_module()))
        if now != self._seen:
            self._seen = [dict(each) for each in now]
            self._times += 1
        return self._times

    def read(self) -> dict[str, dict[str, str | None]]:
        now = _now()
        if not self._first:
            self._first = self._own = now
        if _module().inited and not self._reads_files:
            self._own, self._reads_files = self._of_a_fresh_process(), True
        found = {name: dict(_differences(self._own[name], now[name])) for name in _DICTS}
        return {name: changed for name, changed in found.items() if changed}

    def write(self, wanted: Mapping[str, Mapping[str, str | None]]) -> None:
        import mimetypes

        self.read()
        if wanted and not mimetypes.inited:
            mimetypes.init()
        for name, changed in self.read().items():
            for end in changed.keys() - wanted.get(name, {}).keys():
                _take_back(name, end, self._own[name].get(end))
        for name, changes in wanted.items():
            for end, value in changes.items():
                if value is None:
                    _take_back(name, end, None)
                elif name in _STRICT:
                    mimetypes.add_type(value, end, _STRICT[name])
                else:
                    getattr(mimetypes, name)[end] = value

    def _of_a_fresh_process(self) -> _Dicts:
        module = _module()
        fresh = module.MimeTypes()
        for file in filter(os.path.isfile, module.knownfiles):
            fresh.read(file)
        own = {name: dict(fresh.types_map[strict]) for name, strict in _STRICT.items()}
        own |= {"suffix_map": dict(fresh.suffix_map), "encodings_map": dict(fresh.encodings_map)}
        # A fresh object begins with what cells have set before, which is undone here.
        for name, first in self._first.items():
            for end, value in _differences(getattr(module, f"_{name}_default", first), first):
                if value is None:
                    own[name].pop(end, None)
                else:
                    own[name][end] = value
        return own


def _take_back(name: str, end: str, own: str | None) -> None:
    items = getattr(_module(), name)
    known = items.pop(end, None)
    if own is not None:
        items[end] = own
    if name in _STRICT and _module().inited:
        ends = _module()._db.types_map_inv[_STRICT[name]].get(known, [])
        if end in ends and known != own:
            ends.remove(end)


def parts() -> list[Part]:
    types = _Types()
    about = "types of files that cells add to the mimetypes module"
    return [Part("<mimetypes>", about, types.read, types.write, types.glance, needs="mimetypes", first={})]
