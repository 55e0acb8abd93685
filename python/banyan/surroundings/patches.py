"""What cells put into classes of libraries, and what they register in a dict or a list of a library.

A *place* here is such a class, dict or list. `libraries.py` keeps plain settings; this file keeps
functions and objects.
"""

from __future__ import annotations

import importlib
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from banyan.reducers import singletons
from banyan.surroundings import scan
from banyan.surroundings.hooks import is_users
from banyan.surroundings.libraries import has_parts
from banyan.surroundings.part import ABSENT, Part, Resists

if TYPE_CHECKING:
    from banyan.state.access import Accesses

# Where libraries keep what others register: by the module that has to be imported first, the module and
# path of each place.
_REGISTRIES = {
    "copyreg": ["copyreg dispatch_table"],
    "pandas": [
        "pandas.core.frame DataFrame",
        "pandas.core.series Series",
        "pandas.core.indexes.base Index",
        "pandas.core.groupby.generic DataFrameGroupBy",
        "pandas.core.groupby.generic SeriesGroupBy",
        "pandas.core.groupby.groupby GroupBy",
        "pandas.core.window.rolling Rolling",
        "pandas.core.window.expanding Expanding",
    ],
    "pandas.core.dtypes.base": ["pandas.core.dtypes.base _registry.dtypes"],
    "torch.nn.modules.module": [
        f"torch.nn.modules.module _global_{hooks}"
        for hooks in (
            "forward_hooks",
            "forward_hooks_always_called",
            "forward_hooks_with_kwargs",
            "forward_pre_hooks",
            "backward_hooks",
            "backward_pre_hooks",
            "buffer_registration_hooks",
            "module_registration_hooks",
            "parameter_registration_hooks",
        )
    ],
    "matplotlib.cm": ["matplotlib colormaps._cmaps"],
    "matplotlib.projections": ["matplotlib.projections projection_registry._all_projection_types"],
    "matplotlib.scale": ["matplotlib.scale _scale_mapping"],
    "matplotlib.units": ["matplotlib.units registry"],
    "polars": ["polars.dataframe.frame DataFrame", "polars.series.series Series", "polars.expr.expr Expr"],
    "xarray": ["xarray.core.dataset Dataset", "xarray.core.dataarray DataArray"],
}
_REGISTERED = frozenset(place for places in _REGISTRIES.values() for place in places)
# Names of calls that may bind an attribute anew, so that the number of attributes of a place does not show the change.
_MAY_BIND = re.compile(r"__setattr__|__setitem__|setattr|delattr|start|patch|register|pickle")


@dataclass(slots=True)
class _Place:
    """A class, a dict or a list of a library, and what was there when it was first seen."""

    module: str
    path: str
    before: dict[Any, Any]
    has_plain: bool  # Whether plain values in it are kept here too, because no other part does so.
    count: int = -1  # The number of its items when it was last looked at; -1: it must be looked at again.
    changed: dict[str, tuple[str, str, Any, Any]] = field(default_factory=dict)

    def take_in(self, now: Mapping[Any, Any]) -> None:
        """A library was imported. Take what it registered as its own, because its import does so in every process."""
        told = {each[2] for each in self.changed.values()}
        for name, value in list(now.items()):
            new = self.before.get(name, ABSENT) is not value and name not in told
            if new and not (is_users(value) or (isinstance(name, type) and is_users(name))):
                self.before[name] = value


