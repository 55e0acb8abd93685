"""How well is it known beforehand how long a cell takes that runs again, and to serialise what it makes?

Each notebook of the corpus runs twice, in two processes. From the first run the second is foreseen: by what the same
cell took then, which is what Banyan's log knows, and by the rate at which values of its types were serialised.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import _report
from _corpus_run import chosen_of
from _notebook_files import CORPUS, LONG, Notebook

_LARGE = 64 << 10  # bytes; serialising smaller values takes too little time to be measured
_SHORTEST_S = 0.005  # cells that take less do not count
_CLOCK_S = 1e-5
_TIMEOUT_S = 300

Cell = dict[str, Any]


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="a notebook; may be given again")
    parser.add_argument("--short", action="store_true", help="without the long ones of bench/notebooks/")
    options = parser.parse_args()
    chosen = chosen_of(parser, options.only, short=options.short)
    pairs: list[tuple[Cell, Cell]] = []
    for number, notebook in enumerate(chosen):
        _report.bar(number, len(chosen), notebook.name)
        pairs += zip(run(notebook), run(notebook), strict=False)
    _report.bar(len(chosen), len(chosen), "done")
    types, rates = rates_by_type([first for first, _ in pairs])
    foreseen = foresight(pairs, rates)
    shares = [100 * serialising / whole for _, serialising, whole in counted(pairs)]
    share = {"cells": len(shares), "median": statistics.median(shares), **_spread(shares)}
    _report.report(
        {"types": types, "foreseen": foreseen, "serialising_pct": share, **_report.machine()},
        [("TYPE", "VALUES", "MB/S", "P10", "P90"), *map(_type_row, types)],
        [("WHAT", "FORESEEN BY", "CELLS", "P10", "MEDIAN", "P90", "WITHIN 2X", "USUAL FACTOR"), *map(_row, foreseen)],
        as_json=options.json,
    )
    if not options.json:
        print(f"serialising: {share['median']:.0f}% of the median cell, {share['p90']:.0f}% at the 90th percentile")


def run(notebook: Notebook) -> list[Cell]:
    """Runs the notebook and returns its cells, up to the first one that does not end as it should."""
    folder = LONG if (LONG / f"{notebook.name}.py").exists() else CORPUS
    script = Path(__file__).with_name("_timed_cells.py")
    with tempfile.TemporaryDirectory(prefix="banyan-reruns-", dir="/var/tmp") as place:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(script), str(folder / f"{notebook.name}.py")],
            cwd=place,
            env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": _python_path()},
            stdout=subprocess.PIPE,
            timeout=_TIMEOUT_S,
            text=True,
            check=False,
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"code_s"')]


def _python_path() -> str:
    here = Path(__file__).parent
    return os.pathsep.join((str(here), str(here.parent / "python")))


def rates_by_type(cells: Sequence[Cell]) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """A table of the types with the most values, and the median of seconds per byte for each type ("": for all
    types)."""
    samples: dict[str, list[float]] = defaultdict(list)
    for kind, size, seconds in (value for cell in cells for value in cell["values"]):
        if size >= _LARGE:
            samples[kind].append(max(seconds, _CLOCK_S) / size)
            samples[""].append(samples[kind][-1])
    rates = {kind: statistics.median(each) for kind, each in samples.items()}
    seen = sorted(samples.keys() - {""}, key=lambda kind: -len(samples[kind]))
    table = [
        {
            "type": kind,
            "values": len(samples[kind]),
            "mb_per_s": 1e-6 / rates[kind],
            **_spread([each / rates[kind] for each in samples[kind]]),
        }
        for kind in seen
        if len(samples[kind]) >= 5
    ]
    return table, rates


def counted(pairs: Sequence[tuple[Cell, Cell]]) -> Iterator[tuple[Cell, float, float]]:
    """For each cell that makes something large: its first run, and the seconds that its second run took to serialise
    and in all."""
    for first, again in pairs:
        whole = again["code_s"] + again["detect_s"]
        serialising = serialising_s(again)
        if whole >= _SHORTEST_S and serialising is not None:
            yield first, serialising, whole


def foresight(pairs: Sequence[tuple[Cell, Cell]], rates: Mapping[str, float]) -> list[dict[str, Any]]:
    """The predicted time divided by the real time, for the cells that make something large."""
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for first, serialising, whole in counted(pairs):
        by_type = sum(size * rates.get(kind, rates[""]) for kind, size, _ in first["values"] if size >= _LARGE)
        ratios["serialising", "its first run"].append((serialising_s(first) or _CLOCK_S) / serialising)
        ratios["serialising", "its type"].append(max(by_type, _CLOCK_S) / serialising)
        ratios["the whole", "its first run"].append((first["code_s"] + first["detect_s"]) / whole)
        ratios["the whole", "code, and type"].append((first["code_s"] + by_type) / whole)
    return [
        {
            "what": what,
            "by": by,
            "cells": len(found),
            "median": statistics.median(found),
            **_spread(found),
            "within_2x_pct": 100 * sum(0.5 <= ratio <= 2 for ratio in found) / len(found),
            "usual_factor": math.exp(statistics.fmean(abs(math.log(ratio)) for ratio in found)),
        }
        for (what, by), found in sorted(ratios.items())
    ]


def serialising_s(cell: Cell) -> float | None:
    """The seconds that serialising the cell's large values took; None when it made none."""
    times = [seconds for _, size, seconds in cell["values"] if size >= _LARGE]
    return max(sum(times), _CLOCK_S) if times else None


def _spread(samples: Sequence[float]) -> dict[str, float]:
    if len(samples) < 2:
        return {"p10": samples[0], "p90": samples[0]}
    return {"p10": _report.percentile(samples, 10), "p90": _report.percentile(samples, 90)}


def _type_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    return row["type"], str(row["values"]), f"{row['mb_per_s']:,.0f}", f"{row['p10']:.2f}", f"{row['p90']:.2f}"


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    spread = (f"{row[key]:.2f}" for key in ("p10", "median", "p90"))
    right = f"{row['within_2x_pct']:.0f}%", f"{row['usual_factor']:.2f}"
    return row["what"], row["by"], str(row["cells"]), *spread, *right


if __name__ == "__main__":
    main()
