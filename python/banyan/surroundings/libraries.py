"""Settings of installed libraries that no other part knows: found by comparing a library's state before
and after a cell.

Only cells that may set something pay for the comparison: those that call a function whose name says that it sets
something, or that set an attribute of an object that belongs to a library. What they changed is kept by its place
(`<libraries: dask.config.config>`). When such a function of a C library leaves no visible change, it is named as
something that cannot be kept.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from banyan.reducers import singletons
from banyan.state import own
from banyan.state.access import sets_attributes
from banyan.surroundings import scan
from banyan.surroundings.part import Part, Resists, Unkept
from banyan.surroundings.switches import BY_CALL, SWITCHES

if TYPE_CHECKING:
    from banyan.state.access import Accesses

# Names of functions that set something.
_SETS = re.compile(
    r"_?(?:set|use|enable|disable|(?:un)?register|config|option|init|reset|restore|(?:un)?install|(?:de)?activate|theme"
    r"|style|prefer|require|login|output_|go_|ion$|ioff$|extension|push|add_|append$|insert$|extend$|remove$"
    r"|discard$|pop$|clear$|update$|start|stop|patch|switch|change|allow|forbid|ignore|opts|defaults|__set|.*_mode$"
    r"|.*_set_|.*_verbosity|inject_|monkey|simple|field_size)",
    re.IGNORECASE,
)
# A function with such a name sets something for certain, even if no change is visible.
_SETS_FOR_CERTAIN = re.compile(r"(?:set|enable|disable|(?:un)?register|(?:un)?install)(?:_|[A-Z]|$)")
# Methods that change items of a container. Functions of a module with these names compute something instead.
_OF_CONTAINERS = frozenset({"append", "insert", "extend", "remove", "discard", "pop", "clear", "update"})
# What these modules hold is the process's own, or has a part of its own.
_NOT_OF = frozenset(
    """
    __main__ _io _signal _thread _warnings abc asyncio banyan builtins collections ctypes datetime decimal
    faulthandler functools gc importlib inspect io IPython ipykernel itertools jupyter_client locale logging marshal
    math operator os pickle posix random signal sys tempfile time tornado traitlets types typing warnings weakref zmq
    """.split()
)
# Libraries that have a part of their own, so that they are not compared here.
_HAVE_PARTS = frozenset(
    {"matplotlib", "matplotlib_inline", "mimetypes", "mpmath", "numpy", "pandas", "sklearn", "torch", "unittest"}
)
_CELLS = "__main__"
_CALLS_DEPTH_MAX = 3


def has_parts(module: str) -> bool:
    """Whether a module belongs to a library that is not compared here."""
    return module.partition(".")[0] in _HAVE_PARTS


class Libraries:
    """The places that cells have changed, and what each place had before."""

    def __init__(self, namespace: Mapping[str, Any], elsewhere: Callable[[str, str], bool]) -> None:
        """elsewhere: tells whether another part keeps an attribute of a module."""
        self._namespace = namespace
        self._elsewhere = elsewhere
        self._before: dict[scan.Key, Any] = {}  # What each kept place had before the first cell that changed it.
        # By place that is a dict: the items that cells have set. Other new items are the library's own: it adds them
        # when more of it is imported.
        self._items: dict[scan.Key, set[Any]] = {}
        self._switched: dict[str, Any] = {}  # What each kept switch was before the first cell that changed it.
        # Calls that set something without a visible change, with the reason that is told to the user.
        self._unseen: dict[str, str] = {}
        self._calls: frozenset[str] | set[str] = frozenset()  # What the running cell calls.
        self._scans: dict[str, dict[scan.Key, Any]] = {}  # By library: its state before the running cell.
        self._switches: dict[str, Any] = {}
        # Functions that the running cell calls and that set something for certain, with their library.
        self._certain: dict[str, str] = {}

    def expect(self, accesses: Accesses) -> None:
        """A cell is about to run."""
        self._scans, self._switches, self._certain = {}, {}, {}
        self._calls = accesses.calls
        if self._calls:
            self.look()

    def look(self) -> None:
        """Look before each statement of the cell, because a statement may have imported the library that the
        next one changes.
        """
        if not self._calls:
            return
        for root, function in self._set_by(self._calls):
            if function is not None and function.__name__ not in BY_CALL:
                self._certain[_name(function)] = root
            if root not in self._scans and root not in _HAVE_PARTS:
                self._scans[root] = scan.scan(root)

    def note(self) -> None:
        """The cell has run."""
        if not (self._scans or self._switches or self._certain):
            return
        self.look()
        silent = {name: root for name, root in self._certain.items() if root not in _HAVE_PARTS}
        for root, before in self._scans.items():
            changed = scan.changes(before, root)
            for key, old in changed.items():
                if not self._elsewhere(key[0], key[1][0]):
                    known, now = self._before.setdefault(key, old), scan.at(key)
                    # If the place was not a dict before the cell, the cell has set all items that differ from
                    # the first state.
                    old = old if scan.have_items(old) else known
                    if scan.have_items(known, old, now):
                        self._note_items(key, scan.Items(now, old).keys, old)
            if changed:
                silent = {name: other for name, other in silent.items() if other != root}
        for name, before in self._switches.items():
            if SWITCHES[name].read() != before:
                self._switched.setdefault(name, before)
        for name in silent:
            self._unseen[name] = f"{name}() set something that nobody can see from outside"
        self._calls, self._scans, self._switches, self._certain = frozenset(), {}, {}, {}

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        singletons.set_by_cells.clear()
        for key, before in list(self._before.items()):
            if self._elsewhere(key[0], key[1][0]):
                del self._before[key]
                continue
            now = scan.at(key)
            if scan.have_items(before, now):
                now = scan.Items(now, before, self._items.get(key))
                differs = bool(now.keys)
            else:
                differs = not scan.same(before, now)
            if differs:
                found[_text(key)] = (*key, now)
                singletons.set_by_cells.add((key[0], key[1][0]))
        for name, before in self._switched.items():
            now = SWITCHES[name].read()
            if now != before:
                found[name] = ("", (name,), now)
        return found | {f"{name}()": Unkept(reason) for name, reason in self._unseen.items()}

    def write(self, wanted: dict[str, Any]) -> None:
        reasons: dict[str, str] = {}
        self._unseen = {name[:-2]: each.reason for name, each in wanted.items() if isinstance(each, Unkept)}
        for key in self._before:
            if _text(key) not in wanted:
                _try(reasons, _text(key), lambda key=key: self._set_back(key))
        for name, before in self._switched.items():
            if name not in wanted:
                _try(reasons, name, lambda name=name, before=before: SWITCHES[name].write(before))
        for text, value in wanted.items():
            if not isinstance(value, Unkept):
                _try(reasons, text, lambda value=value: self._put(*value))
        if reasons:
            raise Resists(reasons)

    def named(self, names: set[str], imports: set[str]) -> set[str]:
        """The objects in the log that belong to libraries which a cell names or imports. All
        switches are among them.
        """
        if not (self._before or self._switched):
            return set()
        roots = {module.partition(".")[0] for module in imports}
        roots.update(root for name in names if (root := _root_of(self._namespace.get(name))))
        keys = [_text(key) for key in self._before if key[0].partition(".")[0] in roots]
        return {f"<libraries: {text}>" for text in [*keys, *self._switched]}

    def _put(self, module: str, path: tuple[str, ...], value: Any) -> None:
        if not module:
            self._switched.setdefault(path[0], SWITCHES[path[0]].read())
            SWITCHES[path[0]].write(value)
            return
        __import__(module)
        key = module, path
        if key in self._before:
            self._set_back(key)
        else:
            self._before[key] = scan.copied(scan.at(key))
        if isinstance(value, scan.Items):
            self._note_items(key, value.keys, scan.at(key))
        scan.put(key, value)

    def _set_back(self, key: scan.Key) -> None:
        """Undo what cells have set at a place."""
        before, now = scan.copied(self._before[key]), scan.at(key)
        if scan.have_items(before, now):
            noted = self._items.get(key, set())
            before |= {name: item for name, item in now.items() if name not in before and name not in noted}
        scan.put(key, before)

    def _note_items(self, key: scan.Key, items: set[Any], before: Any) -> None:
        """Note that these items of a dict were set. before: the dict as it was until then."""
        noted, known = self._items.setdefault(key, set()), self._before[key]
        if scan.have_items(known, before):
            for item in items - noted:
                if item in before:
                    known[item] = scan.copied(before[item])
                else:
                    known.pop(item, None)
        noted |= items

    def _set_by(self, calls: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Libraries of which these calls may set something, each with the called function if that sets
        something for certain.
        """
        for dotted in calls:
            first, *rest = dotted.split(".")
            last = rest[-1] if rest else first
            self._expect_switches(last)
            value = self._namespace.get(first)
            if value is None:
                continue
            if isinstance(value, types.FunctionType) and not rest and _is_users(value):
                yield from self._set_within(value, _CALLS_DEPTH_MAX)
                continue
            if not rest:
                last = getattr(value, "__name__", first)
            if _SETS.match(last) and (found := _library(value, rest, last)):
                yield found

    def _set_within(self, function: types.FunctionType, depth: int) -> Iterator[tuple[str, Any]]:
        """The same for a function of the user: all libraries that it names, if anything in it may set something."""
        names = function.__code__.co_names
        for name in names:
            self._expect_switches(name)
        sets = any(_SETS.match(name) and name not in _OF_CONTAINERS for name in names)
        sets = sets or sets_attributes(function.__code__)
        for name in names:
            value = function.__globals__.get(name)
            if isinstance(value, types.FunctionType) and _is_users(value):
                if depth > 1 and value is not function:
                    yield from self._set_within(value, depth - 1)
            elif sets and (root := _root_of(value)):
                yield root, None

    def _expect_switches(self, call: str) -> None:
        for name in BY_CALL.get(call, ()):
            if name not in self._switches:
                self._switches[name] = SWITCHES[name].read()