class Patches:
    """The places that were seen, each from before the first cell that may change it."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._places: dict[int, _Place] = {}  # By the id of the class, dict or list, which `_owners` keeps alive.
        self._owners: dict[int, Any] = {}
        self._awaited = dict(_REGISTRIES)
        self._calls: frozenset[str] | set[str] = frozenset()
        self._modules = 0

    def expect(self, accesses: Accesses) -> None:
        """A cell is about to run."""
        self._calls = accesses.calls
        self.look()

    def look(self) -> None:
        """Look before each statement of the cell, because a statement may have imported the library that the
        next one changes.
        """
        self._take_in()
        for needed in [needed for needed in self._awaited if needed in sys.modules]:
            for place in self._awaited.pop(needed):
                module, path = place.split()
                try:
                    self._see(module, path, _owner(module, path))
                except (ImportError, AttributeError):  # Another version of the library.
                    continue
        for dotted in self._calls:
            if dotted.endswith((".__setattr__", ".register")):
                self._see_named(dotted.split(".")[:-1])

    def _take_in(self) -> None:
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        for key, place in self._places.items():
            owner = self._owners[key]
            if _size(owner) != place.count:
                place.take_in(_content(owner))

    def note(self) -> None:
        """The cell has run."""
        if any(_MAY_BIND.match(dotted.rpartition(".")[2]) and self._may_be_ours(dotted) for dotted in self._calls):
            for place in self._places.values():
                place.count = -1

    def _may_be_ours(self, dotted: str) -> bool:
        """Whether a call may change a place. Most cells that set items do so in lists, arrays and frames,
        which are no places.
        """
        first, *rest = dotted.split(".")
        value = self._namespace.get(first)
        if rest[-1:] != ["__setitem__"] or value is None or isinstance(value, dict):
            return True
        return len(rest) > 1 and not has_parts(str(type(value).__module__))

    def read(self) -> dict[str, Any]:
        self._take_in()
        found: dict[str, Any] = {}
        for key, place in self._places.items():
            owner = self._owners[key]
            if _size(owner) != place.count:
                place.changed = {_text(place, name): each for name, each in _changed(place, _content(owner))}
                place.count = _size(owner)
            if place.changed:
                found |= place.changed
        return found

    def write(self, wanted: dict[str, Any]) -> None:
        reasons: dict[str, str] = {}
        for place in self._places.values():
            place.count = -1
        for text, (module, path, name, value) in (self.read() | wanted).items():
            try:
                owner = _owner(module, path)
                place = self._see(module, path, owner)
                _put(owner, name, value if text in wanted else place.before.get(name, ABSENT))
                place.count = -1
                _forget_dispatched(module, path)
            except Exception as error:
                reasons[text] = f"{type(error).__name__}: {error}"
        if reasons:
            raise Resists(reasons)

    def _see(self, module: str, path: str, owner: Any) -> _Place:
        if id(owner) not in self._places:
            self._owners[id(owner)] = owner
            self._places[id(owner)] = _Place(
                module, path, dict(_content(owner)), f"{module} {path}" in _REGISTERED or has_parts(module)
            )
        return self._places[id(owner)]

    def _see_named(self, way: list[str]) -> None:
        """See the library's class of which a cell sets an attribute, or the library's singledispatch function with
        which a cell registers another function. No code of other objects runs.
        """
        found: Any = self._namespace.get(way[0])
        for attribute in way[1:]:
            if not isinstance(found, (types.ModuleType, type)):
                return
            found = getattr(found, attribute, None)
        is_class = isinstance(found, type) and id(found) not in self._places and found.__flags__ & _HEAP_TYPE
        if not (is_class or _dispatches(found)):
            return
        module = sys.modules.get(found.__module__)
        if module is not None and singletons.installed(module) and not _is_processs(found.__module__):
            try:
                owner = _owner(found.__module__, found.__qualname__)
                if owner is (_registry_of(found) if _dispatches(found) else found):
                    self._see(found.__module__, found.__qualname__, owner)
            except (ImportError, AttributeError, ValueError):
                return


_HEAP_TYPE = 1 << 9


def _is_processs(module: str) -> bool:
    return module.partition(".")[0] in ("banyan", "IPython", "ipykernel", "zmq", "tornado", "traitlets", "asyncio")


def _changed(place: _Place, now: Mapping[Any, Any]) -> Iterator[tuple[Any, tuple[str, str, Any, Any]]]:
    """What differs in a place. Private names hold the library's own values, unless the value is the user's."""
    for name, value in list(now.items()):
        if place.before.get(name, ABSENT) is value or not (place.has_plain or _is_no_setting(value)):
            continue
        private = isinstance(name, str) and name.startswith("_")
        if not private or (is_users(value) and name not in ("__dict__", "__weakref__")):
            yield name, (place.module, place.path, name, value)
    for name in place.before.keys() - now.keys():
        private = isinstance(name, str) and name.startswith("_")
        if not private and (place.has_plain or _is_no_setting(place.before[name])):
            yield name, (place.module, place.path, name, ABSENT)


def _is_no_setting(value: Any) -> bool:
    return not isinstance(value, (*scan.SIMPLE, *scan.CONTAINERS))


def _owner(module: str, path: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return _registry_of(found) if _dispatches(found) else found


def _dispatches(function: Any) -> bool:
    """Whether functools.singledispatch has made the function."""
    return isinstance(function, types.FunctionType) and hasattr(function, "registry") and hasattr(function, "dispatch")


def _registry_of(function: Any) -> Any:
    """The dict behind its attribute `registry`, which is a read-only view."""
    register = function.register
    where = register.__code__.co_freevars.index("registry")
    return register.__closure__[where].cell_contents


def _forget_dispatched(module: str, path: str) -> None:
    """Clear the cache of a singledispatch function, which was filled by means of the functions registered before."""
    function: Any = sys.modules[module]
    for part in path.split("."):
        function = getattr(function, part)
    if _dispatches(function):
        function._clear_cache()


def _content(owner: Any) -> Mapping[Any, Any]:
    """The items of a place. Those of a list of classes are found by the classes' names, with a number
    where two are equal.
    """
    if isinstance(owner, list):
        found: dict[str, Any] = {}
        for each in owner:
            name = f"{each.__module__}.{each.__qualname__}"
            found[name if name not in found else f"{name} {len(found)}"] = each
        return found
    return owner if isinstance(owner, dict) else vars(owner)


def _size(owner: Any) -> int:
    return len(owner if isinstance(owner, (dict, list)) else vars(owner))


def _put(owner: Any, name: Any, value: Any) -> None:
    if isinstance(owner, list):
        owner[:] = [each for known, each in _content(owner).items() if known != name]
        if value is not ABSENT:
            owner.append(value)
    elif isinstance(owner, dict):
        if value is ABSENT:
            owner.pop(name, None)
        else:
            owner[name] = value
            if isinstance(name, int):
                _number_hooks(name)
    elif value is not ABSENT:
        setattr(owner, name, value)
    elif name in vars(owner):
        delattr(owner, name)


def _number_hooks(taken: int) -> None:
    """Let torch give its next hook a number that is not taken."""
    if (hooks := sys.modules.get("torch.utils.hooks")) is not None:
        hooks.RemovableHandle.next_id = max(hooks.RemovableHandle.next_id, taken + 1)


def _text(place: _Place, name: Any) -> str:
    called = name if isinstance(name, str) else getattr(name, "__qualname__", None) or repr(name)[:100]
    return f"{place.module}.{place.path}.{called}"


def parts(patches: Patches) -> list[Part]:
    about = "what cells put into classes of libraries, and what they register with them"
    return [Part("<patches>", about, patches.read, patches.write, holds=True)]
