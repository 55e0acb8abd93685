"""Which GPUs this process uses, whichever library does: those whose device file it has open.

The host agent names the files in BANYAN_GPUS. A library opens one when it makes its context, and mostly keeps it open
to the end of the process: every cell from then on counts as one that needs the GPU.
"""

from __future__ import annotations

import contextlib
import os

_FILES = frozenset(map(os.path.realpath, filter(None, os.environ.get("BANYAN_GPUS", "").split(os.pathsep))))


def in_use(files: frozenset[str] = _FILES) -> int:
    """Their number; that of all where it cannot be found out."""
    if not files:
        return 0
    try:
        return len(files & _open_files())
    except OSError:  # the process may have no descriptor left to look with
        return len(files)


def _open_files() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the folder itself, and what a thread closes meanwhile
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return found
