"""Repeats cells for values that no commit holds, and compares what they make with what the log says."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from banyan.restore.held_back import held_back
from banyan.state.changes import Changes

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.restore.leftovers import Leftovers


@dataclass(slots=True)
class Repeated:
    """What a repeated cell did.

    made: names whose values are what the cell made at first.
    changed: other names that it bound, changed or deleted.
    error: why it ended otherwise than at first; empty if it did not.
    """

    made: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    error: str = ""


async def run_again(
    shell: InteractiveShell, leftovers: Leftovers, code: str, fails: bool, loop: asyncio.AbstractEventLoop | None
) -> str:
    """Run a cell again, unheard and without a number. Returns why it ended otherwise than at first;
    empty if it did not.

    An interrupt ends it. fails: whether the cell failed at first. held_back.py and leftovers.py say what it does not
    do a second time.
    """
    if resists := leftovers.end(code, loop):
        return resists
    preparation: Any = None
    try:
        transformed = shell.transform_cell(code)
    except Exception:
        transformed, preparation = code, sys.exc_info()
    saved = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with held_back(shell, leftovers.ran_here(code)), leftovers.replacing(code):
            try:
                result = await shell.run_cell_async(
                    code, silent=True, transformed_cell=transformed, preprocessing_exc_tuple=preparation
                )
            finally:
                # matplotlib shows and closes its figures at this event, unseen here; otherwise the next cell
                # would show them.
                shell.events.trigger("post_execute")
    except KeyboardInterrupt:
        return "running its cell again was interrupted"
    finally:
        signal.signal(signal.SIGINT, saved or signal.SIG_DFL)
    raised = result.error_before_exec or result.error_in_exec
    if raised is not None and not fails:
        return f"running its cell again failed: {type(raised).__name__}: {raised}"
    if raised is None and fails:
        return "its cell failed, and does not when it runs again"
    return ""


def at_once(cell: Coroutine[Any, Any, str]) -> str:
    """The result of `run_again` for a cell that awaits nothing. One that awaits is closed, and not run to its end."""
    try:
        cell.send(None)
    except StopIteration as end:
        return str(end.value)
    cell.close()
    return "its cell awaits something"


def compare(changes: Changes, makes: Iterable[Mapping[str, Any]]) -> Repeated:
    """What a repeated cell has changed.

    makes: what it made at first, each with `names` and the digests of its `blocks`.
    """
    expected: dict[Sequence[str], list[str]] = {tuple(value["names"]): value["blocks"] for value in makes}
    result = Repeated()
    for pickled in changes.changed:
        same = expected.get(pickled.names) == [digest for part in pickled.parts for digest, _ in part]
        (result.made if same else result.changed).extend(pickled.names)
    for failure in changes.failed:
        same = expected.get((failure.name,)) == []
        (result.made if same else result.changed).append(failure.name)
    result.changed += changes.deleted
    return result
