"""Settings of installed libraries that no other part knows: found by comparing what a library keeps before and after.

Only cells that may set something pay for that: those that call what is named as functions that set things are, or that
set an attribute of an object that a library has one of. What they changed is kept, each by its place
(`<libraries: dask.config.config>`). What such a function left where nobody sees it, in a library of C, is named.
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

# How functions are called that set something.
_SETS = re.compile(
    r"_?(?:set|use|enable|disable|(?:un)?register|config|option|init|reset|restore|(?:un)?install|(?:de)?activate|theme"
    r"|style|prefer|require|login|output_|go_|ion$|ioff$|extension|push|add_|append$|insert$|extend$|remove$"
    r"|discard$|pop$|clear$|update$|start|stop|patch|switch|change|allow|forbid|ignore|opts|defaults|__set|.*_mode$"
    r"|.*_set_|.*_verbosity|inject_|monkey|simple|field_size)",
    re.IGNORECASE,
)
# What is called so is a setting for certain, also where nobody sees that anything has changed.
_SETS_FOR_CERTAIN = re.compile(r"(?:set|enable|disable|(?:un)?register|(?:un)?install)(?:_|[A-Z]|$)")
# Items of a container; as functions of a module they compute something.
_OF_CONTAINERS = frozenset({"append", "insert", "extend", "remove", "discard", "pop", "clear", "update"})
# What these hold is the process's own, or has a part of its own.
_NOT_OF = frozenset(
    """
    __main__ _io _signal _thread _warnings abc asyncio banyan builtins collections ctypes datetime decimal
    faulthandler functools gc importlib inspect io IPython ipykernel itertools jupyter_client locale logging marshal
    math operator os pickle posix random signal sys tempfile time tornado traitlets types typing warnings weakref zmq
    """.split()
)
# Of these there are parts: what these keep beside that is theirs.
_HAVE_PARTS = frozenset(
    {"matplotlib", "matplotlib_inline", "mimetypes", "mpmath", "numpy", "pandas", "sklearn", "torch", "unittest"}
)
_CELLS = "__main__"
_CALLS_DEPTH_MAX = 3


def has_parts(module: str) -> bool:
    """Whether a module is of a library that is not compared here."""
    return module.partition(".")[0] in _HAVE_PARTS


class Libraries:
    """Knows what each place had before the first cell that changed it."""

    def __init__(self, namespace: Mapping[str, Any], elsewhere: Callable[[str, str], bool]) -> None:
        """elsewhere: whether another part keeps an attribute of a module."""
        self._namespace = namespace
        self._elsewhere = elsewhere
        self._before: dict[scan.Key, Any] = {}  # of what is kept
        # Of dicts there, the items that cells have set. Others that are new are the library's own: it adds them when
        # more of it is imported.
        self._items: dict[scan.Key, set[Any]] = {}
        self._switched: dict[str, Any] = {}  # the same of switches
        self._unseen: dict[str, str] = {}  # what cells called, and left no trace
        self._calls: frozenset[str] | set[str] = frozenset()  # of the cell that runs
        self._scans: dict[str, dict[scan.Key, Any]] = {}  # before it, by library
        self._switches: dict[str, Any] = {}
        self._certain: dict[str, str] = {}  # functions that it calls, and set something; by their library

    def expect(self, accesses: Accesses) -> None:
        """A cell is about to run."""
        self._scans, self._switches, self._certain = {}, {}, {}
        self._calls = accesses.calls
        if self._calls:
            self.look()

    def look(self) -> None:
        """Before each of its statements: one may have imported the library that the next one sets something of."""
        if not self._calls:
            return
        for root, function in self._set_by(self._calls):
            if function is not None and function.__name__ not in BY_CALL:
                self._certain[_name(function)] = root
            if root not in self._scans and root not in _HAVE_PARTS:
                self._scans[root] = scan.scan(root)

    def note(self) -> None:
        """It has run."""
        if not (self._scans or self._switches or self._certain):
            return
        self.look()
        silent = {name: root for name, root in self._certain.items() if root not in _HAVE_PARTS}
        for root, before in self._scans.items():
            changed = scan.changes(before, root)
            for key, old in changed.items():
                if not self._elsewhere(key[0], key[1][0]):
                    known, now = self._before.setdefault(key, old), scan.at(key)
                    # Where it was no dict in between, all that differs from what it was at first is the cell's.
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
        """Those of the libraries that a cell names."""
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
        """What cells have set there is as it was before."""
        before, now = scan.copied(self._before[key]), scan.at(key)
        if scan.have_items(before, now):
            noted = self._items.get(key, set())
            before |= {name: item for name, item in now.items() if name not in before and name not in noted}
        scan.put(key, before)

    def _note_items(self, key: scan.Key, items: set[Any], before: Any) -> None:
        """These items of a dict were set; before: the dict as it was until then."""
        noted, known = self._items.setdefault(key, set()), self._before[key]
        if scan.have_items(known, before):
            for item in items - noted:
                if item in before:
                    known[item] = scan.copied(before[item])
                else:
                    known.pop(item, None)
        noted |= items

    def _set_by(self, calls: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """Libraries of which these may set something, each with the function that does so for certain."""
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
        """The same of what a function of the user may call: all libraries that it names, if it may set anything."""
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
    """The library of which a call, or an assignment, by this way may set something."""
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
        return None  # an attribute of a module that a variable is, is another part's
    if not isinstance(value, (types.ModuleType, type)) and rest and not _is_its_only_one(value):
        return None
    root = _root_of(found if isinstance(found, (type, types.FunctionType)) else value) or _root_of(value)
    if not root:
        return None
    certain = isinstance(found, types.BuiltinFunctionType) and (isinstance(owner, types.ModuleType) or not rest)
    return root, found if certain and _SETS_FOR_CERTAIN.match(last) and isinstance(found.__module__, str) else None


def _is_its_only_one(value: Any) -> bool:
    """Whether a module of its library has this very object: it is no variable of the user's.

    Not asked of libraries that have parts, which nobody compares here: a cell that sets an element of an array would
    pay for a look at all that numpy has.
    """
    root = _root_of(sys.modules.get(type(value).__module__))
    if not root or root in _HAVE_PARTS:
        return False
    wanted, prefix = id(value), root + "."
    modules = [each for name, each in list(sys.modules.items()) if name == root or name.startswith(prefix)]
    return any(wanted in map(id, list(vars(each).values())) for each in modules)


def _root_of(value: Any) -> str:
    """The library that something is of; nothing for what is the user's, or the process's own."""
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
