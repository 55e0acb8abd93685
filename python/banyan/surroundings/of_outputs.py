"""What cells have shown: `Out`, `_`, `__` and `___`. Kept are the newest, as long as they are small or a
variable has them.

They are one value of the session. A cell that changes nothing else counts as one that only looks
(src/core/checkpoint/tree.h).
"""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from banyan.surroundings.attributes import loaded, whole
from banyan.surroundings.hooks import is_users
from banyan.surroundings.part import Part
from banyan.surroundings.scan import SIMPLE

if TYPE_CHECKING:
    from banyan.state.access import Accesses

NAME = "<Out>"
_COUNT_MAX = 100
_NEWEST = 3  # Those that `_`, `__` and `___` refer to.
# The bytes of all outputs, and of all but the newest ones. They are limited because they are stored with each cell that
# shows something.
_BYTES_MAX = 32 * 1024
_OLDER_BYTES_MAX = 8 * 1024
_ITEMS_MAX = 5_000  # A container with more items is not looked into.
_SLOW_S = 0.02
_OUTPUT = re.compile(r"_(?:\d+|_|__|oh)?\Z|Out\Z")

# How an output is kept: by its value, by the name of the variable that has it, by its pickle, or not at all,
# with the reason.
_Entry = tuple[str, Any]
_VALUE, _VARIABLE, _PICKLE, _LOST = "value", "variable", "pickle", "lost"


