"""Resident memory of host agents with idle sessions, without their workers.

With three hosts and three replicas every host agent has every session. Workers are processes of their own and are not
counted.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

import _report
from harness.platform import Platform


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-memory-") as folder:
        _report.progress("starting a platform of three hosts")
        platform = Platform(Path(folder), hosts=3)
        try:
            measure(platform, options.sessions, as_json=options.json)
        finally:
            platform.stop()


def measure(platform: Platform, sessions: int, *, as_json: bool) -> None:
    before = resident_mb(platform)
    for number in range(sessions):
        if number % 10 == 0:
            _report.progress(f"session {number} of {sessions}")
        platform.gateway.start_kernel(name="python3")
    time.sleep(5)
    after = resident_mb(platform)
    figures = {
        "sessions": sessions,
        "host_empty_mb": max(before[host] for host in platform.hosts),
        "host_p50_mb": statistics.median(after[host] for host in platform.hosts),
        "host_max_mb": max(after[host] for host in platform.hosts),
        "gateway_mb": after["gateway"],
        **_report.machine(),
    }
    rows = [["process", "empty MB", f"{sessions} sessions MB"]]
    rows += [[name, f"{before[name]:.1f}", f"{after[name]:.1f}"] for name in after]
    _report.report(figures, rows, as_json=as_json)


def resident_mb(platform: Platform) -> dict[str, float]:
    pages = {
        name: int(Path(f"/proc/{platform.pid(name)}/statm").read_text().split()[1])
        for name in ["gateway", *platform.hosts]
    }
    return {name: count * os.sysconf("SC_PAGE_SIZE") / 1e6 for name, count in pages.items()}


if __name__ == "__main__":
    main()
