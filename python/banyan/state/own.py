"""The user's own modules: those that come from source files outside of the installed packages.

They are namespaces of the session, as `__main__` is. This file knows which they are, what their sources bound when they
were imported, and which of their globals a function, a class or a module leads to; surroundings/own_modules.py has what
a commit holds of them.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PACKAGES = ("site-packages", "dist-packages")
# What an object that leads to a module says that it uses: `detect` takes the module's globals for it.
_MARK = "<module> "
_VERSIONS_MAX = 4
# The prefix of the names of their globals in commits.
PREFIX = "<globals: "


@dataclass(slots=True)
class Own:
    """One of them. made: what its source bound, by name; of a class or a function also its attributes, by a path."""

    module: types.ModuleType
    path: str
    is_package: bool
    source: str | None
    stamp: tuple[int, int] | None  # of the file: when it was written, and its size
    made: dict[str, Any] = field(default_factory=dict)
    told: tuple[int, int] | None = None  # of which version of the file the user knows


known: dict[str, Own] = {}
_names: dict[str, list[str]] = {}  # of their globals in commits, by module
_versions: dict[str, list[Own]] = {}  # of modules that were reloaded, the latest first
_seen: set[str] = set()
_count = 0
_fixed: dict[str, tuple[str, bool, str]] = {}  # to be imported from these texts, while values are loaded


def begin() -> None:
    """Modules that are there already are nobody's own. Once per process, before any user code runs."""
    global _count
    _seen.update(sys.modules)
    _count = len(sys.modules)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        paths = (at for at, finder in enumerate(sys.meta_path) if finder is importlib.machinery.PathFinder)
        sys.meta_path.insert(next(paths, len(sys.meta_path)), _Finder())


def look() -> None:
    """Notice modules that were imported, replaced or removed since the last look."""
    global _count
    gone = [name for name, own in known.items() if sys.modules.get(name) is not own.module]
    for name in gone:
        del known[name]
        _seen.discard(name)
    if len(sys.modules) == _count and not gone:
        return
    for name in sys.modules.keys() - _seen:
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType) and name not in known and is_own(module):
            take_in(module)  # it did not come by the finder below
    _seen.update(sys.modules)
    _count = len(sys.modules)


def is_own(module: types.ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)
    return spec is not None and module.__name__ == spec.name and is_own_file(spec.name, spec.origin)


def is_own_file(name: str, origin: object) -> bool:
    if name in ("__main__", "__mp_main__") or not isinstance(origin, str) or not origin.endswith(".py"):
        return False
    return not any(part in _PACKAGES for part in origin.split(os.sep)) and not origin.startswith(_installed())


_installed_under: tuple[str, ...] = ()


def _installed() -> tuple[str, ...]:
    global _installed_under
    if not _installed_under:
        paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        paths += [*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parents[1])]
        real = {os.path.realpath(path) for path in paths}
        _installed_under = tuple(sorted(path + os.sep for path in {*paths, *real}))
    return _installed_under


def take_in(module: types.ModuleType) -> None:
    """A module has been imported, or reloaded: what it holds now, its source has bound."""
    spec: Any = module.__spec__
    source = None
    with contextlib.suppress(Exception):
        source = spec.loader.get_source(spec.name)
    bound = _bound_by(module, source)
    own = Own(module, spec.origin, spec.submodule_search_locations is not None, source, stamp_of(spec.origin))
    own.made = {path: value for path, value in everything(module) if path.partition(".")[0] in bound}
    if spec.name in known and known[spec.name].module is module:
        _remember(known[spec.name])
    known[spec.name] = own


def _bound_by(module: types.ModuleType, source: str | None) -> set[str]:
    """Global names that the source mentions: others, a cell has set before the module was reloaded."""
    if source is None:
        return set(vars(module))
    names: set[str] = set()
    pending = [compile(source, "source", "exec", dont_inherit=True)]
    while pending:
        code = pending.pop()
        names.update(code.co_names, code.co_varnames)
        pending += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return set(vars(module)) if "*" in source and "import *" in source else names