def _try(reasons: dict[str, str], name: str, do: Any) -> None:
    try:
        do()
    except Exception as error:
        reasons[name] = f"{type(error).__name__}: {error}"


def _text(key: scan.Key) -> str:
    return ".".join((key[0], *key[1]))


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}"


def _is_users(function: types.FunctionType) -> bool:
    module = sys.modules.get(function.__module__ or "")
    return module is None or function.__module__ == _CELLS or own.is_own(module)


def _library(value: Any, rest: list[str], last: str) -> tuple[str, Any] | None:
    """The library in which a call or an assignment by this dotted name may set something."""
    owner, found = None, value
    for attribute in rest:
        if last.startswith("__set") and attribute == last:
            owner, found = found, None
            break
        owner = found
        try:
            found = getattr(found, attribute)
        except Exception:
            found = None
            break
    if isinstance(owner, types.ModuleType) and (last in _OF_CONTAINERS or (found is None and len(rest) == 1)):
        return None  # Another part keeps attributes of modules.
    if not isinstance(value, (types.ModuleType, type)) and rest and not _is_its_only_one(value):
        return None
    root = _root_of(found if isinstance(found, (type, types.FunctionType)) else value) or _root_of(value)
    if not root:
        return None
    certain = isinstance(found, types.BuiltinFunctionType) and (isinstance(owner, types.ModuleType) or not rest)
    return root, found if certain and _SETS_FOR_CERTAIN.match(last) and isinstance(found.__module__, str) else None


def _is_its_only_one(value: Any) -> bool:
    """Whether a module of the object's library refers to it, so that it is the library's and not just a variable's.

    Libraries with a part of their own are not searched: nothing is compared here for them, and a cell that sets an
    element of an array would pay for a search through all of numpy.
    """
    root = _root_of(sys.modules.get(type(value).__module__))
    if not root or root in _HAVE_PARTS:
        return False
    wanted, prefix = id(value), root + "."
    modules = [each for name, each in list(sys.modules.items()) if name == root or name.startswith(prefix)]
    return any(wanted in map(id, list(vars(each).values())) for each in modules)


def _root_of(value: Any) -> str:
    """The library that a value belongs to; empty for what is the user's, or the process's own."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if not isinstance(name, str) or name not in sys.modules:
        return ""
    root = name.partition(".")[0]
    module = sys.modules.get(root)
    return "" if root in _NOT_OF or module is None or own.is_own(module) else root


def parts(libraries: Libraries) -> list[Part]:
    return [
        Part(
            "<libraries>",
            "settings of libraries that no other part knows",
            libraries.read,
            libraries.write,
            holds=True,
            named=libraries.named,
        )
    ]
