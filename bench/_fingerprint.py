"""The fingerprints' part of `bench state`, in a process of its own: prints one JSON object, CPU seconds by object.

For each object `s` (the fingerprint), `pickle_s` (pickle protocol 5, in one string) and `pickle_out_of_band_s` (large
buffers are left where they are, not even read). Garbage collection is off, as in the worker.
"""

import argparse
import gc
import json
import pickle
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import numpy as np
import pandas as pd
from banyan.state.serialise import dump


class Point:
    """One of 100,000."""

    def __init__(self, x: float, y: float) -> None:
        self.x = x
        self.y = y
        self.tags = [x > y]


def fingerprint(value: object) -> object:
    """The fingerprint that change detection compares."""
    return dump({"value": value}).parts


def frame(*, strings: bool) -> pd.DataFrame:
    generator = np.random.default_rng(2)
    made = pd.DataFrame({name: generator.standard_normal(1_000_000) for name in "abc"})
    if strings:
        made["name"] = [f"customer-{number:06}" for number in generator.integers(0, 50_000, 1_000_000)]
    return made


def small_dicts() -> dict[str, dict[str, object]]:
    return {f"key-{n}": {"id": n, "score": random.random(), "label": f"item {n}"} for n in range(100_000)}


OBJECTS: dict[str, Callable[[], Any]] = {
    "list_1e6_ints": lambda: [random.randrange(1 << 31) for _ in range(1_000_000)],
    "dict_1e5_dicts": small_dicts,
    "frame_numbers": lambda: frame(strings=False),
    "frame_strings": lambda: frame(strings=True),
    "array_100mb": lambda: np.random.default_rng(1).standard_normal(12_500_000),
    "set_1e6_texts": lambda: {f"customer-{number:07}" for number in range(1_000_000)},
    "instances_1e5": lambda: [Point(random.random(), random.random()) for _ in range(100_000)],
}


def measure(make: Callable[[], Any], repeat: int) -> dict[str, float]:
    value = make()
    ways: dict[str, Callable[[], object]] = {
        "s": lambda: fingerprint(value),
        "pickle_s": lambda: pickle.dumps(value, protocol=5),
        "pickle_out_of_band_s": lambda: pickle.dumps(value, protocol=5, buffer_callback=[].append),
    }
    took: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeat):
        for way, run in ways.items():
            gc.collect()
            gc.disable()
            start = time.process_time()
            run()
            took[way].append(time.process_time() - start)
            gc.enable()
    return {way: statistics.median(samples) for way, samples in took.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    random.seed(1)
    print(json.dumps({name: measure(make, options.repeat) for name, make in OBJECTS.items()}))


if __name__ == "__main__":
    main()
