"""Libraries that workers have imported, for the zygote of workers that show variables, which imports them first."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Collection, Iterable

_MODULE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)?\Z")
_MODULES_MAX = 500  # in one frame

# Names of their packages; a zygote sets them before it forks.
libraries: frozenset[str] = frozenset()


class Imported:
    """Knows which of them this process has, and which it has told. Made in a worker before user code runs."""

    def __init__(self) -> None:
        self._seen = len(sys.modules)
        self._told = set(sys.modules)

    def news(self) -> list[str]:
        """Packages and their direct parts, in the order of their import; since the last call."""
        if len(sys.modules) == self._seen:
            return []
        self._seen = len(sys.modules)
        names = [name for name in list(sys.modules) if name not in self._told and is_of_library(name)][:_MODULES_MAX]
        self._told.update(names)
        return names


def is_of_library(name: object) -> bool:
    """What is private to a library, it imports by itself."""
    return isinstance(name, str) and _MODULE.match(name) is not None and name.partition(".")[0] in libraries


def import_ahead(modules: Iterable[object], known: Collection[str]) -> None:
    """Import those of them that are of the libraries; what does not import here is left to the cells."""
    for name in modules:
        if isinstance(name, str) and is_of_library(name) and name not in known:
            try:
                importlib.import_module(name)
            except Exception as error:
                print(f"zygote: cannot import {name} ahead: {error}", file=sys.stderr)
