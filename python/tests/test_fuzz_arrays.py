"""Random notebooks over arrays and their views: a travel shows what a fresh run of the cells makes (P6)."""

from __future__ import annotations

import pytest
from fuzzing import run_random
from programs import ARRAYS, programs


@pytest.mark.parametrize("share", range(5))
def test_arrays_and_their_views(share: int) -> None:
    run_random(programs(ARRAYS), share)
