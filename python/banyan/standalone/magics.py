"""The magic %banyan: where a kernel without the platform keeps its history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Keeper(Protocol):
    """What the magic needs of `Standalone`."""

    def status(self) -> str:
        """Where the history is kept, in words for the user."""

    def check(self) -> str:
        """Whether all of it is intact, in words for the user."""

    def move_to(self, path: Path) -> None:
        """Go on with the history that is kept at `path`. Raises UsageError."""


@magics_class
class LocalMagics(Magics):
    """The magic about the store. Those about the history are HistoryMagics."""

    def __init__(self, shell: InteractiveShell, keeper: Keeper) -> None:
        super().__init__(shell)
        self._keeper = keeper

    @line_magic
    def banyan(self, line: str) -> None:
        """Show where the history is kept. `store FILE`: go on with the one in FILE. `check`: read all of it."""
        match line.split(maxsplit=1):
            case [] | ["store"]:
                print(self._keeper.status())
            case ["check"]:
                print(self._keeper.check())
            case ["store", path]:
                self._keeper.move_to(Path(path.strip().strip("'\"")).expanduser().absolute())
            case _:
                raise UsageError("%banyan, %banyan store FILE, or %banyan check")
