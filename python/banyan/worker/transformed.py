"""A cell's source is transformed once: for its analysis, by ipykernel, and by the shell, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Transformed:
    """Takes the place of a shell's `transform_cell`. From `begin` to `end` no user code runs."""

    def __init__(self, shell: InteractiveShell) -> None:
        one: Any = shell
        self._transform: Callable[[str], str] = one.transform_cell
        self._begun = False
        self._last: tuple[str, str] | None = None
        one.transform_cell = self

    def __call__(self, raw_cell: str) -> str:
        """Raises what the transformers of the user do."""
        last = self._last
        if last is not None and last[0] == raw_cell:
            return last[1]
        transformed = self._transform(raw_cell)
        if self._begun:
            self._last = raw_cell, transformed
        return transformed

    def begin(self) -> None:
        """A cell is about to begin."""
        self._begun, self._last = True, None

    def end(self) -> None:
        """Its first statement is about to run, or none does: the transformers may be other ones from here on."""
        self._begun, self._last = False, None
