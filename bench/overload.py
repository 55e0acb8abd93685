"""Ten times more cells than GPUs: whether users get equal parts, whether cells that need no GPU notice, and whether
anything is lost.

Users of very different numbers of sessions want one GPU for each of their cells, one after the other, all the time.
Sessions without GPUs run a cell that does nothing meanwhile, and for as long before, beside sessions that rest. Each
session counts its cells: a cell that was lost, or ran twice, shows in the count.
"""

import re
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _report
from harness.client import Connection, Gateway
from harness.platform import Platform

HOSTS = 4
USERS = (2, 4, 6, 8, 10, 12, 16, 22)  # sessions of each
PROBES = 2  # sessions without GPUs
_PROBE_EVERY_S = 0.05
_WINDOW_S = 60.0
GOAL_JAIN, GOAL_P99_FACTOR = 0.95, 1.10


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--gpus", type=int, default=2, help="of each host")
    parser.add_argument("--cell-s", type=float, default=2.0, help="how long a cell has its GPU")
    parser.add_argument("--seconds", type=int, default=90, help="of overload, and of rest before")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-overload-", dir="/var/tmp") as folder:
        _report.progress(f"starting four hosts with {options.gpus} fake GPUs each")
        platform = Platform(Path(folder) / "platform", hosts=HOSTS, options=["--fake-gpus", str(options.gpus)])
        try:
            settings = re.sub(r"(?m)^standbys = .*$", 'standbys = "warm"', platform.config("gateway").read_text())
            platform.config("gateway").write_text(settings)
            platform.kill("gateway")
            platform.repair()
            figures = measure(platform, options.cell_s, options.seconds)
        finally:
            platform.stop()
    figures["gpus"] = options.gpus * HOSTS
    _report.report({**figures, **_report.machine()}, table(figures), as_json=options.json)


class Session:
    """One session of a user, whose cells want a GPU; each counts."""

    def __init__(self, platform: Platform, user: str) -> None:
        self.user = user
        self.ended: list[float] = []  # when each of its cells did
        self.failed = 0
        gateway = Gateway(platform.url, platform.token)
        kernel = gateway.start_kernel(name="python3-gpu1", env={"KERNEL_USERNAME": user})
        self.connection = Connection(gateway, kernel)
        self.connection.run("%%cpu\nimport time\nn = 0")

    def go_on(self, cell_s: float, until: Callable[[], bool]) -> None:
        while not until():
            cell = self.connection.run(f"time.sleep({cell_s})\nn += 1", timeout=600)
            self.failed += cell.status != "ok"
            self.ended.append(time.monotonic())

    def counted(self) -> int:
        return int(self.connection.run("%%cpu\nn").result or -1)


def measure(platform: Platform, cell_s: float, seconds: int) -> dict[str, Any]:
    sessions = [Session(platform, f"user {number}") for number, size in enumerate(USERS, 1) for _ in range(size)]
    probes = [Connection(platform.gateway, platform.gateway.start_kernel(name="python3")) for _ in range(PROBES)]
    for probe in probes:
        for _ in range(20):
            probe.run("pass")
    idle = probed(probes, seconds, "nothing else runs")
    memory = resident_mb(platform.pid("gateway"))
    stop = threading.Event()
    threads = [threading.Thread(target=one.go_on, args=(cell_s, stop.is_set), daemon=True) for one in sessions]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    busy = probed(probes, seconds, f"{len(sessions)} sessions want GPUs")
    ended = time.monotonic()
    queued = platform.gateway.get("/api/banyan/queue")
    memory_then = resident_mb(platform.pid("gateway"))
    stop.set()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive(), "a cell has not ended"
    fair = [jain(sessions, at, cell_s) for at in windows(begun, ended)]
    return {
        "sessions": len(sessions),
        "cells": sum(len(one.ended) for one in sessions),
        "failed": sum(one.failed for one in sessions),
        "miscounted": sum(one.counted() != len(one.ended) for one in sessions),
        "waiting": len(queued),
        "with_place": sum(cell["place"] > 0 for cell in queued),
        "jain_least": min(fair),
        "cpu_cell_idle_p50_ms": statistics.median(idle),
        "cpu_cell_idle_p99_ms": _report.percentile(idle, 99),
        "cpu_cell_busy_p50_ms": statistics.median(busy),
        "cpu_cell_busy_p99_ms": _report.percentile(busy, 99),
        "gateway_mb": memory,
        "gateway_mb_then": memory_then,
    }


def probed(probes: list[Connection], seconds: int, text: str) -> list[float]:
    """Times in ms of cells that do nothing, one session after the other."""
    times: list[float] = []
    begun = time.monotonic()
    shown = -1
    while (passed := time.monotonic() - begun) < seconds:
        if (tenths := int(10 * passed / seconds)) != shown:
            _report.bar(tenths, 10, text)
            shown = tenths
        for probe in probes:
            sent = time.perf_counter()
            probe.run("pass")
            times.append(1000 * (time.perf_counter() - sent))
            time.sleep(_PROBE_EVERY_S)
    _report.bar(10, 10, text)
    return times


def windows(begun: float, ended: float) -> list[float]:
    """The ends of windows of a minute in which cells wait all the time, ten seconds apart."""
    ends = []
    at = begun + _WINDOW_S
    while at <= ended:
        ends.append(at)
        at += 10.0
    return ends or [ended]


def jain(sessions: list[Session], end: float, cell_s: float) -> float:
    """Jain's fairness index of the time that each user's cells had GPUs in the minute before `end`: 1 when all had
    the same, 1/n when one of n had all. Source: Jain, Chiu, Hawe, DEC-TR-301 (1984)."""
    had: dict[str, float] = defaultdict(float)
    for one in sessions:
        had[one.user] += cell_s * sum(end - _WINDOW_S < at <= end for at in one.ended)
    return sum(had.values()) ** 2 / (len(had) * sum(value**2 for value in had.values()))


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024  # type: ignore[union-attr]


def table(figures: dict[str, Any]) -> list[list[str]]:
    factor = figures["cpu_cell_busy_p99_ms"] / figures["cpu_cell_idle_p99_ms"]
    place = f"{figures['with_place']} of {figures['waiting']}"
    return [
        ["", "measured", "wanted"],
        ["sessions, GPUs", f"{figures['sessions']}, {figures['gpus']}", ""],
        ["cells", str(figures["cells"]), ""],
        ["of these failed, sessions that miscounted", f"{figures['failed']}, {figures['miscounted']}", "0, 0"],
        ["waiting cells that know their place", place, "all"],
        ["Jain's index of users, least in any minute", f"{figures['jain_least']:.3f}", f"at least {GOAL_JAIN}"],
        ["cell without GPUs, p50 ms: idle, busy", _both(figures, "p50"), ""],
        ["p99 ms: idle, busy", f"{_both(figures, 'p99')} (× {factor:.2f})", f"at most × {GOAL_P99_FACTOR:.2f}"],
        ["gateway's memory, MB: idle, busy", f"{figures['gateway_mb']:.0f}, {figures['gateway_mb_then']:.0f}", ""],
    ]


def _both(figures: dict[str, Any], which: str) -> str:
    return f"{figures[f'cpu_cell_idle_{which}_ms']:.1f}, {figures[f'cpu_cell_busy_{which}_ms']:.1f}"


if __name__ == "__main__":
    main()
