"""How many GPUs this process uses, with whichever library: those whose device file it has open.

The host agent lists the files in BANYAN_GPUS. A library opens one when it makes its context, and mostly keeps it open
until the process ends: every cell from then on counts as one that needs the GPU.
"""

from __future__ import annotations

import contextlib
import os

_FILES = frozenset(map(os.path.realpath, filter(None, os.environ.get("BANYAN_GPUS", "").split(os.pathsep))))


def in_use(files: frozenset[str] = _FILES) -> int:
    """The number of GPUs in use. If that cannot be found out, all are counted."""
    if not files:
        return 0
    try:
        return len(files & _open_files())
    except OSError:  # The process may have no descriptor left for reading the folder.
        return len(files)


def _open_files() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # The descriptor of the folder itself, or one that a thread has just closed.
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return found
