"""Shared by the Python benches: figures from samples, a table or one JSON object, progress on stderr."""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any


def arguments(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout and nothing else")
    return parser


def percentile(samples: Sequence[float], percent: int) -> float:
    """The percentile of samples, interpolated between them; `percent` is 1 to 99."""
    return statistics.quantiles(samples, n=100, method="inclusive")[percent - 1]


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def bar(done: int, total: int, text: str) -> None:
    """Shows how far a long bench has come: with a bar on a terminal, with lines elsewhere."""
    if not sys.stderr.isatty():
        progress(f"{done} of {total}: {text}")
        return
    filled = 30 * done // total
    print(f"\r\033[K[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} {text}", end="", file=sys.stderr, flush=True)
    if done == total:
        print(file=sys.stderr)


def wait(seconds: int, text: str) -> None:
    """Waits, and shows how far that has come."""
    for second in range(seconds):
        bar(second, seconds, text)
        time.sleep(1)


def machine() -> dict[str, Any]:
    """The load of the machine, which belongs to the figures: a busy machine gives other figures than a quiet one."""
    return {"cores": os.cpu_count(), "load_1min": round(os.getloadavg()[0], 2)}


def rounded(figures: Any) -> Any:
    """The figures rounded to three decimals, also inside dicts and lists."""
    if isinstance(figures, Mapping):
        return {key: rounded(value) for key, value in figures.items()}
    if isinstance(figures, list):
        return [rounded(value) for value in figures]
    return round(figures, 3) if isinstance(figures, float) else figures


def report(figures: Mapping[str, Any], *tables: Sequence[Sequence[str]], as_json: bool) -> None:
    """Prints the figures as JSON or as tables. `tables` are rows of cells, the head first."""
    if as_json:
        print(json.dumps(rounded(figures)))
        return
    for rows in tables:
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            print("  ".join([row[0].ljust(len(first)), *others]))
        print()
    load = machine()
    print(f"{load['cores']} cores, load {load['load_1min']} at the end")
