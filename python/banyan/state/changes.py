"""What a cell changed, and the one interface to what finds that out: another implementation can take its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from banyan import _native
from banyan.state.access import Accesses
from banyan.state.serialise import Pickled, Source


@dataclass(frozen=True, slots=True)
class Failure:
    """A variable that cannot be replicated (`type_name` says what it holds), or not be loaded.

    news: it was not so before, or it is bound anew. alone: as far as one sees, it shares no objects with other
    variables.
    """

    name: str
    type_name: str
    reason: str
    news: bool = True
    alone: bool = False


@dataclass(slots=True)
class Changes:
    """What one cell did to the namespace. A name that leaves a co-variable makes the rest of it changed too.

    known: blocks that the session has already, of what these variables were before (digests of large ones).
    failed: they changed, and cannot be serialised. reads: variables that the cell may have used as they were before;
    reads_all: any of them. effects: what it did outside of the process, for a person. gpus: how many it had in use.
    begun: work in the background that goes on. spool: has the long pickles of `changed`, if anything has.
    """

    changed: list[Pickled] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    deleted: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    reads_all: bool = False
    effects: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    gpus: int = 0
    spool: _native.Spool | None = None


@dataclass(frozen=True, slots=True)
class Adopted:
    """A co-variable of a commit of another replica. stored: digests of its large blocks."""

    names: tuple[str, ...]
    stored: frozenset[str]


class Detector(Protocol):
    """Knows the namespace as it was last reported or applied. Every call is made on the main thread, between cells."""

    unsettled: bool  # what was adopted has not all been looked at

    def changes(self, accesses: Accesses, beside: Mapping[str, Any] | None = None) -> Changes:
        """What changed since the last call. The buffers of the result are views of live objects.

        beside: objects that the process holds beside the namespace, all of them, by names that no variable can have:
        they take part as variables do, and may share objects with them. None: those of the last call.
        """

    def adopt(
        self, changed: Iterable[Adopted], deleted: Iterable[str], beside: Mapping[str, Any] | None = None
    ) -> None:
        """The namespace was made to follow a commit of another replica: these co-variables are as reported."""

    def blocks(self, names: Iterable[str]) -> dict[str, Source]:
        """How to get large blocks of what these variables are now, by digest. Views of the live objects."""

    def settle_for(self, accesses: Accesses) -> None:
        """Do so for what a cell may touch, before it runs: else it would count as changed."""

    def reads_of(self, accesses: Accesses, missing: Collection[str]) -> set[str]:
        """Which of these names, that the namespace does not have, a cell may read: itself, or what it calls."""

    def forget_stored(self, names: Iterable[str]) -> None:
        """What these variables are now is in no commit: none of their blocks is known."""

    def settle(self) -> bool:
        """Do one step of the work that `adopt` left for idle time; False when there is none."""
