"""Random notebooks over containers, classes and closures: a travel shows what a fresh run of the cells makes (P6)."""

from __future__ import annotations

import pytest
from fuzzing import run_random
from programs import OBJECTS, programs


@pytest.mark.parametrize("share", range(5))
def test_containers_classes_and_closures(share: int) -> None:
    run_random(programs(OBJECTS), share)
