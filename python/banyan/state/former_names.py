"""Keeps stored pickles loadable when a module of this package moves: a pickle names it as the first version did.

A pickle in the log of a session names the functions and classes that it needs by their modules. A module that moves
keeps its former name in pickles, in those that are read and in those that are written. So this version reads the logs
of earlier ones, a worker of an earlier version reads what this one writes, and equal values keep equal bytes. Whoever
moves a module adds its former name here, for good. Nothing but pickles uses such a name (ADR 24).
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

# By the package that holds them today: modules that lay in `banyan` itself before. `banyan.standalone` and
# `banyan.worker` are left out: they were modules and are packages now, but no pickle names what those modules had.
_FLAT = {
    "background": "beside",
    "notebook": "comm disk history magics notices rerun session_magics",
    "process": "failpoints interrupts json_text pages",
    "reducers": """
        arrays caches closed columns context_vars corrections finished handles lazy live log_handlers memory methods
        mpmath_numbers sharing singletons streams tensors text_sets widgets
    """,
    "restore": "effects held_back leftovers repeat",
    "state": "access changes classes detect functions own roundtrip serialise",
    "worker": "ahead as_in_a_kernel channel extension forks gpus kernel output replica transformed",
}
# Modules that have changed their own name as well as their package.
_RENAMED = {
    "banyan.apply": "banyan.restore.show",
    "banyan.local_history": "banyan.standalone.history",
    "banyan.local_magics": "banyan.standalone.magics",
    "banyan.local_place": "banyan.standalone.place",
    "banyan.local_store": "banyan.standalone.store",
}
# By a module's former name, its name of today.
FORMER = {
    f"banyan.{name}": f"banyan.{room}.{name}" for room, names in _FLAT.items() for name in names.split()
} | _RENAMED
_WRITTEN = {today: former for former, today in FORMER.items()}


class _Loader(Loader):
    def __init__(self, today: str) -> None:
        self._today = today

    def create_module(self, _spec: ModuleSpec) -> types.ModuleType | None:
        """None lets Python make an empty module; `exec_module` puts today's module into its place."""
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self._today)


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, _Loader(FORMER[name])) if name in FORMER else None


_finder = _Finder()


def find() -> None:
    """Let modules be imported by their former names, too.

    Those that are imported already get their former names at once. Otherwise loading the first value that names one
    would count as an import by the user's code.
    """
    for former, today in FORMER.items():
        if today in sys.modules:
            sys.modules.setdefault(former, sys.modules[today])
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


def in_pickles(module: str) -> str:
    """The name that pickles use for a module, given its name of today."""
    return _WRITTEN.get(module, module)
