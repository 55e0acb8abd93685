"""Lines above a cell that say how it is to be run: `%%durable`, `%%gpus N` and `%%cpu`.

The platform acts on them before the cell begins (`directives_of` in src/node/cell_directives.cc). Here they are only
taken out of the code. Tags and metadata of a cell may say the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_DIRECTIVE = re.compile(r"%%(durable|cpu|gpus[ ]+[0-9]{1,4})\Z")


@magics_class
class DirectiveMagics(Magics):
    """The magics of these names, for their help and for what is written with them by mistake."""

    @cell_magic
    def durable(self, line: str, cell: str) -> None:
        """Wait with this cell's reply until all of its values are stored on a majority of the session's hosts."""
        raise UsageError("%%durable takes no words, and stands above all code of a cell")

    @cell_magic
    def gpus(self, line: str, cell: str) -> None:
        """Run this cell with so many GPUs of its host, and wait until they are free: `%%gpus 2`."""
        raise UsageError("%%gpus takes the number of GPUs, as in `%%gpus 2`, and stands above all code of a cell")

    @cell_magic
    def cpu(self, line: str, cell: str) -> None:
        """Run this cell without a GPU, whatever its kernel says."""
        raise UsageError("%%cpu takes no words, and stands above all code of a cell")


def without_directives(lines: list[str]) -> list[str]:
    """The lines without directives. The code keeps its line numbers, also below another magic of the whole cell."""
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        if not _DIRECTIVE.match(line.strip()):
            blanks, code = ["\n"] * at, lines[at:]
            return [code[0], *blanks, *code[1:]] if code[0].startswith("%%") else blanks + code
    return ["\n"] * len(lines)


class Directives:
    """Takes directives out of the cells of a shell, as an input transformer.

    It leaves what a running cell has transformed, as `%%time` does with its body: the platform has not seen directives
    there, and the magics of these names say so.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._running = 0
        shell.register_magics(DirectiveMagics)
        shell.events.register("pre_execute", self._begin)
        shell.events.register("post_execute", self._end)
        transformers = shell.input_transformers_cleanup
        # After IPython's own, which take blank lines and indentation away, and before those of other magics.
        own = sum(getattr(one, "__module__", "").startswith("IPython.") for one in transformers)
        transformers.insert(own, self)

    def __call__(self, lines: list[str]) -> list[str]:
        return lines if self._running else without_directives(lines)

    def _begin(self) -> None:
        self._running += 1

    def _end(self) -> None:
        self._running = max(0, self._running - 1)

    def remove(self) -> None:
        self._shell.events.unregister("pre_execute", self._begin)
        self._shell.events.unregister("post_execute", self._end)
        self._shell.input_transformers_cleanup.remove(self)
        manager = self._shell.magics_manager
        for name in DirectiveMagics.magics["cell"]:
            manager.magics["cell"].pop(name, None)
        manager.registry.pop(DirectiveMagics.__name__, None)
