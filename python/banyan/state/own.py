"""The user's own modules: those that come from source files outside of the installed packages.

They are namespaces of the session, as `__main__` is. This file knows which modules these are, what their sources bound
when they were imported, and which of their globals a function, a class or a module can reach.
`surroundings/own_modules.py` decides what a commit holds of them, and `detect.py` asks which globals a cell may touch.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import os
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from banyan.process import importing, installed

# The prefix of a mark: an object that can reach a module has the module's mark among its `uses`, and `detect.py` puts
# the names of the module's globals in its place.
_MARK = "<module> "
_VERSIONS_MAX = 4
# The prefix of the names by which commits hold globals of such modules.
PREFIX = "<globals: "


@dataclass(slots=True)
class Own:
    """One of the user's modules.

    made: what its source bound, by name. The attributes of its classes and functions are there as `Class.attribute`.
    stamp: the file's time of modification (ns) and size (bytes) when it was imported.
    told: the stamp of the version of the file that the user has been told of.
    """

    module: types.ModuleType
    path: str
    is_package: bool
    source: str | None
    stamp: tuple[int, int] | None
    made: dict[str, Any] = field(default_factory=dict)
    told: tuple[int, int] | None = None


known: dict[str, Own] = {}
_names: dict[str, list[str]] = {}  # By module: the names that commits have for its globals.
_versions: dict[str, list[Own]] = {}  # By module: its versions before a reload, the latest first.
_seen: set[str] = set()
_count = 0
# By module: path, whether it is a package, and the text to import it from while values are loaded.
_fixed: dict[str, tuple[str, bool, str]] = {}


def begin() -> None:
    """Take all modules that are imported already as not the user's. Call it once per process, before any user code
    runs.
    """
    global _count
    _seen.update(sys.modules)
    _count = len(sys.modules)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        paths = (at for at, finder in enumerate(sys.meta_path) if finder is importlib.machinery.PathFinder)
        sys.meta_path.insert(next(paths, len(sys.meta_path)), _Finder())


def look() -> None:
    """Notice modules that were imported, replaced or removed since the last call."""
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
            take_in(module)  # Something else than the finder below has imported it.
    _seen.update(sys.modules)
    _count = len(sys.modules)


def is_own(module: types.ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)
    return spec is not None and module.__name__ == spec.name and is_own_file(spec.name, spec.origin)


def is_own_file(name: str, origin: object) -> bool:
    if name in ("__main__", "__mp_main__") or not isinstance(origin, str) or not origin.endswith(".py"):
        return False
    return not (installed.is_of_python(origin) or installed.is_of_package(name, origin))


def take_in(module: types.ModuleType) -> None:
    """Record a module that was just imported or reloaded: what it holds now was bound by its source."""
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
    """Global names that the source mentions. The module's other globals were set by a cell before a reload."""
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
    """The module's globals, and the attributes of the classes and functions that it defines as `name.attribute`."""
    for name, value in list(vars(module).items()):
        if not isinstance(name, str) or (name.startswith("__") and name.endswith("__")):
            continue
        yield name, value
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == module.__name__:
            for attribute, inner in list(vars(value).items()):
                if not attribute.startswith("__") and not attribute.startswith("_abc_"):
                    yield f"{name}.{attribute}", inner


# The names of globals in commits, and the marks that stand for a module's globals.


def name_of(module: str, path: str) -> str:
    return f"{PREFIX}{module}.{path}>"


def set_names(names: dict[str, list[str]]) -> None:
    """Replace the record of which names commits have for the globals of each module."""
    _names.clear()
    _names.update(names)


def mark(module: object) -> str | None:
    """The mark that whatever refers to something in this module adds to its `uses`. None when the module is not the
    user's.
    """
    return _MARK + module if module in known and isinstance(module, str) else None


def marks(modules: Iterable[str]) -> set[str]:
    return {_MARK + module for module in modules if module in known}


def expanded(uses: Iterable[str], seen: set[str]) -> set[str]:
    """The names that commits have for the globals of modules whose marks are among `uses`.

    seen: modules whose names earlier calls have given; they are left out, and those of this call are added.
    """
    if not known:
        return set()
    return _names_from((use[len(_MARK) :] for use in uses if use.startswith(_MARK)), seen)


def reached(names: set[str], imports: set[str]) -> set[str]:
    """The names of globals in commits that a cell may reach through the modules that it names or imports. What its
    variables refer to is not counted here.
    """
    if not known:
        return set()
    if not names.isdisjoint(("sys", "importlib", "reload")):
        return _names_from(known, set())
    return _names_from((name for name in known if name in imports or name in names), set())


def _names_from(modules: Iterable[str], seen: set[str]) -> set[str]:
    found: set[str] = set()
    pending = list(modules)
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


# Functions that no name leads to any more, because they were replaced or are of the time before a reload: they are
# pickled by their code, over their module's globals.


def has(function: types.FunctionType) -> bool:
    """Whether the function's globals are those of one of the user's modules."""
    own = known.get(function.__globals__.get("__name__", ""))
    return own is not None and function.__globals__ is vars(own.module)


def made_of(function: types.FunctionType) -> tuple[object, ...]:
    return function.__globals__["__name__"], function.__code__, function.__closure__


def make_function(module: str, code: types.CodeType, closure: tuple[types.CellType, ...] | None) -> types.FunctionType:
    return types.FunctionType(code, vars(importlib.import_module(module)), code.co_name, None, closure)


# How these modules are imported.


class _Loader(importlib.machinery.SourceFileLoader):
    """Python's own loader, which also records a module once its source has run. text: what to run instead of the file's
    text.
    """

    def __init__(self, name: str, path: str, text: str | None = None) -> None:
        super().__init__(name, path)
        self._text = text

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        take_in(module)
        importing.imported(module)

    def get_data(self, path: str) -> bytes:
        return super().get_data(path) if self._text is None or path != self.path else self._text.encode()

    def path_stats(self, path: Any) -> Any:
        if self._text is not None:
            raise OSError  # Otherwise Python would take the bytecode of the file.
        return super().path_stats(path)

    def set_data(self, path: Any, data: Any, *, _mode: int = 0o666) -> None:
        if self._text is None:
            super().set_data(path, data, _mode=_mode)


class _Finder:
    """Lets what PathFinder finds be loaded by the loader above where it is a module of the user, and tells of its
    import where it is not.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in _fixed:
            return _spec(name, *_fixed[name])
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            if is_own_file(name, spec.origin):
                spec.loader = _Loader(name, spec.loader.path)
                return spec
            _seen.add(name)
        if spec is not None:
            importing.tell_of(spec)
        return spec


def _spec(name: str, path: str, is_package: bool, text: str) -> importlib.machinery.ModuleSpec:
    spec = importlib.machinery.ModuleSpec(name, _Loader(name, path, text), origin=path, is_package=is_package)
    if is_package:
        spec.submodule_search_locations = [os.path.dirname(path)]
    spec.has_location = True
    return spec


def fix(sources: dict[str, tuple[str, bool, str]]) -> None:
    """From now on, import these modules from the texts that are given. An empty dict ends that.

    sources: by module: its path, whether it is a package, and its text.
    """
    _fixed.clear()
    _fixed.update(sources)


def go_back(name: str) -> dict[int, Any]:
    """Make an imported module again what `fix` says: with the objects that it had then, or else by a reload.

    Returns what has taken the place of each of its functions and classes, by the id of the one before.
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