class Outputs:
    """How each output is kept, and which object it was then."""

    def __init__(self, shell: Any) -> None:
        """shell: None where no shell exists; nothing is shown then."""
        self._shell = shell
        self._known: dict[int, tuple[Any, _Entry]] = {}
        self._aliases: list[tuple[int, str]] = []
        self._kept: dict[int, _Entry] = {}
        self._slow: set[type] = set()
        # By output: the variable that has it, where that variable may be loaded later than the outputs.
        self._awaited: dict[int, str] = {}
        self._touched = False
        self._times = 0

    def expect(self, accesses: Accesses) -> None:
        """A cell is about to run, and all variables are bound. If it names an output it may change that object."""
        for at in [at for at, name in self._awaited.items() if name in self._names]:
            one = self._names[self._awaited.pop(at)]
            self._known[at] = one, self._known[at][1]
            self._show({**self._shown(), at: one})
        if accesses.dynamic and any(map(_OUTPUT.match, accesses.names)):
            self._touched = True

    def glance(self) -> Any:
        shown = self._shown()
        if self._touched or any(
            at not in self._awaited and self._names.get(name) is not shown.get(at) for at, name in self._aliases
        ):
            self._times += 1
        return len(shown), next(reversed(shown), 0), self._times

    def read(self) -> dict[int, _Entry]:
        """It runs after each cell that shows something, for up to a hundred outputs, most of which have not changed."""
        kept: dict[int, _Entry] = {}
        room = _BYTES_MAX
        shown, names, known = self._shown(), self._names, self._known
        self._aliases.clear()
        for place, at in enumerate(sorted(itertools.islice(reversed(shown), _COUNT_MAX), reverse=True)):
            if place == _NEWEST:
                room = min(room, _OLDER_BYTES_MAX)
            one = shown[at]
            before = known.get(at)
            entry = before[1] if before is not None and before[0] is one else None
            if entry is None or not self._is_right(at, one, entry, names):
                entry = self._kept_as(one)
                known[at] = one, entry
            how, what = entry
            if how == _VARIABLE:
                self._aliases.append((at, what))
            elif type(what) in (str, bytes):
                if len(what) <= room:
                    room -= len(what)
                else:
                    entry = _LOST, _OLD
            kept[at] = entry
        self._touched = False
        if not known.keys() <= shown.keys():
            newest = max(shown, default=0)
            self._known = {at: each for at, each in known.items() if at in shown or at > newest}
        self._kept = dict(reversed(kept.items()))
        return self._kept

    def write(self, wanted: Mapping[int, _Entry]) -> None:
        """Set the outputs. One that this process had under that number before is the same object again."""
        if self._shell is None:
            return
        shown = dict(self._shown())
        newest = max(wanted, default=0)
        self._awaited.clear()
        for at in [at for at in shown if at not in wanted and (at in self._kept or at > newest)]:
            del shown[at]
            for names in (self._names, self._shell.user_ns_hidden):
                names.pop(f"_{at}", None)
        for at, entry in wanted.items():
            shown[at] = self._object(at, entry)
            self._known[at] = shown[at], entry
        self._kept = dict(wanted)
        self._show(dict(sorted(shown.items())))

    @property
    def _names(self) -> dict[str, Any]:
        return self._shell.user_ns  # type: ignore[no-any-return]

    def _shown(self) -> dict[int, Any]:
        found = {} if self._shell is None else self._names.get("_oh")
        return found if isinstance(found, dict) else {}

    def _show(self, shown: dict[int, Any]) -> None:
        hook, last = self._shell.displayhook, [*reversed(shown.values()), "", "", ""][:3]
        under = dict(zip(("_", "__", "___"), last, strict=True))
        users = any(name in self._names and self._names[name] is not getattr(hook, name) for name in under)
        for name, one in under.items():
            setattr(hook, name, one)
        live = self._shown()
        live.clear()
        live.update(shown)
        numbered = {f"_{at}": one for at, one in shown.items()}
        self._shell.push(numbered if users else numbered | under, interactive=False)

    def _object(self, at: int, entry: _Entry) -> Any:
        how, what = entry
        if how == _VARIABLE:
            if what not in self._names:
                self._awaited[at] = what
            return self._names.get(what, NotKept(at, f"the variable {what} that it was is not there"))
        known = self._known.get(at)
        if known is not None and known[1] == entry:
            return known[0]
        if how == _VALUE:
            return what
        if how == _LOST:
            return NotKept(at, what)
        try:
            return loaded(what)
        except Exception as error:
            return NotKept(at, f"it cannot be loaded here: {type(error).__name__}: {error}")

    def _is_right(self, at: int, one: Any, entry: _Entry, names: Mapping[str, Any]) -> bool:
        """Whether the object is still to be kept in this way."""
        if entry[0] == _VARIABLE:
            return at in self._awaited or names.get(entry[1]) is one
        return entry[0] != _PICKLE or not self._touched

    def _kept_as(self, one: Any) -> _Entry:
        if isinstance(one, NotKept):
            return _LOST, one._why
        if type(one) in SIMPLE and not (isinstance(one, (str, bytes)) and len(one) > _ITEMS_MAX):
            return _VALUE, one
        for name, value in list(self._names.items()):
            if value is one and not name.startswith("_") and name not in ("In", "Out"):
                return _VARIABLE, name
        if why := self._resists(one):
            return _LOST, why
        begun = time.perf_counter()
        try:
            data = whole(one)
        except Exception as error:
            return _LOST, f"it cannot be saved: {error}"
        finally:
            if time.perf_counter() - begun > _SLOW_S and type(one).__module__ != "builtins":
                self._slow.add(type(one))
        return (_PICKLE, data) if len(data) <= _BYTES_MAX else (_LOST, _LARGE)

    def _resists(self, one: Any) -> str:
        """Why an object is not even pickled; empty if it is."""
        first = next(iter(one), one) if isinstance(one, (list, tuple)) else one
        if type(first).__module__.partition(".")[0] == "matplotlib":
            return "it is part of a figure that no variable has"
        if type(one) in self._slow:
            return "it takes long to save, and no variable has it"
        sized = None if is_users(one) else one  # The user's own class may do anything when its property is read.
        size = getattr(sized, "nbytes", None) or getattr(sized, "size", None) or 0
        items = len(one) if isinstance(one, (list, tuple, dict, set, frozenset, str, bytes)) else 0
        large = (isinstance(size, int) and size > _BYTES_MAX) or items > _ITEMS_MAX
        return _LARGE if large or sys.getsizeof(one, 0) > 4 * _BYTES_MAX else ""


_LARGE = "it is large, and no variable has it"
_OLD = "newer ones took its place, and no variable has it"


class NotKept:
    """Stands for an output that did not come along, and tells whoever uses it why."""

    def __init__(self, at: int, why: str) -> None:
        self._at, self._why = at, why

    def __repr__(self) -> str:
        return f"<Out[{self._at}] did not come along: {self._why}; run its cell again>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_repr_", "_ipython_")):
            raise AttributeError(name)
        raise AttributeError(self._message())

    def _message(self) -> str:
        return f"Out[{self._at}] did not come along to this process: {self._why}. Run its cell again."


def _refuse(one: NotKept, *_: Any) -> Any:
    raise RuntimeError(one._message())


_OPERATIONS = (
    "len iter getitem setitem call bool int float contains add radd sub rsub mul rmul truediv rtruediv matmul neg"
)
for _operation in _OPERATIONS.split():
    setattr(NotKept, f"__{_operation}__", _refuse)


def parts(outputs: Outputs) -> list[Part]:
    about = "what cells have shown: Out, _ and its kin"
    return [Part(NAME, about, outputs.read, outputs.write, outputs.glance, first={})]
