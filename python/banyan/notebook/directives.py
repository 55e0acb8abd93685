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

_DIRECTIVE = re.compile(r"%%(durable|cpu|gpus[ ]+[0-9]+)\Z")


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
    """An input transformer that takes them out. The other lines keep their numbers."""
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        if not _DIRECTIVE.match(line.strip()):
            return ["\n"] * at + lines[at:]
    return ["\n"] * len(lines)


def register(shell: InteractiveShell) -> None:
    """Register them."""
    shell.register_magics(DirectiveMagics)
    transformers = shell.input_transformers_cleanup
    # After IPython's own, which take blank lines and indentation away, and before those of other magics.
    own = sum(one.__module__.startswith("IPython.") for one in transformers)
    transformers.insert(own, without_directives)
