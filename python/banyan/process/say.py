"""Plain lines on stderr for the user of the running cell."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable


def say(text: str) -> None:
    """Print one plain line. If that fails, nothing happens."""
    with contextlib.suppress(Exception):  # User code may have put any object there.
        print(f"banyan: {text}", file=sys.stderr)


def say_by_reason(reasons: Iterable[tuple[str, str]]) -> None:
    """Say of each name what its reason says. Names with the same reason share a line.

    reasons: pairs of a name and a reason, which is the rest of the sentence.
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        names.setdefault(reason, []).append(name)
    for reason, those in names.items():
        say(f"{', '.join(those)} {reason}")
