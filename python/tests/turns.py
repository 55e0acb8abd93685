"""Where several Pythons are tried, what takes long is done by turns: each does a share, together they do all of it.
BANYAN_TURN says whose turn it is: 2/4 is the second of four."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TypeVar

_NUMBER, _OF = map(int, os.environ.get("BANYAN_TURN", "1/1").split("/"))
_Test = TypeVar("_Test")


def examples(count: int) -> int:
    """How many random examples of a test are this turn's, when all take `count` together."""
    return math.ceil(count / _OF)


def share(tests: Sequence[_Test]) -> list[_Test]:
    """The tests that are this turn's."""
    return list(tests[_NUMBER - 1 :: _OF])
