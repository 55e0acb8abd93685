"""Attributes that cells set on modules: `json.seen = seen`, or another function in the place of a library's.

`machine.py` keeps them as the part `<modules>`. An attribute that is also a variable is stored as the variable's name,
any other one as a pickle of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from banyan.process.say import say
from banyan.state import own
from banyan.state.serialise import Block, Pickled, Unserialisable, dump, load
from banyan.surroundings.hooks import ATTRIBUTES

# Module and attribute.
Key = tuple[str, str]

_ABSENT = object()

# Two equal values of these types may be one object by chance, so such a value is never taken for a variable.
_NOBODYS = (int, float, complex, str, bytes, tuple, frozenset, type(None), types.ModuleType)
# Attributes of these modules belong to the process or to another part.
_NOT_OF = frozenset({"builtins", "__main__"})
_OF_SYS = """
    argv displayhook dont_write_bytecode excepthook exit flags last_exc last_traceback last_type last_value meta_path
    modules path path_hooks path_importer_cache tracebacklimit warnoptions
"""
_NOT_THESE = ATTRIBUTES | {("logging", "raiseExceptions")} | {("sys", name) for name in _OF_SYS.split()}


class Attributes:
    """The attributes that cells set by `module.attribute = …`, and what was there before, where that is known."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._before: dict[Key, Any] = {}
        self._set: dict[Key, str | None] = {}  # By attribute: the variable that has the same value, if there is one.
        self._told: set[Key] = set()

    def expect(self, stores: Iterable[tuple[str, str]]) -> None:
        """A cell is about to run that assigns to these attributes of these names."""
        for key in self._keys(stores):
            if key not in self._set:
                self._see(key)

    def note(self, stores: Iterable[tuple[str, str]]) -> None:
        """The cell that assigns to these attributes has run."""
        self._set |= {key: None for key in self._keys(stores) if key not in self._set}

    def has(self, module: str, attribute: str) -> bool:
        return (module, attribute) in self._set

    def glance(self) -> dict[Key, str | tuple[tuple[Block, ...], ...] | None]:
        """By attribute: the variable that it is, or the blocks of its pickle; None for one that was deleted."""
        return {key: pickled.parts if isinstance(pickled, Pickled) else pickled for key, pickled in self._pickled()}

    def read(self) -> dict[Key, tuple[str | None, bytes | None]] | None:
        """By attribute: the variable that it is, or its pickle; neither where it was deleted. None when no
        cell has set one.
        """
        if not self._set:
            return None
        return {
            key: (None, whole_of(pickled)) if isinstance(pickled, Pickled) else (pickled, None)
            for key, pickled in self._pickled()
        }

    def write(self, wanted: dict[Key, tuple[str | None, bytes | None]] | None) -> None:
        """Set the attributes as they were read, and all others as they were before cells set them. Raises ValueError
        with those that fail.
        """
        values = wanted or {}
        for key in self._set.keys() - values.keys():
            if key in self._before:
                self._put(key, self._before[key])
        self._set = {key: name for key, (name, _) in values.items()}
        failed = []
        for key, (name, data) in values.items():
            try:
                self._see(key)
                if name is None:
                    self._put(key, _ABSENT if data is None else loaded(data))
            except Exception as error:
                failed.append(f"{'.'.join(key)}: {error}")
        if failed:
            raise ValueError("; ".join(failed))

    def rebind(self) -> None:
        """Set the attributes that are variables to what those variables are now."""
        for key, name in self._set.items():
            if name is not None and name in self._namespace:
                with contextlib.suppress(Exception):  # The module cannot be imported here, which `write` has reported.
                    self._put(key, self._namespace[name])

    def _pickled(self) -> Iterator[tuple[Key, Pickled | str | None]]:
        if not self._set:
            return  # No attribute was set, so the variables need not be looked through.
        variables = {id(value): name for name, value in self._namespace.copy().items() if not name.startswith("_")}
        for key in list(self._set):
            module = sys.modules.get(key[0])
            value = _ABSENT if module is None else vars(module).get(key[1], _ABSENT)
            name = None if isinstance(value, _NOBODYS) else variables.get(id(value))
            self._set[key] = name
            if name is not None or value is _ABSENT:
                yield key, name
                continue
            try:
                yield key, dump({"value": value})
            except Unserialisable as error:
                if key not in self._told:
                    self._told.add(key)
                    say(f"{'.'.join(key)} is not kept: {error}")

    def _see(self, key: Key) -> None:
        if key not in self._before:
            self._before[key] = vars(importlib.import_module(key[0])).get(key[1], _ABSENT)

    def _put(self, key: Key, value: object) -> None:
        module = importlib.import_module(key[0])
        if value is _ABSENT:
            vars(module).pop(key[1], None)
        else:
            setattr(module, key[1], value)

    def _keys(self, stores: Iterable[tuple[str, str]]) -> Iterable[Key]:
        for name, attribute in stores:
            module = self._namespace.get(name)
            if not isinstance(module, types.ModuleType) or module.__name__ in _NOT_OF or own.is_own(module):
                continue
            if sys.modules.get(module.__name__) is module and (module.__name__, attribute) not in _NOT_THESE:
                yield module.__name__, attribute


def whole(value: Any) -> bytes:
    """The value as bytes, pickled apart from everything else. Raises Unserialisable."""
    return whole_of(dump({"value": value}))


def whole_of(pickled: Pickled) -> bytes:
    assert isinstance(pickled.pickle, memoryview)  # Without a spool the pickle is in memory.
    return pickle.dumps((bytes(pickled.pickle), [bytes(buffer) for buffer in pickled.buffers]))


def loaded(data: bytes) -> Any:
    stream, buffers = pickle.loads(data)
    return load(stream, map(bytearray, buffers))["value"]
