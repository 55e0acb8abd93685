"""What the user is told on stderr of the cell that runs."""

from __future__ import annotations

import contextlib
import sys

from banyan.detect import Changes


def say(text: str) -> None:
    """One plain line; nothing when it cannot be written."""
    with contextlib.suppress(Exception):  # user code may have put anything there
        print(f"banyan: {text}", file=sys.stderr)


def name_failures(changes: Changes, consequence: str) -> None:
    """Name the variables that no commit can hold."""
    for failure in changes.failed:
        if failure.news:
            say(f"{failure.name!r} ({failure.type_name}) {consequence.format(reason=failure.reason)}")
