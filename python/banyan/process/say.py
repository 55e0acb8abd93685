"""Plain lines on stderr, for the user of the cell that runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable


def say(text: str) -> None:
    """One plain line; nothing when it cannot be written."""
    with contextlib.suppress(Exception):  # user code may have put anything there
        print(f"banyan: {text}", file=sys.stderr)


def say_by_reason(reasons: Iterable[tuple[str, str]]) -> None:
    """What is so of names, and why: what many have in common is said once."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        names.setdefault(reason, []).append(name)
    for reason, those in names.items():
        say(f"{', '.join(those)} {reason}")
