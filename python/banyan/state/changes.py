"""What a cell changed, and `Detector`, the only interface by which others ask for that.

The worker and the standalone extension know `Detector` and not the class behind it, so that another implementation can
take its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from banyan import _native
from banyan.state.access import Accesses
from banyan.state.serialise import Pickled, Source


@dataclass(frozen=True, slots=True)
class Failure:
    """A variable that cannot be replicated, or whose value could not be loaded.

    type_name: the type of the value that it holds.
    news: false if it failed like this before and has not been bound anew.
    alone: whether it shares no objects with other variables, as far as one can see.
    """

    name: str
    type_name: str
    reason: str
    news: bool = True
    alone: bool = False


@dataclass(slots=True)
class Changes:
    """What one cell did to the namespace. When a name leaves a co-variable, the rest of that co-variable counts as
    changed.

    known: digests of the large blocks that the session already holds of earlier versions of the changed variables.
    failed: variables that changed and cannot be serialised.
    reads: variables whose value from before the cell the cell may have used.
    reads_all: whether it may have used any variable.
    effects: what it did outside of the process, in words for the user.
    begun: work in the background that goes on.
    gpus: the GPUs that the cell had in use.
    spool: where the long pickles among `changed` are, if there are any.
    """

    changed: list[Pickled] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    deleted: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    reads_all: bool = False
    effects: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    spool: _native.Spool | None = None


@dataclass(frozen=True, slots=True)
class Adopted:
    """A co-variable of a commit that was loaded from the log. stored: digests of its large blocks."""

    names: tuple[str, ...]
    stored: frozenset[str]


class Detector(Protocol):
    """Knows the namespace as it was last reported or applied. Every call is made on the main thread, between cells."""

    unsettled: bool  # Whether a value that was adopted has not been pickled yet to see what it shares.

    def changes(self, accesses: Accesses, beside: Mapping[str, Any] | None = None) -> Changes:
        """What has changed since the last call. The buffers of the result are views of live objects.

        beside: all objects beside the namespace that a commit holds, by names that no variable can have. They are
        treated as variables are, and may share objects with variables. None: the same objects as at the last call.
        """

    def adopt(
        self, changed: Iterable[Adopted], deleted: Iterable[str], beside: Mapping[str, Any] | None = None
    ) -> None:
        """Take these co-variables as unchanged since their commit: the namespace has just been made a view of it."""

    def blocks(self, names: Iterable[str]) -> dict[str, Source]:
        """Large blocks of what these variables are now, by digest. A Source reads the live object when called."""

    def settle_for(self, accesses: Accesses) -> None:
        """Do at once the part of `settle` that a cell depends on: an adopted value that the cell may touch and that was
        not settled would count as changed.
        """

    def reads_of(self, accesses: Accesses, missing: Collection[str]) -> set[str]:
        """Which of the names in `missing`, which are not bound now, a cell may read: itself, or in a function that it
        calls.
        """

    def forget_stored(self, names: Iterable[str]) -> None:
        """Forget which blocks the session has of these variables, because what they are now is in no commit."""

    def settle(self) -> bool:
        """Do one step of the work that `adopt` left for idle time. False when nothing is left."""
