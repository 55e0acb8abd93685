"""`%%durable` above a cell: its reply waits until a majority of hosts has stored all of its values, the large ones too.

The host agent acts on it (`wants_durable` in src/node/cell_run.cc), before the cell begins. Here the line is only taken
out of the code. The tag `durable` does the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@magics_class
class DurableMagics(Magics):
    """The magic %%durable, for its help and for what is written with it by mistake."""

    @cell_magic
    def durable(self, line: str, cell: str) -> None:
        """Wait with this cell's reply until all of its values are stored on a majority of the session's hosts."""
        raise UsageError("%%durable is the first line of a cell, and takes no words")


def without_line(lines: list[str]) -> list[str]:
    """An input transformer that takes `%%durable` out. The other lines keep their numbers."""
    if lines and lines[0].strip() == "%%durable":
        return ["\n", *lines[1:]]
    return lines


def register(shell: InteractiveShell) -> None:
    """Register `%%durable`."""
    shell.register_magics(DurableMagics)
    transformers = shell.input_transformers_cleanup
    # After IPython's own, which take blank lines and indentation away, and before those of other magics.
    transformers.insert(sum(one.__module__.startswith("IPython.") for one in transformers), without_line)
