"""Transforms a cell's source once, although the analysis, ipykernel and the shell each ask for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Transformed:
    """Replaces a shell's `transform_cell` and remembers the last result from `begin` to `end`, when
    no user code runs.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        one: Any = shell
        self._transform: Callable[[str], str] = one.transform_cell
        self._begun = False
        self._last: tuple[str, str] | None = None
        one.transform_cell = self

    def __call__(self, raw_cell: str) -> str:
        """Raises what the user's own transformers raise."""
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
        """The cell's first statement is about to run, or none will. From here on, user code may change
        the transformers.
        """
        self._begun, self._last = False, None
