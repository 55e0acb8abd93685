"""What one part of the surroundings is: how it is noticed, captured, restored, undone, and named when it is lost."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


class Moment(enum.Enum):
    """When a part is restored, seen from the variables of the same commit."""

    BEFORE = enum.auto()  # Before the variables are loaded, because loading depends on the part.
    AFTER = enum.auto()  # After the variables are bound.
    # After the variables are bound, and again when a cell begins, because each cell may have its own context.
    CELL = enum.auto()


class _Unseen(enum.Enum):
    UNSEEN = enum.auto()


UNSEEN: Final = _Unseen.UNSEEN


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a process holds beside its variables. Each function may raise; no other part suffers by that.

    name: as the log has it, `<numpy.printoptions>`.
    about: what it is, in words for the user.
    read: gives its value, which is compared by `==` and pickled. None where there is nothing to keep.
    write: makes it what `read` gave, here or in another process, and imports what that takes.
    glance: gives something that is cheaper than `read` and changes whenever `read` would give another value.
    needs: the module without which the part does not exist. It is not imported in order to look.
    moment: when it is restored.
    first: its value as long as no cell has touched it. UNSEEN: what `read` gives before the first cell.
    at_import: gives its value of the moment when `needs` was imported, which is its first value where the module came
        later than the first cell. None before the import.
    restless: the kernel itself changes it between cells, and that is no change of the session.
    drawn: libraries draw from it when they are imported, so that it is put back after values have been loaded.
    holds: it has live objects, as the handlers of signals are. `read` then gives those that are not the process's own,
        by a text for each, and `write` takes all that are to be there. Each object is a co-variable of its own,
        `<signals: SIGALRM>`, and may share objects with variables; if one cannot be pickled it is named, and the others
        are kept. `glance` and `first` are not used.
    named: which of its objects (by their names in the log) a cell may reach through the names and the imports in its
        source, apart from what its variables refer to. Without it, any cell may have changed any of them.
    tell: called after each cell to tell the user what they should know.
    """

    name: str
    about: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    glance: Callable[[], Any] | None = None
    needs: str = ""
    moment: Moment = Moment.AFTER
    first: Any = UNSEEN
    at_import: Callable[[], Any] | None = None
    restless: bool = False
    drawn: bool = False
    holds: bool = False
    named: Callable[[set[str], set[str]], set[str]] | None = None
    tell: Callable[[], None] | None = None

    def name_of(self, key: str) -> str:
        """The name in the log of one of the objects that it holds."""
        return f"{self.name[:-1]}: {key}>"

    @property
    def setting(self) -> str:
        """The name of its switch in `%config Capture`."""
        return self.name.strip("<>").replace(".", "_")


def part_of(name: str) -> tuple[str, str]:
    """The name of a part, and the key of the object within it; the key is empty for a part that holds no objects."""
    part, colon, key = name[:-1].partition(": ")
    return part + ">", key if colon else ""


class Unkept:
    """Stands for something that was noticed and that nobody can keep. It fails to pickle, so the user is told of it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unkept) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash(self.reason)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError(self.reason)


class Resists(Exception):
    """Raised by `write` when some objects cannot be restored. reasons: why, by the objects' texts."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__("; ".join(f"{key}: {reason}" for key, reason in reasons.items()))
        self.reasons = reasons


class _Absent:
    """Stands for an attribute that cells have deleted. There is one instance."""

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
