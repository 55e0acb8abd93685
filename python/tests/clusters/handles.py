"""Handles on clusters, one row of the guide's table each, and what becomes of them."""

from __future__ import annotations

import enum
import importlib.util
from dataclasses import dataclass


class Fate(enum.StrEnum):
    """What another process has of it."""

    KEPT = "kept"  # needs no cluster
    AGAIN = "connected again"
    NAMED = "named"


@dataclass(frozen=True)
class Handle:
    """A cell binds `x`, where `connect` has run; `look` changes nothing, and its value says that `x` is of use.

    fate: when the session goes to another process, whether the one it came from is alive or has ended. inside: when
    the cluster is one that the session's own process has started. reason: part of what is said where it is named.
    """

    kind: str
    make: str
    look: str = "x"
    fate: Fate = Fate.NAMED
    inside: Fate = Fate.NAMED
    form: str = ""
    reason: str = ""
    needs: str = ""  # another module than the library's

    @property
    def title(self) -> str:
        return f"{self.kind} ({self.form})" if self.form else self.kind

    @property
    def is_here(self) -> bool:
        return not self.needs or importlib.util.find_spec(self.needs) is not None


@dataclass(frozen=True)
class Library:
    """connect: binds `client` to the cluster at ADDRESS; inside: to one that the cell starts."""

    name: str
    connect: str
    inside: str
    handles: tuple[Handle, ...]


def kept(kind: str, make: str, look: str = "x", form: str = "", needs: str = "") -> Handle:
    return Handle(kind, make, look, Fate.KEPT, Fate.KEPT, form, needs=needs)


def again(kind: str, make: str, look: str = "x", form: str = "") -> Handle:
    return Handle(kind, make, look, Fate.AGAIN, Fate.NAMED, form)


def named(kind: str, make: str, reason: str, form: str = "", needs: str = "") -> Handle:
    return Handle(kind, make, form=form, reason=reason, needs=needs)
