"""Each kind of setting of `kinds.py`: moved to another worker, undone, redone, checked out and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kinds import KINDS, Kind
from kinds_ipython import CONTEXT, IPYTHON
from kinds_torch import TORCH
from test_replication import Pair, pair
from test_standalone import Kernel, kernel

__all__ = ["kernel", "pair"]

_ALL = pytest.mark.parametrize(
    "kind", [pytest.param(each, id=each.name) for each in [*KINDS, *CONTEXT, *IPYTHON, *TORCH] if each.is_here]
)


@_ALL
def test_goes_along_to_another_worker_and_becomes_what_it_was_when_it_is_undone(pair: Pair, kind: Kind) -> None:
    pair.run(kind.before)
    at_first = pair.standby.value(kind.look)
    before = pair.executor.value(kind.look)
    cell = pair.run(kind.change)
    after = pair.executor.value(kind.look)
    assert after != before
    assert pair.standby.value(kind.look) == after
    around = [name for names in cell.changed for name in names if name.startswith("<")]
    assert around, cell.changed
    assert pair.standby.follow(deleted=around) == []
    assert pair.standby.value(kind.look) == at_first
    assert not [name for names in pair.executor.run("pass").changed for name in names if name.startswith("<")]


@_ALL
def test_is_undone_redone_and_checked_out(kernel: Callable[..., Kernel], kind: Kind) -> None:
    one = kernel()
    one.run("%load_ext banyan")
    one.run(kind.before)
    one.run("%tag before")
    before = one.value(kind.look)
    assert one.run(kind.change).status == "ok"
    one.run("%tag after")
    after = one.value(kind.look)
    assert after != before
    for magic, expected in (
        ("%undo", before),
        ("%redo", after),
        ("%checkout before", before),
        ("%checkout after", after),
    ):
        cell = one.run(magic)
        assert cell.status == "ok", f"{magic}: {cell.error}"
        assert one.value(kind.look) == expected, f"{magic}: {cell}"
