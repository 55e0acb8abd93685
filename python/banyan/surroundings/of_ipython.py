"""What cells register with the shell: magics, events, formatters, transformers, hooks, completers and the like.

Each is an object under the name of its place, `<ipython: line magic shout>`. What IPython and the kernel have
registered themselves is the process's own, and so is what a library registers when it is imported.
"""

from __future__ import annotations

import operator
import re
import sys
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from IPython.core.alias import Alias
from IPython.core.hooks import CommandChainDispatcher
from IPython.core.magic import MagicAlias
from IPython.utils.strdispatch import StrDispatch

from banyan.surroundings.hooks import is_users
from banyan.surroundings.part import ABSENT, Part, Resists, Unkept

# The place, the key there (the index, if the place is a list), and the object.
_Entry = tuple[str, Any, Any]

# What these packages register is the process's own.
_OWN = frozenset(
    {"IPython", "banyan", "ipykernel", "matplotlib", "matplotlib_inline", "debugpy", "pydevd", "_pydevd_bundle", "comm"}
)
# Lists of the shell that a cell may replace by other lists.
_LISTS = {
    "input transformer": "input_transformer_manager.cleanup_transforms",
    "line transformer": "input_transformer_manager.line_transforms",
    "token transformer": "input_transformer_manager.token_transformers",
    "late input transformer": "input_transformers_post",
    "ast transformer": "ast_transformers",
}
_of_shell = operator.attrgetter(*_LISTS.values())
# Functions of a formatter for one object, which it finds by the object's id. In another process no object has that id.
_ONE = " of one object"
_NOT_ONE = "a formatter has it by the id of an object, which is another one elsewhere"
_COMPLETER = "completer"
_EXCEPTIONS = "handler of exceptions"
_PROMPTS = "prompts"
_FORMATTER = "formatter"
# Functions of a formatter by class. One for a class that is not imported is found by the class's name; IPython moves it
# to the others when such an object is first displayed.
_OF, _LATER = " of", " of, when it is there,"


