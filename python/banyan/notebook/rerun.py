"""What the author of a cell says about repeating it: by `%rerun`, by `%%rerun` above the cell, or by one of its tags.

With `never`, a plan may not repeat the cell by itself. With `always` it may, whatever the cell does
outside of the session.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.restore.effects import Effects

_EFFECT = "its author's %rerun never"
_NEVER, _ALWAYS = "rerun-never", "rerun-always"  # Tags of a cell.


@magics_class
class RerunMagics(Magics):
    """The magic %rerun. `never` is noted as an effect, so that the cell is repeated only where
    somebody says --repeat.
    """

    def __init__(self, shell: InteractiveShell, effects: Effects) -> None:
        super().__init__(shell)
        self._effects = effects

    @line_magic
    def rerun(self, line: str) -> None:
        """Say whether this cell may run again by itself, to make a value again: %rerun never, %rerun always.

        always: also where it writes files or uses the network. never wins.
        """
        match line.strip():
            case "never":
                self._effects.note(_EFFECT)
            case "always":
                self._effects.allow()
            case _:
                raise UsageError("%rerun takes one word: never or always")


def tags_of(request: object) -> frozenset[str]:
    """The tags of the cell in an execute_request: JupyterLab sends the cell's metadata with it."""
    metadata = request.get("metadata") if isinstance(request, dict) else None
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return frozenset(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list | tuple) else frozenset()


def note_tags(tags: Collection[str], effects: Effects) -> None:
    """Do for the tags `rerun-never` and `rerun-always` what `%rerun` does."""
    if _NEVER in tags:
        effects.note(_EFFECT)
    if _ALWAYS in tags:
        effects.allow()


def as_line(lines: list[str]) -> list[str]:
    """An input transformer that turns `%%rerun` into a line magic, so that the rest of the cell is analysed as code."""
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%rerun"):
        return [*lines[:first], lines[first][1:], *lines[first + 1 :]]
    return lines


def register(shell: InteractiveShell, effects: Effects) -> None:
    """Register `%rerun` and `%%rerun`. effects: collects what they say of the running cell."""
    shell.register_magics(RerunMagics(shell, effects))
    shell.input_transformers_cleanup.append(as_line)
