"""`_`, `Out` and their kin in another process than the one that made them."""

from __future__ import annotations

import pytest
from test_replication import Pair, pair

__all__ = ["pair"]


@pytest.mark.parametrize("use", ["_.shape", "_ + 1", "len(__)", "_2[0]", "Out[3].name", "[each for each in _]"])
def test_whoever_uses_one_is_told_that_it_did_not_come_along(pair: Pair, use: str) -> None:
    pair.run("x = 1")
    pair.run("[x]")
    pair.run("'text'")
    error = pair.standby.run(use, allow_error=True).error
    assert error is not None and "stayed in the process that made it" in error and "run its cell again" in error


def test_they_are_as_ever_where_they_were_made_and_for_what_comes(pair: Pair) -> None:
    pair.run("x = [1]")
    pair.run("x")
    assert pair.executor.value("_, Out[2] is x, _2 is x") == "([1], True, True)"
    pair.standby.run("7")
    assert pair.standby.value("_, _ == Out[max(Out)]") == "(7, True)"