class Registered:
    """What was registered before the first cell, and what extensions and imports have registered since."""

    def __init__(self, shell: Any) -> None:
        """shell: None where no shell exists; nothing is registered then."""
        self.shell = self._shell = shell
        self._boxes: dict[str, Any] = {} if self._shell is None else _boxes(self._shell)
        self._dicts = [box for box in self._boxes.values() if isinstance(box, dict)]
        self._lists = [box for box in self._boxes.values() if isinstance(box, list)]
        self._own = {label: _copy(box) for label, box in self._now()}
        self._imported: set[int] = set()  # The ids of objects that extensions and imports have registered.
        self._kept: list[Any] = []  # The same objects, kept alive so that no other object gets one of these ids.
        self._seen: tuple[list[Any], list[Any]] | None = None  # The registered objects when they were last read.
        self._see()
        self._found: dict[str, _Entry] = {}
        # The same entries as `read` gives them, with an Unkept for each that cannot be kept.
        self._told: dict[str, Any] = {}
        self._modules: set[str] = set(sys.modules)
        self._attributes = self._read_attributes()
        self._handler = getattr(self._shell, "CustomTB", None)

    def look(self) -> None:
        """Take in what libraries have registered because they were imported. It runs after each statement."""
        if len(sys.modules) == len(self._modules):
            return
        new = sys.modules.keys() - self._modules
        self._modules |= new
        self._modules &= sys.modules.keys()
        if not self._is_as_seen():
            for label, box in self._now():
                self.take_in(one for _, one in self._new(label, box) if _module_of(one) in new and not is_users(one))

    def take_in(self, objects: Iterable[Any]) -> None:
        """Take these objects as no cell's: the import or the extension that registered them does so
        in every process.
        """
        for one in objects:
            self._imported.add(id(one))
            self._kept.append(one)
            self._seen = None

    def snapshot(self) -> dict[str, Any]:
        return {label: _copy(box) for label, box in self._now()}

    def take_back(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Unregister what was registered between these two snapshots."""
        for label, box in self._now():
            for key, one in _items(after.get(label, [])):
                if isinstance(box, list):
                    if one in box and one not in before.get(label, []):
                        box.remove(one)
                elif box.get(key) is one and before[label].get(key, ABSENT) is not one:
                    _put(box, key, before[label].get(key, ABSENT))

    def since(self, before: dict[str, Any]) -> Iterator[Any]:
        """Objects that were registered since a snapshot and are not the user's."""
        for label, box in self._now():
            old = {id(one) for _, one in _items(before.get(label, []))}
            yield from (one for _, one in _items(box) if id(one) not in old and not is_users(one))

    def read(self) -> dict[str, Any]:
        if self._shell is None:
            return {}
        self.look()
        if not self._is_as_seen():
            self._found = dict(self._entries(dict(self._now())))
            self._told = {text: each[2] if isinstance(each[2], Unkept) else each for text, each in self._found.items()}
            self._see()
        attributes = self._read_attributes()
        if attributes == self._attributes:
            return self._told
        changed = {name: value for name, value in attributes.items() if self._attributes[name] != value}
        return self._told | {name: (name, None, value) for name, value in changed.items()}

    def write(self, wanted: dict[str, Any]) -> None:
        if self._shell is None:
            return
        reasons: dict[str, str] = {}
        given = {text: each for text, each in wanted.items() if not isinstance(each, Unkept)}
        for label in {each[0] for each in given.values() if each[0].startswith(_COMPLETER)}:
            _make_completer(self._shell, label)
        now = dict(self._now())
        for text, (label, key, _) in self._entries(now):
            if text not in wanted and not isinstance(now[label], list):
                self._put(label, key, self._own[label].get(key, ABSENT))
        for label, box in now.items():
            if isinstance(box, list):
                rest = [one for one in box if not self._is_sessions(one, self._own.get(label, ()))]
                here = [each for each in given.values() if each[0] == label]
                for _, place, one in sorted(here, key=operator.itemgetter(1)):
                    rest.insert(place, one)
                if rest != box:
                    box[:] = rest
        for text, (label, key, one) in given.items():
            try:
                if label in now and not isinstance(now[label], list):
                    self._put(label, key, one)
                elif label not in now and label not in self._attributes:
                    reasons[text] = "this IPython has no such place"
            except Exception as error:
                reasons[text] = f"{type(error).__name__}: {error}"
        self._write_attributes({label: one for label, _, one in given.values()}, reasons)
        self._seen = None
        if reasons:
            raise Resists(reasons)

    def _is_as_seen(self) -> bool:
        """Whether nothing changed since the last read. It runs after each cell and takes a few microseconds."""
        if self._seen is None or self._shell is None:
            return self._shell is None
        dicts, lists = self._seen
        return bool(self._dicts == dicts and self._all_lists() == lists)

    def _see(self) -> None:
        if self._shell is not None:
            lists = [list(box) for box in self._all_lists()]
            self._seen = [dict(box) for box in self._dicts], lists

    def _all_lists(self) -> list[list[Any]]:
        return [*self._lists, *_of_shell(self._shell), *(box for _, _, box in _completers(self._shell))]

    def _now(self) -> Iterator[tuple[str, Any]]:
        yield from self._boxes.items()
        if self._shell is not None:
            yield from zip(_LISTS, _of_shell(self._shell), strict=True)
            yield from ((f"{_COMPLETER} {kind} {key}", box) for kind, key, box in _completers(self._shell))

    def _entries(self, now: dict[str, Any]) -> Iterator[tuple[str, _Entry]]:
        seen: Counter[str] = Counter()
        for label, box in now.items():
            for key, one in self._new(label, box):
                text = f"{label.replace(_LATER, _OF)} {_text(one if isinstance(box, list) else key)}".rstrip()
                seen[text] += 1
                text = text if seen[text] == 1 else f"{text} {seen[text]}"
                before = self._found.get(text)
                moved = before is not None and before[0].endswith(_LATER) and before[2] is one
                yield text, before if moved and before is not None else (label, key, one)

    def _new(self, label: str, box: Any) -> Iterator[tuple[Any, Any]]:
        own = self._own.get(label, ())
        if label.endswith(_ONE):
            yield from ((key, Unkept(_NOT_ONE)) for key, one in list(box.items()) if own.get(key) is not one)
            return
        if isinstance(box, list):
            yield from ((place, one) for place, one in enumerate(box) if self._is_sessions(one, own))
            return
        for key, one in list(box.items()):
            if label == _FORMATTER and not is_users(one):
                continue  # An option of pandas adds this formatter, and the option itself is kept.
            if own.get(key, ABSENT) is not one and self._is_sessions(one, ()):
                yield key, one
        yield from ((key, ABSENT) for key in own if key not in box and not isinstance(own[key], Alias))

    def _is_sessions(self, one: Any, own: Any) -> bool:
        if id(one) in self._imported and not is_users(one):
            return False
        if type(one) is MagicAlias:
            return True
        return type(one) is not Alias and _module_of(one).partition(".")[0] not in _OWN and one not in own

    def _put(self, label: str, key: Any, value: Any) -> None:
        _put(self._boxes[label], key, value)
        if label.endswith(_LATER):
            moved = self._boxes[label.replace(_LATER, _OF)]
            for kind in [kind for kind in moved if (kind.__module__, kind.__name__) == key]:
                del moved[kind]

    def _read_attributes(self) -> dict[str, Any]:
        shell = self._shell
        return {
            _EXCEPTIONS: getattr(shell, "custom_exceptions", None) and (shell.custom_exceptions, _handler(shell)),
            _PROMPTS: getattr(shell, "prompts", None),
        }

    def _write_attributes(self, wanted: dict[str, Any], reasons: dict[str, str]) -> None:
        now, shell = self._read_attributes(), self._shell
        for name, first in self._attributes.items():
            value = wanted.get(name, first)
            try:
                if now[name] == value:
                    continue
                if name == _PROMPTS:
                    shell.prompts = value
                elif value:
                    shell.set_custom_exc(*value)
                else:
                    shell.custom_exceptions, shell.CustomTB = (), self._handler
            except Exception as error:
                reasons[name] = f"{type(error).__name__}: {error}"


def _boxes(shell: Any) -> dict[str, Any]:
    """By a label: the dicts and lists of the shell that are never replaced."""
    found: dict[str, Any] = {}
    magics = shell.magics_manager.magics
    found |= {f"{kind} magic": magics[kind] for kind in ("line", "cell")}
    found["magics"] = shell.magics_manager.registry
    found |= {f"event {name}": callbacks for name, callbacks in shell.events.callbacks.items()}
    formatters = shell.display_formatter.formatters
    found[_FORMATTER] = formatters
    display = shell.display_formatter
    others = {"display": display.ipython_display_formatter, "MIME bundle": display.mimebundle_formatter}
    for kind, formatter in {**formatters, **others}.items():
        found[f"{kind}{_OF}"] = formatter.type_printers
        found[f"{kind}{_LATER}"] = formatter.deferred_printers
        found[f"{kind}{_ONE}"] = formatter.singleton_printers
    if isinstance(hooks := getattr(shell.display_pub, "_hooks", None), list):
        found["hook of messages"] = hooks
    for name, hook in shell.hooks.items():
        if isinstance(chain := getattr(hook, "chain", None), list):
            found[f"hook {name}"] = chain
    return found


def _completers(shell: Any) -> Iterator[tuple[str, str, list[Any]]]:
    """What set_hook registers for commands that begin with a text or match a pattern: the hook's name, the text or
    /pattern/, and the list of functions.
    """
    for hook, dispatch in getattr(shell, "strdispatchers", {}).items():
        for text, chain in dispatch.strs.items():
            yield hook, text, chain.chain
        for pattern, chain in dispatch.regexs.items():
            yield hook, f"/{pattern.pattern}/", chain.chain


def _make_completer(shell: Any, label: str) -> None:
    """Make an empty chain for a completer where none exists."""
    _, hook, key = label.split(" ", 2)
    dispatch = shell.strdispatchers.setdefault(hook, StrDispatch())
    if len(key) > 1 and key.startswith("/") and key.endswith("/"):
        dispatch.regexs.setdefault(re.compile(key[1:-1]), CommandChainDispatcher())
    else:
        dispatch.strs.setdefault(key, CommandChainDispatcher())


def _handler(shell: Any) -> Any:
    """The function that was given to set_custom_exc, which wraps it."""
    wrapped = getattr(shell.CustomTB, "__func__", shell.CustomTB)
    names = getattr(getattr(wrapped, "__code__", None), "co_freevars", ())
    return wrapped.__closure__[names.index("handler")].cell_contents if "handler" in names else wrapped


def _copy(box: Any) -> Any:
    return list(box) if isinstance(box, list) else dict(box)


def _items(box: Any) -> list[tuple[Any, Any]]:
    return list(enumerate(box)) if isinstance(box, list) else list(box.items())


def _put(box: dict[Any, Any], key: Any, value: Any) -> None:
    if value is ABSENT:
        box.pop(key, None)
    else:
        box[key] = value


def _module_of(one: Any) -> str:
    """The module of a function, a method, or an object's class. Entries of a hook's chain are pairs of a
    priority and a function.
    """
    if isinstance(one, tuple) and len(one) == 2:
        one = one[1]
    one = getattr(one, "func", None) or getattr(one, "__func__", one)
    defined: Any = one if isinstance(one, (type, types.FunctionType, types.BuiltinFunctionType)) else type(one)
    return str(defined.__module__)


def _text(one: Any) -> str:
    if isinstance(one, int):  # An id would tell nobody anything.
        return ""
    if isinstance(one, str):
        return one
    if isinstance(one, type):
        return f"{one.__module__}.{one.__name__}"
    if isinstance(one, tuple):
        return ".".join(map(str, one)) if all(isinstance(each, str) for each in one) else _text(one[-1])
    one = getattr(one, "func", None) or one
    named: Any = one if hasattr(one, "__qualname__") else type(one)
    return str(named.__qualname__)


def parts(registered: Registered) -> list[Part]:
    about = "what cells register with IPython: magics, events, formatters, transformers, hooks, completers"
    return [Part("<ipython>", about, registered.read, registered.write, holds=True)]
