"""Interactive sessions made up after the published quantiles of NotebookOS's trace, which is not public: when each
session begins, and for each of its cells how long its person thinks before and how long it runs.

Source: NotebookOS (ASPLOS '26): cells run 2, 5, 17, 36, 182 minutes at the quantiles 50, 75, 90, 95, 99; the next one
comes 5 and 8 minutes later at 50 and 75, and never before 4. Most sessions use their GPUs a small part of the time:
people go away, which this models by long pauses. Of 90 sessions 17 to 20 cells run at a time, as there.
"""

import bisect
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

MINUTE = 60.0
# Quantile and minutes; between two of them the logarithm of the time grows evenly.
RUNS = ((0.0, 0.1), (0.5, 2.0), (0.75, 5.0), (0.9, 17.0), (0.95, 36.0), (0.99, 182.0), (1.0, 300.0))
THINKS = ((0.0, 4.0), (0.5, 5.0), (0.75, 8.0), (1.0, 20.0))
AWAY_SHARE = 0.2  # of the pauses
AWAY_MEAN = 150.0 * MINUTE
# GPUs of a session's cells, and the share of the sessions that have so many. The paper does not say.
GPUS = ((1, 0.95), (2, 0.05))
ARRIVE_WITHIN = 0.5  # of the trace, evenly


@dataclass(frozen=True)
class Cell:
    """think_s: from the end of the cell before, or from when the session began. In seconds of the trace."""

    think_s: float
    run_s: float


@dataclass(frozen=True)
class Plan:
    """One session. start_s: from the begin of the trace."""

    start_s: float
    gpus: int
    cells: tuple[Cell, ...]


def draw(quantiles: Sequence[tuple[float, float]], at: float) -> float:
    """The value at a quantile (0 to 1) of a distribution that is given by some of them."""
    after = min(max(bisect.bisect_left([quantile for quantile, _ in quantiles], at), 1), len(quantiles) - 1)
    (low, from_value), (high, to_value) = quantiles[after - 1], quantiles[after]
    share = (at - low) / (high - low)
    return math.exp(math.log(from_value) * (1 - share) + math.log(to_value) * share)


def plans(count: int, hours: float, seed: int) -> list[Plan]:
    """`count` sessions of a trace of so many hours, by when they begin. Their cells are those that would run in it if
    none had to wait, and what they run until its end."""
    rng = random.Random(seed)
    length = hours * 60 * MINUTE
    sessions = []
    for start in sorted(rng.uniform(0, ARRIVE_WITHIN * length) for _ in range(count)):
        gpus = rng.choices([number for number, _ in GPUS], [share for _, share in GPUS])[0]
        cells: list[Cell] = []
        now = start
        while True:
            think = draw(THINKS, rng.random()) * MINUTE if cells else MINUTE
            if cells and rng.random() < AWAY_SHARE:
                think += rng.expovariate(1 / AWAY_MEAN)
            now += think
            if now >= length:
                break
            run = min(draw(RUNS, rng.random()) * MINUTE, length - now)
            cells.append(Cell(think, run))
            now += run
        sessions.append(Plan(start, gpus, tuple(cells)))
    return sessions


def gpu_seconds(sessions: Sequence[Plan]) -> float:
    """GPUs times seconds that the cells run, whatever they wait."""
    return sum(plan.gpus * sum(cell.run_s for cell in plan.cells) for plan in sessions)
