"""What operators see at a terminal while a command takes long."""

import os
import pty
import re
import subprocess

from harness.client import Connection
from harness.platform import Platform, binary


def at_a_terminal(platform: Platform, *arguments: str) -> list[str]:
    """The lines that an operator's command shows at a terminal, in their order, also those that are drawn over."""
    ours, theirs = pty.openpty()
    place = ["--url", platform.gateway.url, "--token", platform.gateway.token]
    with subprocess.Popen([binary(), *arguments, *place], stdout=theirs, stderr=theirs) as command:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 1 << 16):
                shown += data
        except OSError:
            pass  # the end of a terminal
    os.close(ours)
    assert command.returncode == 0, shown
    return [line for line in re.split(r"[\r\n]+", shown.decode()) if line.strip()]


def test_a_suspension_shows_what_it_copies(platform: Platform, kernel: str, session: Connection) -> None:
    session.run("import numpy as np")
    session.run("a = np.random.default_rng(2).random(60_000_000)", timeout=60)
    lines = at_a_terminal(platform, "suspend", kernel)
    bars = [line for line in lines if "of large values are being copied [" in line]
    full = [line.count("#") for line in bars]
    assert bars and full == sorted(full) and full[-1] > full[0], "a bar that grows"
    assert lines[-1] == "the session is suspended"
