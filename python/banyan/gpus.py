"""Which GPUs this process uses, whichever library does: those whose device file it has open.

The host agent names the files in BANYAN_GPUS. A library opens one when it makes its context, and mostly keeps it open
to the end of the process: every cell from then on counts as one that needs the GPU.
"""

from __future__ import annotations

import os

_FILES = frozenset(filter(None, os.environ.get("BANYAN_GPUS", "").split(os.pathsep)))


def in_use(files: frozenset[str] = _FILES) -> int:
    """Their number."""
    return len(files & _open_files()) if files else 0


def _open_files() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:  # that of the folder itself, and what a thread closes meanwhile
            continue
    return found
