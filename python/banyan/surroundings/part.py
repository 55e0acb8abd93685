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
    itself changes it between cells, which is no change of the session.
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

    @property
    def setting(self) -> str:
        """What `%config Capture` calls it."""
        return self.name.strip("<>").replace(".", "_")
