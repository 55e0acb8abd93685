"""Context variables of the user: what cells set them to.

asyncio gives each task a context of its own, and a variable that was set in one context is not set in another. Cells
share one context, but a cell that is repeated has its own, and so has the process that a session moves to.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from banyan.reducers.context_vars import Variable, default_of, place
from banyan.state import own
from banyan.surroundings.part import Part, Resists

# Which version of `Contexts._known` was set in this context.
_entered: contextvars.ContextVar[int] = contextvars.ContextVar("banyan: what was set here", default=0)

# This one is set in every context that uses decimals, and interpreter.py keeps it.
_DECIMAL = "decimal_context"

_Set = tuple[Variable, Any]


class Contexts:
    """What the user's context variables are set to where cells run, whichever context the caller is in."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._others = set(contextvars.copy_context())  # Variables that others than the user have set.
        self._known: dict[str, _Set] = {}
        self._version = 0

    def enter(self) -> None:
        """A cell is about to run in this context."""
        if _entered.get() == self._version:
            return
        wanted = {id(variable) for variable, _ in self._known.values()}
        for variable in [one for one in self._set_here() if id(one) not in wanted]:
            variable.set(*default_of(variable) or (None,))
        for variable, value in self._known.values():
            variable.set(value)
        _entered.set(self._version)

    def leave(self) -> None:
        """This was the context of a repeated cell. The next cell, which has another context, is to
        find what it has set.
        """
        self._version += 1

    def read(self) -> dict[str, _Set]:
        if _entered.get() != self._version:
            return self._known  # No cell runs in this context.
        found: dict[str, _Set] = {}
        for variable in self._set_here():
            value = variable.get()
            if (default := default_of(variable)) and default[0] is value:
                continue
            name = variable.name
            while name in found:
                name += "'"
            before = self._known.get(name, (None, None))
            found[name] = self._known[name] if before[0] is variable and before[1] is value else (variable, value)
        self._known = found
        return found

    def write(self, wanted: dict[str, _Set]) -> None:
        """Remember what is to be set when the next cell begins, in its context."""
        kept = {id(variable) for variable, _ in wanted.values()}
        reasons = {
            name: f"the context variable {variable.name} has no default, and Python has no way to unset it"
            for name, (variable, _) in self._known.items()
            if id(variable) not in kept and not default_of(variable) and self._has(variable)
        }
        self._known = dict(wanted)
        self._version += 1
        if reasons:
            raise Resists(reasons)

    def _set_here(self) -> list[Variable]:
        new = [one for one in contextvars.copy_context() if one not in self._others]
        if not new:
            return new
        for variable in new:
            found = place(variable)
            if variable.name == _DECIMAL or (found is not None and found[0] not in own.known):
                self._others.add(variable)
        return [one for one in new if one not in self._others and self._has(one)]

    def _has(self, variable: Variable) -> bool:
        """Whether a variable of the user is this context variable or contains it."""
        return any(one is variable for one in self._values())

    def _values(self) -> Iterator[Any]:
        for value in list(self._namespace.values()):
            yield value
            kind = type(value)
            if kind.__module__ == "__main__" or (kind is type and value.__module__ == "__main__"):
                yield from list(getattr(value, "__dict__", {}).values())
            elif kind in (dict, list, tuple) and len(value) < 100:
                yield from value.values() if kind is dict else value
        for name in list(own.known):
            yield from list(vars(sys.modules[name]).values()) if name in sys.modules else ()


def parts(contexts: Contexts) -> list[Part]:
    about = "context variables that cells set"
    return [Part("<context>", about, contexts.read, contexts.write, holds=True)]
