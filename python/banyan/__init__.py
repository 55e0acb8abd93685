"""The Python side of Banyan: the worker of a session, and `%load_ext banyan` for a kernel without the platform.

python/README.md lists the packages inside and says which may import which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext banyan`: undo and time travel in this kernel."""
    from banyan.standalone import extension as standalone

    standalone.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext banyan`: leave the kernel as it was."""
    from banyan.standalone import extension as standalone

    standalone.unload(shell)
