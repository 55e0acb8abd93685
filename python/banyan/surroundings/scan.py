"""What a library keeps in its modules: their globals, attributes of its classes and of objects that it has one of."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from banyan.surroundings.part import ABSENT

# A module, and the way from it: `("plotly.io._templates", ("templates", "_default"))`.
Key = tuple[str, tuple[str, ...]]

SIMPLE = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (list, dict, set, tuple, frozenset)
_ITEMS_MAX = 4000  # mimetypes has 1500
_DEPTH_MAX = 4
_CLASSES_MAX = 100  # in a module; where there are more, they are made by a program and hold no settings

# What a library has done.
_DONE = re.compile(r"loaded|imported|initiali[sz]ed|seen|warned|once|finali[sz]e", re.IGNORECASE)
# Libraries change these by themselves, and make them again: they are nobody's wish.
_THEIR_OWN = re.compile(
    r"cache|memo|lock|lru|warned|seen|loaded|imported|initiali[sz]ed|version|lazy|weak|pending|once|thread|stats"
    r"|finali[sz]e|(?:^|_)counts?(?:er)?s?$|_[pu]?id$|logger",
    re.IGNORECASE,
)
# What these modules make and keep are connections of this process to clusters: of_clusters.py has a part for them.
_CONNECTIONS = re.compile(r"(?:distributed|py4j|pyspark|ray(?!\.data))(?:\.|$)")


@functools.lru_cache(maxsize=100_000)
def _is_theirs(attribute: str) -> bool:
    return attribute.startswith("__") or _THEIR_OWN.search(attribute) is not None


def _is_setting(attribute: str, value: Any) -> bool:
    """Whether someone may have set it: `cache_converted_graphs = False` says what a library is to do."""
    if isinstance(value, types.ModuleType):
        return False
    switch = isinstance(value, bool) and not attribute.startswith("_") and not _DONE.search(attribute)
    return switch or not _is_theirs(attribute)


def scan(root: str) -> dict[Key, Any]:
    """Copies of all that may be a setting, by where it is; what is in two places, by the first one."""
    found: dict[Key, Any] = {}
    met: set[int] = set()
    for name, module in list(sys.modules.items()):
        if _CONNECTIONS.match(name):
            continue
        if (name == root or name.startswith(root + ".")) and isinstance(module, types.ModuleType):
            for path, value in _of_module(module, name, root, met):
                found[name, path] = copied(value)
    return found


def _of_module(module: types.ModuleType, name: str, root: str, met: set[int]) -> Iterator[tuple[tuple[str, ...], Any]]:
    classes = 0
    for attribute, value in list(vars(module).items()):
        if not _is_setting(attribute, value):
            continue
        if isinstance(value, SIMPLE):
            yield (attribute,), value
            continue
        if id(value) in met or _CONNECTIONS.match(str(type(value).__module__)):
            continue
        if isinstance(value, type):
            classes += 1
            if value.__module__ == name and classes <= _CLASSES_MAX:
                met.add(id(value))
                yield from _of_holder(value, (attribute,), name, root, met)
            continue
        met.add(id(value))
        yield (attribute,), value
        if _is_librarys(value, root):
            yield from _of_holder(value, (attribute,), name, root, met)


def _of_holder(
    holder: Any, path: tuple[str, ...], name: str, root: str, met: set[int]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    is_class = isinstance(holder, type)
    for attribute, value in list(_attributes(holder).items()):
        if not _is_setting(attribute, value):
            continue
        if is_class and not isinstance(value, (*SIMPLE, *CONTAINERS)):
            continue
        yield (*path, attribute), value
        if not is_class and len(path) < 2 and _is_librarys(value, root) and id(value) not in met:
            met.add(id(value))
            yield from _of_holder(value, (*path, attribute), name, root, met)


def _is_librarys(value: Any, root: str) -> bool:
    """Whether it is an object of one of the library's own classes that has attributes."""
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return False
    return type(value).__module__.partition(".")[0] == root and bool(_attributes(value))


def _attributes(holder: Any) -> Mapping[str, Any]:
    """Its own, also those in slots."""
    found = getattr(holder, "__dict__", None)
    if found is not None:
        return found if isinstance(found, (dict, types.MappingProxyType)) else {}
    slots = getattr(type(holder), "__slots__", ())
    names = [slots] if isinstance(slots, str) else slots
    return {name: getattr(holder, name) for name in names if isinstance(name, str) and hasattr(holder, name)}


def copied(value: Any, depth: int = 0) -> Any:
    """With containers of its own, which hold the same objects."""
    kind = _kind(value)
    if kind is None or depth > _DEPTH_MAX:
        return value
    if kind is dict:
        return {key: copied(item, depth + 1) for key, item in list(value.items())}
    return kind([copied(item, depth + 1) for item in list(value)])


