"""Places where a test has this process die: between two steps that must be all or nothing."""

from __future__ import annotations

import os
import signal

_folder = os.environ.get("BANYAN_FAILPOINTS")


def reach(name: str) -> None:
    """End the process when the folder that BANYAN_FAILPOINTS names has a file of this name, which goes first."""
    if _folder is None:
        return
    try:
        os.unlink(f"{_folder}/{name}")
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
