"""Classes of the user's that were registered with abstract base classes of libraries: `Sequence.register(Mine)`."""

from __future__ import annotations

import abc
import importlib
from collections.abc import Iterator
from typing import Any

from banyan.surroundings.hooks import is_users
from banyan.surroundings.part import Part, Resists

# Only this private module of CPython tells what was registered.
_abc: Any = importlib.import_module("_abc")


class _Registered:
    def __init__(self) -> None:
        self._token = abc.get_cache_token()
        self._found: dict[str, tuple[Any, Any]] = {}

    def read(self) -> dict[str, tuple[Any, Any]]:
        """The token changes with every registration, also with those that imports make."""
        if abc.get_cache_token() != self._token:
            self._token = abc.get_cache_token()
            self._found = {
                f"{_name_of(base)}, {_name_of(kind)}": (base, kind)
                for base in _bases()
                for kind in _registered_with(base)
                if is_users(kind)
            }
        return self._found

    def write(self, wanted: dict[str, tuple[Any, Any]]) -> None:
        reasons = {}
        bases = {id(base): base for base, _ in [*self.read().values(), *wanted.values()]}
        for base in bases.values():
            libraries = [kind for kind in _registered_with(base) if not is_users(kind)]
            _abc._reset_registry(base)
            for kind in libraries:
                base.register(kind)
        for base in _bases():
            _abc._reset_caches(base)
        for key, (base, kind) in wanted.items():
            try:
                base.register(kind)
            except Exception as error:
                reasons[key] = str(error)
        if reasons:
            raise Resists(reasons)


def _bases() -> Iterator[Any]:
    """The abstract base classes of libraries."""
    met: set[int] = set()
    waiting: list[Any] = [each for each in type.__subclasses__(object) if isinstance(each, abc.ABCMeta)]
    while waiting:
        base = waiting.pop()
        if id(base) not in met:
            met.add(id(base))
            waiting += type.__subclasses__(base)
            if isinstance(base, abc.ABCMeta) and not is_users(base):
                yield base


def _registered_with(base: Any) -> list[Any]:
    found = (reference() for reference in _abc._get_dump(base)[0])
    return [kind for kind in found if kind is not None]


def _name_of(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def parts() -> list[Part]:
    registered = _Registered()
    about = "the user's classes that were registered with abstract base classes of libraries"
    return [Part("<abc>", about, registered.read, registered.write, holds=True)]
