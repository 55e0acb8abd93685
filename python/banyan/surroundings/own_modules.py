"""The user's own modules: their sources as they were imported, and what cells have changed in their globals.

A module is what it was imported from, even if its file has changed since: a session that moves or goes back has the
functions that it had. What the source binds comes from the source. A commit has the other globals, each under a name
such as `<globals: helpers.cfg>`: mutable ones, which any function may change, and others once they differ from what the
source bound. `state/own.py` knows which modules are the user's.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from typing import Any

from IPython.core.getipython import get_ipython

from banyan.process.say import say
from banyan.state import own
from banyan.state.serialise import Unserialisable, dump, live_namespace
from banyan.surroundings.part import Moment, Part, Resists

# The path of the file, whether it is a package, and its text.
_Source = tuple[str, bool, str]

# Values of these types come from the source as long as they are the same object that it bound.
_CONSTANTS = (
    *(int, float, complex, str, bytes, frozenset, type(None), range, types.ModuleType, type),
    *(types.FunctionType, types.BuiltinFunctionType, property, classmethod, staticmethod),
)
_PLAIN = (list, dict, set, bytearray)
_FILES_MAX = 50  # At most so many files are looked at after a cell.


class _Modules:
    def __init__(self) -> None:
        # Values that the source makes and that cannot be pickled, by module, path and id.
        self._again: set[tuple[str, str, int]] = set()
        self._notices: list[str] = []

    def glance(self) -> object:
        own.look()
        return [(name, id(each)) for name, each in own.known.items()]

    def read(self) -> dict[str, _Source]:
        own.look()
        return {name: (each.path, each.is_package, each.source or "") for name, each in own.known.items()}

    def write(self, wanted: dict[str, _Source]) -> None:
        """Import the modules as they were, and forget those that are not wanted."""
        own.look()
        for name in own.known.keys() - wanted.keys():
            _forget(name)
        own.fix(wanted)
        failed = []
        try:
            for name, source in wanted.items():
                here = own.known.get(name)
                if here is not None and (here.source or "") == source[2]:
                    continue
                self._notice(name, source)
                try:
                    if here is None:
                        importlib.import_module(name)
                    else:
                        _rebind(own.go_back(name))
                except BaseException as error:
                    failed.append(f"{name}: {type(error).__name__}: {error}")
        finally:
            own.fix({})
        own.look()
        if failed:
            raise ValueError("; ".join(failed))

    def _notice(self, name: str, source: _Source) -> None:
        path, _, text = source
        try:
            with open(path, encoding="utf-8") as file:
                same = file.read() == text
        except (OSError, ValueError):
            self._notices.append(f"{path} is not here: the session goes on with the {name} that it had imported")
            return
        if not same:
            self._notices.append(_changed(name, path))

    def tell(self) -> None:
        """Tell the user, after a cell, which files no longer are what was imported. It does so once for each
        version of a file.
        """
        for notice in self._notices:
            say(notice)
        self._notices.clear()
        reloads = _reloads()
        for name, each in list(own.known.items())[:_FILES_MAX]:
            stamp = own.stamp_of(each.path)
            if stamp in (None, each.stamp, each.told) or reloads:
                continue
            each.told = stamp
            with contextlib.suppress(OSError, ValueError), open(each.path, encoding="utf-8") as file:
                if file.read() != each.source:
                    say(_changed(name, each.path))

    # The globals of these modules.

    def read_globals(self) -> dict[str, Any]:
        own.look()
        found: dict[str, Any] = {}
        names: dict[str, list[str]] = {}
        for name, each in own.known.items():
            for path, value in own.everything(each.module):
                if self._is_kept(each, path, value):
                    found[f"{name}.{path}"] = value
                    names.setdefault(name, []).append(own.name_of(name, path))
        own.set_names(names)
        return found

    def _is_kept(self, each: own.Own, path: str, value: Any) -> bool:
        """Whether running the source alone would not make the value what it is."""
        if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
            return False
        if each.made.get(path, _ABSENT) is not value:
            return not _is_defined_at(value, each.module.__name__, path)
        if isinstance(value, _CONSTANTS) or _is_found_by_name(value):
            return False
        if "." in path and type(value) not in _PLAIN:
            return False
        key = each.module.__name__, path, id(value)
        if key not in self._again:
            try:
                dump({"value": value})
            except Unserialisable:
                self._again.add(key)
        return key not in self._again

    def write_globals(self, wanted: dict[str, Any]) -> None:
        reasons: dict[str, str] = {}
        own.look()
        for key in self.read_globals().keys() - wanted.keys():
            with contextlib.suppress(Exception):
                each, holder, attribute, path = _place(key)
                if path in each.made and isinstance(each.made[path], _CONSTANTS):
                    setattr(holder, attribute, each.made[path])
                else:
                    delattr(holder, attribute)
        for key, value in wanted.items():
            try:
                _, holder, attribute, _ = _place(key)
                setattr(holder, attribute, value)
            except Exception as error:
                reasons[key] = str(error)
        if reasons:
            raise Resists(reasons)


_ABSENT = object()


def _is_defined_at(value: Any, module: str, path: str) -> bool:
    """Whether a value is the function or class that the source defines at this path, so that it
    comes from the source.
    """
    return (isinstance(value, (type, types.FunctionType)) or type(value).__name__ == "_lru_cache_wrapper") and (
        getattr(value, "__module__", None),
        getattr(value, "__qualname__", None),
    ) == (module, path)


def _is_found_by_name(value: Any) -> bool:
    """Whether a value can be found in a module by its own name, in a library or in one of these modules."""
    name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    return (
        isinstance(name, str)
        and isinstance(module, str)
        and getattr(sys.modules.get(module), name.partition(".")[0], None) is value
    )


def _place(key: str) -> tuple[own.Own, Any, str, str]:
    """The module, the object that has the attribute, the attribute's name, and the whole path within the module."""
    name = max((name for name in own.known if key.startswith(name + ".")), key=len, default=None)
    if name is None:
        raise ValueError("its module is not imported here")
    path = key[len(name) + 1 :]
    *way, attribute = path.split(".")
    holder: Any = own.known[name].module
    for part in way:
        holder = getattr(holder, part)
    return own.known[name], holder, attribute, path