def same(before: Any, now: Any, depth: int = 0) -> bool:
    """Whether a value is what `copied` saw. Objects that are no container are not asked: they may answer anything."""
    kind = _kind(before)
    if kind is None or depth > _DEPTH_MAX:
        equal = isinstance(before, SIMPLE) and type(before) is type(now) and (before == now or before != before)
        return before is now or equal
    if kind is not _kind(now) or len(before) != len(now):
        return False
    if kind is dict:
        return all(key in now and same(item, now[key], depth + 1) for key, item in before.items())
    if kind in (set, frozenset):
        return bool(before == now)
    return all(same(one, other, depth + 1) for one, other in zip(before, now, strict=True))


def _kind(value: Any) -> Any:
    """What it is as a container; None for anything else, and for one that has too much to be a setting."""
    for kind in (dict, list, set):
        if isinstance(value, kind):
            return kind if len(value) <= _ITEMS_MAX else None
    return type(value) if type(value) in (tuple, frozenset) and len(value) <= _ITEMS_MAX else None


class Items:
    """Those of a dict that are others than before: what else it has is the library's own, and need not go along."""

    def __init__(self, now: dict[Any, Any], before: dict[Any, Any], among: Collection[Any] | None = None) -> None:
        """among: of those that were not there before, the only ones that count; without it, all."""
        self.changed = {
            key: value
            for key, value in now.items()
            if (not same(before[key], value, 1) if key in before else among is None or key in among)
        }
        self.gone = [key for key in before if key not in now]

    @property
    def keys(self) -> set[Any]:
        return {*self.changed, *self.gone}

    def put(self, items: dict[Any, Any]) -> None:
        items.update(self.changed)
        for key in self.gone:
            items.pop(key, None)


def have_items(*values: Any) -> bool:
    """Whether they are dicts that differ by items."""
    return all(_kind(value) is dict for value in values)


def at(key: Key) -> Any:
    """What is there now; ABSENT for nothing."""
    found: Any = sys.modules.get(key[0], ABSENT)
    for attribute in key[1]:
        found = _attributes(found).get(attribute, ABSENT)
    return found


def put(key: Key, value: Any) -> None:
    """Make it this. A container stays the one that the library has, with other items. Raises with what is wrong.

    value: items of a dict, or all of it as `copied` saw it.
    """
    holder: Any = sys.modules[key[0]]
    for attribute in key[1][:-1]:
        holder = getattr(holder, attribute)
    now, name = at(key), key[1][-1]
    if now is value:
        return
    if isinstance(value, Items):
        value.put(now)
    elif value is ABSENT:
        delattr(holder, name)
    elif isinstance(now, list) and isinstance(value, list):
        now[:] = list(value)
    elif (isinstance(now, dict) and isinstance(value, dict)) or (isinstance(now, set) and isinstance(value, set)):
        items = value.copy()
        now.clear()
        now.update(items)
    elif isinstance(holder, (type, types.ModuleType)) or not hasattr(holder, "__dict__"):
        setattr(holder, name, value)
    else:
        vars(holder)[name] = value  # a property of the same object may check, and refuse what it has itself made


def changes(before: dict[Key, Any], root: str) -> dict[Key, Any]:
    """What each place had that has something else now."""
    now = scan(root)
    modules = {module for module, _ in before}
    changed = {}
    for key, value in now.items():
        old = before.get(key, ABSENT)
        if old is ABSENT and not _may_be_new(key, value, before, modules):
            continue
        if old is ABSENT or not same(old, value):
            changed[key] = old
    return {
        (module, path): old
        for (module, path), old in changed.items()
        if not _is_loaded(old, now[module, path])
        and not any((module, path[:part]) in changed for part in (1, 2)[: len(path) - 1])
    }


def _may_be_new(key: Key, value: Any, before: dict[Key, Any], modules: set[str]) -> bool:
    """A library that imports more of itself has more names; a setting is there, or comes into an object that is.

    modules: those that were there before, with their classes.
    """
    if getattr(value, "__module__", "") == "__main__":
        return True
    if len(key[1]) == 1 or not isinstance(value, (*SIMPLE, *CONTAINERS)):
        return False
    of_class = isinstance(at((key[0], key[1][:-1])), type) and key[0] in modules and not key[1][-1].startswith("_")
    return of_class or (key[0], key[1][:-1]) in before


def _is_loaded(old: Any, new: Any) -> bool:
    """Whether it is a library's module or class that has come to be needed."""
    return (old is None or old is ABSENT) and isinstance(new, (types.ModuleType, type))
