"""Settings drawn at random: after a move each is as before, or its loss was named before."""

from __future__ import annotations

import os
import random

from drawn_settings import Setting, draw
from kinds import KINDS, NAMED
from kinds_torch import TORCH
from test_replication import Pair, pair

__all__ = ["pair"]

_COUNT = 100


def _drawn(rng: random.Random, count: int) -> list[Setting]:
    """Each kind at most once: some cannot be set twice, as a colormap that is registered already."""
    kinds = rng.sample([each for each in (*KINDS, *TORCH, *NAMED) if each.is_here], count // 5)
    settings = [Setting(kind.before, kind.change, kind.look) for kind in kinds]
    settings += [draw(rng) for _ in range(count - len(settings))]
    rng.shuffle(settings)
    return settings


def test_it_is_as_before_or_its_loss_was_named_before(pair: Pair) -> None:
    seed = int(os.environ.get("BANYAN_SETTINGS_SEED", random.SystemRandom().randrange(10**9)))
    print(f"BANYAN_SETTINGS_SEED={seed}")
    rng = random.Random(seed)
    for setting in _drawn(rng, _COUNT):
        failed = []
        for code in (setting.before, setting.change):
            cell = pair.executor.run(code)
            failed += cell.failed
            pair.standby.apply(cell, code)
        here, there = pair.executor.value(setting.look), pair.standby.value(setting.look)
        assert here == there or failed, f"{setting}, seed {seed}: {here} here, {there} there, and nobody said so"
