"""What a reducer is: it says how objects of a type are pickled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from banyan.reducers.memory import Memory


class Pickling(Protocol):
    """What a reducer sees of the pickling that an object is part of."""

    memory: Memory
    uses: set[str]
    parted: bool  # of one value, whose arrays nobody else is to share: a view is pickled as what it shows

    def copies(self, cls: type) -> bool:
        """Whether a class, or a base of it, is copied in place."""

    def apart(self, obj: object, *, parted: bool = False) -> tuple[Any, ...]:
        """How to load a value that is pickled now, apart from the rest: what it holds is no link."""


# Takes an object and the pickling that it is part of, and answers as `reducer_override` does.
Reducer = Callable[[Any, Pickling], Any]
