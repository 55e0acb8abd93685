"""Libraries that workers have imported, for the zygote of workers that show variables, which imports them first."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable

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
        names = [name for name in list(sys.modules) if name not in self._told and is_of_library(name)]
        if len(names) <= _MODULES_MAX:
            self._seen = len(sys.modules)
        self._told.update(names[:_MODULES_MAX])
        return names[:_MODULES_MAX]


def is_of_library(name: object) -> bool:
    """What is private to a library, it imports by itself."""
    return isinstance(name, str) and _MODULE.match(name) is not None and name.partition(".")[0] in libraries


def import_ahead(modules: Iterable[object]) -> dict[str, object]:
    """Import those of them that are of the libraries: which failed, and the files by which one sees them replaced."""
    failed = []
    for name in modules:
        if isinstance(name, str) and is_of_library(name):
            try:
                importlib.import_module(name)
            except BaseException as error:  # also one that would end the process
                print(f"zygote: cannot import {name} ahead: {error!r}", file=sys.stderr)
                failed.append(name)
    paths = [getattr(sys.modules.get(name), "__file__", None) for name in sorted(libraries)]
    files = [{"path": path, "mtime_ns": os.stat(path).st_mtime_ns} for path in paths if path]
    return {"failed": failed, "files": files}
