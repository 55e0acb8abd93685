"""The same sessions under each session policy on a platform of four hosts with fake GPUs: how soon cells begin, how
long GPUs are bound, how often a cell gets them at once and runs where the one before did.

The sessions are made up after NotebookOS's published quantiles, and their time runs --hours in --minutes: cells sleep
as long as the trace says, divided by that. What the platform itself takes (to begin a worker, to move a replica) is not
divided, so that it weighs more here than in life. "reservation" gets as many GPUs as all its sessions hold at once,
since it could not begin most of them otherwise; its GPU-hours count what sessions hold.
"""

import contextlib
import itertools
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _policies_page
import _report
import _sessions
from dev.paths import BUILD
from harness.client import Connection, Gateway
from harness.platform import Platform

HOSTS = 4
# Of each policy: how many replicas its sessions have, as in the paper.
REPLICAS = {"reservation": 1, "batch": 1, "replicated": 3, "pool": 1}
GOALS = {"bound_at_once": 0.95, "same_executor": 0.95, "gpu_hours_of_reservation": 0.45, "delay_p50_more_ms": 2.0}
_SAMPLE_S = 0.25
_LATE_S = 600.0  # for the cells that are under way at the end of the trace


@dataclass
class Ran:
    """One cell. In seconds of the clock: until it began, and until its reply."""

    delay_s: float
    took_s: float
    status: str


