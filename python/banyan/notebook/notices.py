"""What the user is told on stderr after a cell: which values cannot be saved, and which work goes on."""

from __future__ import annotations

from collections.abc import Iterable

from banyan.process.say import say, say_by_reason
from banyan.state.changes import Changes, Failure
from banyan.surroundings.part import Unkept

_EFFECTS_SHOWN = 3
# What may take a value away: on the platform, and in a kernel without it.
MOVING = "an undo of later cells, a suspension, a move or a failover"
LOCAL = "an %undo of later cells, or a %checkout,"


def name_failures(changes: Changes, where: str) -> None:
    """Name the variables that no commit can hold, and say what becomes of them.

    where: what may take a value away, MOVING or LOCAL.
    """
    say_by_reason(
        (_described(failure), f"cannot be saved: {failure.reason}; {_fate(changes, where)}")
        for failure in changes.failed
        if failure.news
    )


def _described(failure: Failure) -> str:
    """The name of a variable with its type. An Unkept stands for something else, so its type is left out."""
    is_seen = failure.type_name != f"{Unkept.__module__}.{Unkept.__qualname__}"
    return f"{failure.name!r} ({failure.type_name})" if is_seen else repr(failure.name)


def name_work(begun: Iterable[str]) -> None:
    """Name the work that goes on when its cell has ended, and say what becomes of it."""
    if texts := ", ".join(begun):
        say(
            f"goes on after this cell: {texts}. It lives in this process only: a move or a suspension asks first and "
            "brings along what it has done by then; a failover ends it, and loses what it did since the last cell; an "
            "undo does not end it"
        )


def _fate(changes: Changes, where: str) -> str:
    if changes.effects:
        shown = ", ".join(changes.effects[:_EFFECTS_SHOWN]) + (", …" if len(changes.effects) > _EFFECTS_SHOWN else "")
        return (
            f"lost after {where}, for this cell does not run again by itself: it would do the same outside of the "
            f"session once more ({shown}); %rerun always in the cell allows that"
        )
    if changes.begun and where != LOCAL:
        return (
            "lost after a suspension, a move or a failover, for this cell does not run again in another process: it "
            f"would do twice what it has begun ({', '.join(changes.begun[:_EFFECTS_SHOWN])}); %rerun always in the "
            "cell allows that"
        )
    return (
        f"after {where} it is made again by running its cells again, when something reads it, if these take less than "
        "a minute and did nothing outside of the session"
    )