def stamp_of(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def everything(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """What it holds: its globals, and the attributes of classes and functions that it defines, by a path."""
    for name, value in list(vars(module).items()):
        if not isinstance(name, str) or (name.startswith("__") and name.endswith("__")):
            continue
        yield name, value
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == module.__name__:
            for attribute, inner in list(vars(value).items()):
                if not attribute.startswith("__") and not attribute.startswith("_abc_"):
                    yield f"{name}.{attribute}", inner


# Names of commits, and what leads to them.


def name_of(module: str, path: str) -> str:
    return f"{PREFIX}{module}.{path}>"


def set_names(names: dict[str, list[str]]) -> None:
    """What commits have of each module, as of now."""
    _names.clear()
    _names.update(names)


def mark(module: object) -> str | None:
    """What leads to something of this module (its name) uses; None for one that is nobody's own."""
    return _MARK + module if module in known and isinstance(module, str) else None


def marks(modules: Iterable[str]) -> set[str]:
    return {_MARK + module for module in modules if module in known}


def expanded(uses: Iterable[str]) -> set[str]:
    """Names of commits that are reached by these, which may have marks among them."""
    if not known:
        return set()
    return names_from(use[len(_MARK) :] for use in uses if use.startswith(_MARK))


def reached(names: set[str], imports: set[str]) -> set[str]:
    """Names of commits that a cell with these names and imports may reach, beside what its variables lead to."""
    if not known:
        return set()
    if not names.isdisjoint(("sys", "importlib", "reload")):
        return names_from(known)
    return names_from(name for name in known if name in imports or name in names)


def names_from(modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    pending, seen = list(modules), set()
    while pending:
        name = pending.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        found.update(_names.get(name, ()))
        for value in list(vars(known[name].module).values()):
            leads_to = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
            if isinstance(leads_to, str) and leads_to in known:
                pending.append(leads_to)
        if known[name].is_package:
            pending += [other for other in known if other.startswith(name + ".")]
    return found


# Functions that no name leads to any more: of before a reload, or replaced.


def has(function: types.FunctionType) -> bool:
    """Whether its globals are those of one of these modules."""
    own = known.get(function.__globals__.get("__name__", ""))
    return own is not None and function.__globals__ is vars(own.module)


def made_of(function: types.FunctionType) -> tuple[object, ...]:
    return function.__globals__["__name__"], function.__code__, function.__closure__


def make_function(module: str, code: types.CodeType, closure: tuple[types.CellType, ...] | None) -> types.FunctionType:
    return types.FunctionType(code, vars(importlib.import_module(module)), code.co_name, None, closure)


# How they are imported.


class _Loader(importlib.machinery.SourceFileLoader):
    """Python's own loader, which says when a module is whole. text: to be used instead of the file's."""

    def __init__(self, name: str, path: str, text: str | None = None) -> None:
        super().__init__(name, path)
        self._text = text

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        take_in(module)

    def get_data(self, path: str) -> bytes:
        return super().get_data(path) if self._text is None or path != self.path else self._text.encode()

    def path_stats(self, path: Any) -> Any:
        if self._text is not None:
            raise OSError  # or bytecode of the file would be taken
        return super().path_stats(path)

    def set_data(self, path: Any, data: Any, *, _mode: int = 0o666) -> None:
        if self._text is None:
            super().set_data(path, data, _mode=_mode)


class _Finder:
    """Finds what PathFinder finds, and lets the user's own be loaded by the loader above."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in _fixed:
            return _spec(name, *_fixed[name])
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            if is_own_file(name, spec.origin):
                spec.loader = _Loader(name, spec.loader.path)
            else:
                _seen.add(name)
        return spec


def _spec(name: str, path: str, is_package: bool, text: str) -> importlib.machinery.ModuleSpec:
    spec = importlib.machinery.ModuleSpec(name, _Loader(name, path, text), origin=path, is_package=is_package)
    if is_package:
        spec.submodule_search_locations = [os.path.dirname(path)]
    spec.has_location = True
    return spec


def fix(sources: dict[str, tuple[str, bool, str]]) -> None:
    """From here on these modules are imported as they were: path, whether a package, text. Empty: none."""
    _fixed.clear()
    _fixed.update(sources)


def go_back(name: str) -> dict[int, Any]:
    """A module that is there becomes what `fix` says: by the objects that it had then, or else as by a reload.

    What stands now for the functions and classes of its source that stood there, by their identity.
    """
    module, left = known[name].module, known[name]
    path, is_package, text = _fixed[name]
    version = next((each for each in _versions.get(name, ()) if each.source == text and each.module is module), None)
    if version is None:
        spec: Any = _spec(name, path, is_package, text)
        module.__spec__, module.__loader__ = spec, spec.loader
        spec.loader.exec_module(module)
        version = known[name]
    else:
        _remember(left)
        known[name] = version
        vars(module).update({path: value for path, value in version.made.items() if "." not in path})
    return {
        id(value): version.made[path]
        for path, value in left.made.items()
        if path in version.made and isinstance(value, (type, types.FunctionType))
    }


def _remember(version: Own) -> None:
    _versions[version.module.__name__] = [version, *_versions.get(version.module.__name__, ())][:_VERSIONS_MAX]
