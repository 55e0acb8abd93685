"""Attributes that cells set on modules: `json.seen = seen`, or another function in place of a library's."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import sys
import types
from collections.abc import Iterable
from typing import Any

from banyan.serialise import dump, load

# Module and attribute.
Key = tuple[str, str]

# Equal ones may be one object by chance.
_NOBODYS = (int, float, complex, str, bytes, tuple, frozenset, type(None), types.ModuleType)


class Attributes:
    """Knows those that were set by `module.attribute = …` in a cell, and what was there before."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._before: dict[Key, Any] = {}
        self._set: dict[Key, str | None] = {}  # the variable that it is, too

    def expect(self, stores: Iterable[tuple[str, str]]) -> None:
        """A cell is about to run that assigns to these attributes of these names."""
        for key, module in self._modules(stores):
            if key not in self._set and key[1] in vars(module):
                self._before.setdefault(key, vars(module)[key[1]])

    def note(self, stores: Iterable[tuple[str, str]]) -> None:
        """The cell has run."""
        self._set |= {key: None for key, _ in self._modules(stores) if key not in self._set}

    def read(self) -> bytes | None:
        """All of them, pickled; None when there is none. Raises Unserialisable."""
        if not self._set:
            return None
        variables = {id(value): name for name, value in self._namespace.copy().items() if not name.startswith("_")}
        values: dict[Key, Any] = {}
        for key in self._set:
            with contextlib.suppress(KeyError):  # deleted, or its module
                value = vars(sys.modules[key[0]])[key[1]]
                name = None if isinstance(value, _NOBODYS) else variables.get(id(value))
                self._set[key] = name
                values[key] = (name, None) if name is not None else (None, value)
        pickled = dump({"attributes": values})
        return pickle.dumps((bytes(pickled.pickle), [bytes(buffer) for buffer in pickled.buffers]))

    def write(self, data: bytes | None) -> None:
        """Set them as they were read, and those that are not among them as they were before."""
        values: dict[Key, Any] = {}
        if data:
            data, buffers = pickle.loads(data)
            values = load(data, map(bytearray, buffers))["attributes"]
        for key in self._set.keys() - values.keys():
            self._put_back(key)
        self._set = {key: name for key, (name, _) in values.items()}
        for (module, attribute), (name, value) in values.items():
            if name is None:
                setattr(importlib.import_module(module), attribute, value)
        self.rebind()

    def rebind(self) -> None:
        """The variables have other objects now: so have the attributes that are variables."""
        for (module, attribute), name in self._set.items():
            if name is not None and name in self._namespace:
                setattr(importlib.import_module(module), attribute, self._namespace[name])

    def _put_back(self, key: Key) -> None:
        module = sys.modules.get(key[0])
        if module is None:
            return
        if key in self._before:
            setattr(module, key[1], self._before[key])
        else:
            vars(module).pop(key[1], None)

    def _modules(self, stores: Iterable[tuple[str, str]]) -> Iterable[tuple[Key, types.ModuleType]]:
        for name, attribute in stores:
            module = self._namespace.get(name)
            if isinstance(module, types.ModuleType) and sys.modules.get(module.__name__) is module:
                yield (module.__name__, attribute), module