def _rebind(instead: dict[int, Any]) -> None:
    """Let variables that are functions or classes of a module be those of its current version."""
    namespace = live_namespace()
    for name, value in list(namespace.items()):
        if id(value) in instead:
            namespace[name] = instead[id(value)]


def _forget(name: str) -> None:
    """Remove a module as if it had not been imported."""
    module = own.known[name].module
    if sys.modules.get(name) is module:
        del sys.modules[name]
    package, _, attribute = name.rpartition(".")
    if vars(sys.modules.get(package, module)).get(attribute) is module:
        delattr(sys.modules[package], attribute)


def _changed(name: str, path: str) -> str:
    return (
        f"{path} is not what this session imported any more: it goes on with the {name} that it has, also after a move "
        f"or an undo; importlib.reload({name}) takes the new one"
    )


def _reloads() -> bool:
    """Whether %autoreload imports new versions by itself."""
    shell: Any = get_ipython()
    magics = shell.magics_manager.registry.get("AutoreloadMagics") if shell is not None else None
    return bool(getattr(getattr(magics, "_reloader", None), "enabled", False))


def parts() -> list[Part]:
    modules = _Modules()
    return [
        Part(
            "<own modules>",
            "the user's own modules, as they were imported",
            modules.read,
            modules.write,
            modules.glance,
            moment=Moment.BEFORE,
            first={},
            tell=modules.tell,
        ),
        Part(
            "<globals>",
            "globals of the user's own modules",
            modules.read_globals,
            modules.write_globals,
            holds=True,
            named=own.reached,
        ),
    ]
