"""The executor's host agent is killed between two cells: how soon is the next cell answered, and does it see all
variables?

The time runs from the kill to the arrival of the next cell's reply; the cell is sent at once after the kill.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import _report
from harness.client import Connection, wait_until
from harness.platform import Platform

_VARIABLES = """
import numpy as np, pandas as pd
number = {run}
text = 'run {run}'
items = list(range(100))
mapping = {{'a': items}}
array = np.arange(100_000) + number
frame = pd.DataFrame({{'n': range(1000), 'm': number}})
def function(x): return x + number
"""
_CHECKS = [
    "number == {run}",
    "text == 'run {run}'",
    "items == list(range(100))",
    "mapping['a'] is items",
    "int(array.sum()) == 4999950000 + 100000 * {run}",
    "len(frame) == 1000 and int(frame.m[999]) == {run}",
    "function(1) == 1 + {run}",
]


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-failover-") as folder:
        _report.progress("starting a platform of four hosts")
        platform = Platform(Path(folder))
        try:
            measure(platform, options.runs, as_json=options.json)
        finally:
            platform.stop()


def measure(platform: Platform, runs: int, *, as_json: bool) -> None:
    took: list[float] = []
    lost = 0
    for run in range(runs):
        seconds, missing = once(platform, run)
        _report.progress(f"run {run + 1} of {runs}: {seconds:.2f} s, {missing} variables lost")
        took.append(seconds)
        lost += missing
        platform.repair()
    figures = {
        "next_cell_p50_s": statistics.median(took),
        "next_cell_max_s": max(took),
        "lost_variables": lost,
        "runs": runs,
        **_report.machine(),
    }
    rows = [
        ["runs", "next cell p50 s", "max s", "variables lost"],
        [str(runs), f"{figures['next_cell_p50_s']:.2f}", f"{figures['next_cell_max_s']:.2f}", str(lost)],
    ]
    _report.report(figures, rows, as_json=as_json)


def once(platform: Platform, run: int) -> tuple[float, int]:
    """Seconds to the next cell's reply, and how many of the variables are not what they were."""
    gateway = platform.gateway
    kernel = gateway.start_kernel(name="python3")
    with Connection(gateway, kernel) as connection:
        cell = connection.run(_VARIABLES.format(run=run), timeout=90)
        assert cell.status == "ok", cell.reply
        wait_until(lambda: _caught_up(gateway.session(kernel)), "all replicas have the commit")
        executor = gateway.executor(kernel)
        start = time.perf_counter()
        platform.kill(executor)
        reply = connection.run("pass", timeout=60).reply
        took = time.perf_counter() - start
        assert reply["status"] == "ok", reply
        results = [connection.run(check.format(run=run)).result for check in _CHECKS]
        missing = sum(result != "True" for result in results)
    gateway.delete_kernel(kernel)
    return took, missing


def _caught_up(session: dict[str, Any]) -> bool:
    return all(row["last_commit"] == session["last_commit"] for row in session["replicas"])


if __name__ == "__main__":
    main()
