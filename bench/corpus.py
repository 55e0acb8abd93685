"""Notebooks, taken to another process in several ways: is all there as it was, how large is it, how long does it take?

Each notebook of bench/corpus/ and bench/notebooks/ is run; each way stores it and restores it in a fresh process. What
the restored session holds is compared with the original by a description of all values and of what they share.
"""

import os
import statistics
import tempfile
from pathlib import Path

import _report
from _contestants import NAMES
from _corpus_run import Bench, Row, chosen_of
from _corpus_table import failures, per_contestant, per_notebook


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="a notebook; may be given again")
    parser.add_argument("--short", action="store_true", help="without the long ones of bench/notebooks/")
    parser.add_argument(
        "--way", metavar="NAME", action="append", choices=NAMES, help=f"one of: {', '.join(NAMES)}".replace("%", "%%")
    )
    parser.add_argument("--repeat", type=int, default=1, help="of each notebook; times are medians")
    parser.add_argument("--hosts", type=int, default=4, help="of the platform")
    options = parser.parse_args()
    chosen = chosen_of(parser, options.only, short=options.short)
    bench = Bench(options.way or list(NAMES))
    with (
        tempfile.TemporaryDirectory(prefix="banyan-corpus-", dir="/var/tmp") as folder,
        bench.platform(Path(folder), options.hosts),
    ):
        rows = bench.measure(chosen, options.repeat, Path(folder))
    figures = {"rows": rows, "summary": summary(rows), "repeat": options.repeat, **_report.machine()}
    if options.json:
        _report.report(figures, as_json=True)
        return
    for lines in (per_notebook(rows, bench.ways), failures(rows), per_contestant(figures["summary"])):
        print("\n".join(lines), end="\n\n")
    _report.report(figures, as_json=False)


def summary(rows: list[Row]) -> list[Row]:
    """Of each way: on how many notebooks it is right, and sums over those that it stored and restored."""
    found = []
    for way in dict.fromkeys(row["way"] for row in rows):
        own = [row for row in rows if row["way"] == way]
        whole = [row for row in own if row["restore_s"] is not None]
        line: Row = {"way": way, "notebooks": len(own)}
        line |= {name: sum(row["correct"] is kind for row in own) for name, kind in _VERDICTS.items()}
        line |= {key: sum(row[key] for row in whole) for key in ("bytes", "store_s", "restore_s")}
        line["migrate_median_s"] = (
            statistics.median(row["store_s"] + row["restore_s"] for row in whole) if whole else None
        )
        found.append(line)
    return found


_VERDICTS = {"correct": True, "wrong": False, "unavailable": None}

if __name__ == "__main__":
    # In every kernel, sets of texts that are equal have one order: notebooks that go through sets end alike.
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
