"""Failpoints: places in the code at which a test lets this process die, between two steps that must
be all or nothing.
"""

from __future__ import annotations

import os
import signal

_folder = os.environ.get("BANYAN_FAILPOINTS")


def reach(name: str) -> None:
    """End the process if the folder that BANYAN_FAILPOINTS names has a file of this name. The file is removed first."""
    if _folder is None:
        return
    try:
        os.unlink(f"{_folder}/{name}")
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
