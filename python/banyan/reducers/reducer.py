"""What a reducer is: a function that says how objects of a type are pickled.

`state/serialise.py` calls reducers; the other files here and `banyan.clusters` have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from banyan.reducers.memory import Memory


class Pickling(Protocol):
    """What a reducer sees of the pickling that an object is part of."""

    memory: Memory
    uses: set[str]
    parted: bool  # Whether a view of an array is pickled as what it shows, because nobody else is to share its memory.

    def copies(self, cls: type) -> bool:
        """Whether a class, or a base of it, is copied in place."""

    def apart(self, obj: object, *, parted: bool = False) -> tuple[Any, ...]:
        """Pickle a value now and apart from the rest, and say how to load it. What it holds links nothing.

        parted: as the attribute, for this value.
        """


# Takes an object and the pickling that it is part of, and answers as `Pickler.reducer_override` does.
Reducer = Callable[[Any, Pickling], Any]
