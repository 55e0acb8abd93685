"""What one of them is: how it is noticed, captured, restored, undone, and named when it is lost."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


class Moment(enum.Enum):
    """When it is restored."""

    BEFORE = enum.auto()  # the variables are loaded: loading depends on it
    AFTER = enum.auto()  # they are bound
    CELL = enum.auto()  # they are bound, and again when a cell begins: each has a context of its own


class _Unseen(enum.Enum):
    UNSEEN = enum.auto()


UNSEEN: Final = _Unseen.UNSEEN


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a process holds beside its variables. Each function may raise; that costs no other part.

    name: as the log has it, `<numpy.printoptions>`. about: for a person. read: its value, to be compared by `==` and to
    be pickled; None where there is nothing to say of it. write: makes it what `read` gave, here or in another process,
    and imports what that takes. glance: cheaper than `read`, where that takes longer; while it gives the same, `read`
    does. needs: the module without which it does not exist, and which is not imported to look. first: its value where
    no cell has touched it; where that is the process's own, it is read before the first cell. restless: the kernel
    itself changes it between cells, which is no change of the session. drawn: libraries draw from it when they are
    imported, so that it is put back as it was when values have been loaded.

    holds: it has live objects, as handlers of signals are. `read` gives those that are not the process's own, by a
    text for each, and `write` takes all that there are to be. Each is a co-variable, `<signals: SIGALRM>`, which may
    share objects with variables; one that cannot be pickled is named, and costs no other. `glance` and `first` say
    nothing of them. named: which of them (names as the log has them) a cell may reach by the names and the imports that
    it has, beside what its variables lead to; without it, any cell may have changed any of them.

    tell: called after each cell, to say what the user should know.
    """

    name: str
    about: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    glance: Callable[[], Any] | None = None
    needs: str = ""
    moment: Moment = Moment.AFTER
    first: Any = UNSEEN
    restless: bool = False
    drawn: bool = False
    holds: bool = False
    named: Callable[[set[str], set[str]], set[str]] | None = None
    tell: Callable[[], None] | None = None

    def name_of(self, key: str) -> str:
        """What the log calls one of the objects that it holds."""
        return f"{self.name[:-1]}: {key}>"

    @property
    def setting(self) -> str:
        """What `%config Capture` calls it."""
        return self.name.strip("<>").replace(".", "_")


def part_of(name: str) -> tuple[str, str]:
    """The name of a part, and which of the objects that it holds; empty for a part that holds none."""
    part, colon, key = name[:-1].partition(": ")
    return part + ">", key if colon else ""


class Unkept:
    """Stands for something that was noticed and that nobody can keep: it is named as a value that no bytes can hold."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unkept) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash(self.reason)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError(self.reason)


class Resists(Exception):
    """Some of what was to be restored cannot be: why, by the texts of the objects."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__("; ".join(f"{key}: {reason}" for key, reason in reasons.items()))
        self.reasons = reasons


class _Absent:
    """Stands for an attribute that cells have deleted. There is one."""

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
