"""How the fuzz tests run random notebooks, and how a failure is brought back."""

from __future__ import annotations

import os
import random

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from programs import Step
from travels import travel

# Of each test; ./dev test asks for more.
_EXAMPLES = int(os.environ.get("BANYAN_FUZZ_EXAMPLES", "200"))
_SEED = int(os.environ.get("BANYAN_FUZZ_SEED", random.SystemRandom().randrange(1 << 32)))


def run_random(notebooks: st.SearchStrategy[list[Step]], share: int) -> None:
    """Travel through random notebooks; `share` makes them others. A failure says which command finds it again."""

    @seed(_SEED + share)
    @settings(max_examples=_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(notebooks)
    def tell(steps: list[Step]) -> None:
        travel(steps)

    try:
        tell()
    except BaseException:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        print(f"again: BANYAN_FUZZ_SEED={_SEED} BANYAN_FUZZ_EXAMPLES={_EXAMPLES} python -m pytest 'python/{test}'")
        raise
