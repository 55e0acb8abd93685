"""What operators see at a terminal while a command takes long."""

import re

from harness.client import Connection
from harness.platform import Platform, binary
from harness.terminal import Terminal


def at_a_terminal(platform: Platform, *arguments: str) -> list[str]:
    """The lines that an operator's command shows at a terminal, in their order, also those that are drawn over."""
    place = ["--url", platform.gateway.url, "--token", platform.gateway.token]
    with Terminal([binary(), *arguments, *place]) as terminal:
        assert terminal.exit_code() == 0, terminal.text
    return [line for line in re.split(r"[\r\n]+", terminal.text) if line.strip()]


def test_a_suspension_shows_what_it_copies(platform: Platform, kernel: str, session: Connection) -> None:
    session.run("import numpy as np")
    session.run("a = np.random.default_rng(2).random(60_000_000)", timeout=60)
    lines = at_a_terminal(platform, "suspend", kernel)
    bars = [line for line in lines if "of large values are being copied [" in line]
    full = [line.count("#") for line in bars]
    assert bars and full == sorted(full) and full[-1] > full[0], "a bar that grows"
    assert lines[-1] == "the session is suspended"
