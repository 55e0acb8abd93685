"""What moving a session costs beside loading all and running all again: ratios on the corpus, all in one run.

Each notebook of bench/corpus/ and bench/notebooks/; what counts for a ratio is a way that is right on that notebook. To
migrate is to store and to restore; a restore begins with the start of a process, for all ways alike.
"""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import _report
from _corpus_run import Bench, Row, chosen_of

_OURS = {"migrate_s": "banyan migrate", "restore_s": "suspend/resume"}
_BASELINES = ("load all", "re-run all")
_OTHERS = (*_BASELINES, "dump_session", "%store")
_LEAST = "export least"

# At most; at least.
GOALS_MAX = {"migrate_worst": 1.05, "restore_worst": 1.05, "bytes_best": 1 / 3}
GOALS_MIN = {"migrate_best_gain": 2.1, "restore_best_gain": 4.0}


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="a notebook; may be given again")
    parser.add_argument("--short", action="store_true", help="without the long ones of bench/notebooks/")
    parser.add_argument("--repeat", type=int, default=3, help="of each notebook; times are medians")
    parser.add_argument("--hosts", type=int, default=4, help="of the platform")
    options = parser.parse_args()
    chosen = chosen_of(parser, options.only, short=options.short)
    bench = Bench([*_OTHERS, *_OURS.values(), _LEAST])
    with (
        tempfile.TemporaryDirectory(prefix="banyan-migrate-", dir="/var/tmp") as folder,
        bench.platform(Path(folder), options.hosts),
    ):
        measured = bench.measure(chosen, options.repeat, Path(folder))
    rows = [ratios(notebook.name, measured) for notebook in chosen]
    swept = sweep(measured)
    figures = {"rows": rows, **summary(rows), "sweep": swept, "repeat": options.repeat, **_report.machine()}
    _report.report(figures, table(figures), sweep_table(swept), as_json=options.json)


def sweep(measured: Iterable[Row]) -> list[dict[str, float]]:
    """Sums over the plans of all notebooks, by bandwidth: predicted seconds, values loaded and cells run."""
    found: dict[float, dict[str, float]] = {}
    for row in measured:
        for plan in row.get("plans", ()):
            if plan["measured"]:  # the measured rate of this machine's files differs each time
                continue
            line = found.setdefault(plan["bits_per_s"], {"bits_per_s": plan["bits_per_s"], "dearer": 0})
            for key in ("least_s", "load_all_s", "run_all_s", "unlinked_s", "loads", "runs"):
                line[key] = line.get(key, 0) + plan[key]
            line["dearer"] += plan["least_s"] > 1.001 * min(plan["load_all_s"], plan["run_all_s"])
    return [found[rate] for rate in sorted(found)]


def sweep_table(swept: list[dict[str, float]]) -> list[list[str]]:
    """The rows of the sweep. "dearer" counts the notebooks whose plan costs more than the better of the two
    baselines."""
    head = ["bandwidth", "least s", "load all s", "re-run all s", "without links s", "values loaded", "cells run"]
    rows = [[*head, "dearer"]]
    for line in swept:
        seconds = [f"{line[key]:.2f}" for key in ("least_s", "load_all_s", "run_all_s", "unlinked_s")]
        rows.append(
            [
                f"{line['bits_per_s'] / 1e6:g} Mb/s",
                *seconds,
                *(f"{line[key]:.0f}" for key in ("loads", "runs", "dearer")),
            ]
        )
    return rows


def ratios(name: str, measured: Iterable[Row]) -> Row:
    """Our time divided by the best baseline's, and the next best way's time divided by ours; None where a time is
    missing."""
    ways = {row["way"]: row for row in measured if row["notebook"] == name and row["correct"]}
    found: Row = {"notebook": name}
    for key, (title, time_of) in {"migrate_s": ("migrate", _whole), "restore_s": ("restore", _restore)}.items():
        ours = time_of(ways[_OURS[key]]) if _OURS[key] in ways else None
        found[f"{title}_s"] = ours
        found[f"{title}_ratio"] = _quotient(ours, _least(ways, _BASELINES, time_of))
        found[f"{title}_gain"] = _quotient(_least(ways, _OTHERS, time_of), ours)
    dumped = ways.get("dump_session", {}).get("bytes")
    found["bytes_ratio"] = _quotient(ways.get(_LEAST, {}).get("bytes"), dumped)
    return found


def _whole(row: Row) -> float:
    return float(row["store_s"]) + _restore(row)


def _restore(row: Row) -> float:
    return float(row["start_s"] + row["restore_s"])


def _least(ways: dict[str, Row], names: Iterable[str], time_of: Callable[[Row], float]) -> float | None:
    return min((time_of(ways[name]) for name in names if name in ways), default=None)


def _quotient(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def summary(rows: list[Row]) -> dict[str, float | None]:
    """The worst and the median ratio and the best gain of each time, and the best ratio of bytes."""

    def of(key: str, pick: Callable[[list[float]], float]) -> float | None:
        values = [row[key] for row in rows if row[key] is not None]
        return pick(values) if values else None

    found: dict[str, float | None] = {}
    for title in ("migrate", "restore"):
        found[f"{title}_worst"] = of(f"{title}_ratio", max)
        found[f"{title}_median"] = of(f"{title}_ratio", statistics.median)
        found[f"{title}_best_gain"] = of(f"{title}_gain", max)
    found["bytes_best"] = of("bytes_ratio", min)
    return found


_COLUMNS = {
    "migrate_s": "migrate s",
    "migrate_ratio": "by best baseline",
    "migrate_gain": "next best by it",
    "restore_s": "resume s",
    "restore_ratio": "by best baseline",
    "restore_gain": "next best by it",
    "bytes_ratio": "bytes by dump_session's",
}


def table(figures: dict[str, Any]) -> list[list[str]]:
    rows = [["notebook", *_COLUMNS.values()]]
    rows += [[row["notebook"], *(_text(row[key]) for key in _COLUMNS)] for row in figures["rows"]]
    empty = [""] * (len(_COLUMNS) - 1)
    for key in (*GOALS_MAX, *GOALS_MIN):
        rows.append([key.replace("_", " "), f"{_verdict(key, figures[key])} {_text(figures[key])}", *empty])
    return rows


def _verdict(key: str, value: float | None) -> str:
    if value is None:
        return ""
    good = value <= GOALS_MAX[key] if key in GOALS_MAX else value >= GOALS_MIN[key]
    return "pass" if good else "short"


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