@dataclass
class Measured:
    """What came of one policy. `series`: at some times, in hours of the trace, GPUs that are bound, cells that wait for
    some, and the subscription ratio."""

    cells: list[Ran] = field(default_factory=list)
    series: list[tuple[float, float, float, float]] = field(default_factory=list)
    starts: dict[tuple[str, str], float] = field(default_factory=dict)
    moves: float = 0
    gpus: int = 0


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--policies", nargs="+", choices=list(REPLICAS), default=list(REPLICAS))
    parser.add_argument("--sessions", type=int, default=90)
    parser.add_argument("--hours", type=float, default=17.5, help="of the trace")
    parser.add_argument("--minutes", type=float, default=5.0, help="that they take, for each policy")
    parser.add_argument("--gpus", type=int, default=8, help="of each host")
    parser.add_argument("--standbys", choices=("hot", "warm"), default="warm", help="of replicated sessions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path, default=BUILD / "results" / "policies.html", help="with plots")
    options = parser.parse_args()
    plans = _sessions.plans(options.sessions, options.hours, options.seed)
    measured: dict[str, Measured] = {}
    for policy in options.policies:
        gpus = options.gpus
        if policy == "reservation":
            gpus = max(gpus, -(-sum(plan.gpus for plan in plans) // HOSTS) + 4)  # and some that no session fits in
        with platform_of(policy, gpus, options.standbys) as platform:
            measured[policy] = Load(platform, policy, plans, options.hours, options.minutes).run()
            measured[policy].gpus = gpus * HOSTS
    hours = _sessions.gpu_seconds(plans) / 3600
    figures = {policy: figures_of(one, options.hours, options.minutes) for policy, one in measured.items()}
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text(_policies_page.page(figures, measured, hours, plans, options))
    _report.progress(f"plots: {options.page}")
    whole = {**figures, "cell_gpu_hours": hours, "seed": options.seed, **_report.machine()}
    _report.report(whole, table(figures), goals(figures), as_json=options.json)


@contextlib.contextmanager
def platform_of(policy: str, gpus: int, standbys: str) -> Any:
    with tempfile.TemporaryDirectory(prefix="banyan-policies-", dir="/var/tmp") as folder:
        _report.progress(f"{policy}: starting four hosts with {gpus} fake GPUs each")
        platform = Platform(Path(folder) / "platform", hosts=HOSTS, options=["--fake-gpus", str(gpus)])
        try:
            changes = {
                "session_policy": f'"{policy}"',
                "replicas": str(REPLICAS[policy]),
                "standbys": f'"{standbys}"',
            }
            settings = platform.config("gateway").read_text()
            for key, value in changes.items():
                settings = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", settings)
            platform.config("gateway").write_text(settings)
            platform.kill("gateway")
            platform.repair()
            yield platform
        finally:
            platform.stop()


class Load:
    """Runs the sessions against a platform, each in a thread, and looks at the platform meanwhile."""

    def __init__(
        self, platform: Platform, policy: str, plans: Sequence[_sessions.Plan], hours: float, minutes: float
    ) -> None:
        self._platform = platform
        self._policy = policy
        self._plans = plans
        self._factor = hours * 60 / minutes
        self._length_s = minutes * 60
        self._measured = Measured()
        self._failures: list[BaseException] = []
        self._begun = 0.0

    def run(self) -> Measured:
        self._begun = time.monotonic() + 1
        threads = [threading.Thread(target=self._session, args=(plan,), daemon=True) for plan in self._plans]
        for thread in threads:
            thread.start()
        shown = -1
        while (left := self._begun + self._length_s - time.monotonic()) > 0:
            self._sample()
            if (tenths := max(int(10 * (1 - left / self._length_s)), 0)) != shown:
                _report.bar(tenths, 10, f"{self._policy}, {len(self._measured.cells)} cells")
                shown = tenths
            time.sleep(_SAMPLE_S)
        for thread in threads:
            thread.join(_LATE_S)
            assert not thread.is_alive() or self._failures, f"cells still run {_LATE_S:.0f} s after the end"
        _report.bar(10, 10, f"{self._policy}, {len(self._measured.cells)} cells")
        if self._failures:
            raise self._failures[0]
        metrics = self._metrics()
        for labels, value in metrics.get("banyan_gpu_starts_total", []):
            self._measured.starts[labels["bound"], labels["host"]] = value
        self._measured.moves = sum(value for _, value in metrics.get("banyan_moves_total", []))
        return self._measured

    def _session(self, plan: _sessions.Plan) -> None:
        try:
            self._wait_until(self._begun + plan.start_s / self._factor)
            gateway = Gateway(self._platform.url, self._platform.token)
            kernel = gateway.start_kernel(name=f"python3-gpu{plan.gpus}")
            with Connection(gateway, kernel) as connection:
                connection.run("%%cpu\nimport time")
                for number, cell in enumerate(plan.cells):
                    self._wait_until(time.monotonic() + cell.think_s / self._factor)
                    if time.monotonic() >= self._begun + self._length_s:
                        return
                    self._measured.cells.append(_run(connection, number, cell.run_s / self._factor))
        except BaseException as failure:
            self._failures.append(failure)

    def _wait_until(self, moment: float) -> None:
        time.sleep(max(0.0, min(moment, self._begun + self._length_s) - time.monotonic()))

    def _sample(self) -> None:
        metrics = self._metrics()
        bound = sum(value for labels, value in metrics["banyan_host_gpus"] if labels["state"] == "bound")
        ((_, queued),) = metrics["banyan_queued_cells"]
        ratio = sum(value for _, value in metrics.get("banyan_subscription_ratio", []))
        now = (time.monotonic() - self._begun) * self._factor / 3600
        self._measured.series.append((now, bound, queued, ratio))

    def _metrics(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        return parsed(self._platform.gateway.call("GET", "/metrics").text)


def _run(connection: Connection, number: int, run_s: float) -> Ran:
    """A cell that takes as long as it is to, and leaves a value."""
    sent = time.monotonic()
    cell = connection.start(f"time.sleep({run_s:.6f})\nx = {number}")
    connection.wait_for(lambda m: m.parent == cell and m.type in ("execute_input", "execute_reply"), _LATE_S)
    began = time.monotonic()
    reply = connection.finish(cell, _LATE_S).reply
    return Ran(began - sent, time.monotonic() - sent, str(reply["status"]))


def parsed(page: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The values of a page in Prometheus' text format, by name, with their labels."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for line in page.splitlines():
        if not line or line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"([\w:]+)(?:\{(.*)\})? (\S+)", line).groups()  # type: ignore[union-attr]
        found.setdefault(name, []).append((dict(re.findall(r'(\w+)="([^"]*)"', labels or "")), float(value)))
    return found


def figures_of(measured: Measured, hours: float, minutes: float) -> dict[str, Any]:
    """gpu_hours: GPUs that were bound, times hours of the trace. delay_…_ms: until a cell began, by the clock.
    took_p50_s: until its reply, in seconds of the trace."""
    delays = [1000 * cell.delay_s for cell in measured.cells]
    starts = sum(measured.starts.values())
    at_once = sum(count for (bound, _), count in measured.starts.items() if bound == "at_once")
    again = sum(count for (_, host), count in measured.starts.items() if host == "same")
    return {
        "cells": len(measured.cells),
        "errors": sum(cell.status != "ok" for cell in measured.cells),
        "gpus": measured.gpus,
        "bound_at_once": at_once / starts if starts else 1.0,
        "same_executor": again / starts if starts else 1.0,
        "delay_p50_ms": _report.percentile(delays, 50),
        "delay_p99_ms": _report.percentile(delays, 99),
        "took_p50_s": statistics.median(cell.took_s for cell in measured.cells) * hours * 60 / minutes,
        "gpu_hours": integral([(at, bound) for at, bound, _, _ in measured.series if at <= hours]),
        "migrations": int(measured.moves),
    }


def integral(series: Sequence[tuple[float, float]]) -> float:
    """Of a value that stays as it is until the next time."""
    return sum(value * (after - at) for (at, value), (after, _) in itertools.pairwise(series))


_COLUMNS: list[tuple[str, str, Callable[[Any], str]]] = [
    ("GPUs", "gpus", str),
    ("cells", "cells", str),
    ("errors", "errors", str),
    ("at once", "bound_at_once", "{:.1%}".format),
    ("same host", "same_executor", "{:.1%}".format),
    ("delay p50 ms", "delay_p50_ms", "{:.1f}".format),
    ("p99 ms", "delay_p99_ms", "{:.0f}".format),
    ("cell p50 s", "took_p50_s", "{:.0f}".format),
    ("GPU-hours", "gpu_hours", "{:.1f}".format),
    ("moves", "migrations", str),
]


def table(figures: dict[str, dict[str, Any]]) -> list[list[str]]:
    rows = [["policy", *(title for title, _, _ in _COLUMNS)]]
    return [*rows, *([policy, *(show(one[key]) for _, key, show in _COLUMNS)] for policy, one in figures.items())]


def goals(figures: dict[str, dict[str, Any]]) -> list[list[str]]:
    """What replicated sessions are to reach, where both were measured."""
    rows = [["goal", "measured", "wanted", ""]]
    if "replicated" not in figures:
        return rows
    ours, theirs = figures["replicated"], figures.get("reservation")
    lines = [
        ("bound at once", ours["bound_at_once"], GOALS["bound_at_once"], True),
        ("same executor", ours["same_executor"], GOALS["same_executor"], True),
    ]
    if theirs is not None:
        hours = ours["gpu_hours"] / theirs["gpu_hours"]
        more = ours["delay_p50_ms"] - theirs["delay_p50_ms"]
        lines.append(("GPU-hours to reservation's", hours, GOALS["gpu_hours_of_reservation"], False))
        lines.append(("delay p50 over reservation's, ms", more, GOALS["delay_p50_more_ms"], False))
    for name, value, wanted, at_least in lines:
        reached = value >= wanted if at_least else value <= wanted
        sign = "at least" if at_least else "at most"
        rows.append([name, f"{value:.3f}", f"{sign} {wanted:g}", "pass" if reached else "short"])
    return rows


if __name__ == "__main__":
    main()
