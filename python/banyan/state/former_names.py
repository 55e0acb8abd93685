"""What pickles call the modules of this package: the names that they had when pickles first named them.

A pickle in the log of a session names the functions and classes that it needs by their modules. A module that moves
keeps its former name there, in what is read and in what is written. So this version reads the logs of earlier ones, a
worker of an earlier version reads what this one writes, and equal values keep equal bytes. Whoever moves a module adds
its former name here, for good. Nothing else uses such a name (ADR 24).
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

# These lay in the package itself once; here by the package that each is in now. `banyan.standalone` and
# `banyan.worker` were modules, too, and are packages: no pickle names what those modules had.
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
# Those that have another name in their room, too.
_RENAMED = {
    "banyan.apply": "banyan.restore.show",
    "banyan.local_history": "banyan.standalone.history",
    "banyan.local_magics": "banyan.standalone.magics",
    "banyan.local_place": "banyan.standalone.place",
    "banyan.local_store": "banyan.standalone.store",
}
# What a module is called today, by what it was called.
FORMER = {
    f"banyan.{name}": f"banyan.{room}.{name}" for room, names in _FLAT.items() for name in names.split()
} | _RENAMED
_WRITTEN = {today: former for former, today in FORMER.items()}


class _Loader(Loader):
    def __init__(self, today: str) -> None:
        self._today = today

    def create_module(self, _spec: ModuleSpec) -> types.ModuleType | None:
        """One that nobody will see."""
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
    """From now on a module is found by its former name too. Those that are here get it at once: else the first value
    that names one would seem to import something."""
    for former, today in FORMER.items():
        if today in sys.modules:
            sys.modules.setdefault(former, sys.modules[today])
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


def in_pickles(module: str) -> str:
    """What pickles call a module, by its name of today."""
    return _WRITTEN.get(module, module)
