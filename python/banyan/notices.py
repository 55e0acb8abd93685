"""What the user is told on stderr of the cell that runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable

from banyan.detect import Changes


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


def name_failures(changes: Changes, consequence: str) -> None:
    """Name the variables that no commit can hold."""
    say_by_reason(
        (f"{failure.name!r} ({failure.type_name})", consequence.format(reason=failure.reason))
        for failure in changes.failed
        if failure.news
    )
