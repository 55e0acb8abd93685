"""Resident memory of host agents with idle sessions, and with suspended ones, without their workers.

With three hosts and three replicas every host agent has every session. Workers are processes of their own and are not
counted. Each session has run a cell that printed `--printed` KB, as plots do: its log has them. Suspended sessions
that nobody asks hibernate; what the host agents have then is what thousands of them would cost.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

import _report
from harness.client import Connection
from harness.platform import Platform

_HIBERNATED_S = 45


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--printed", type=int, default=200, metavar="KB", help="by each session")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-memory-") as folder:
        _report.progress("starting a platform of three hosts")
        platform = Platform(Path(folder), hosts=3)
        try:
            measure(platform, options.sessions, options.printed, as_json=options.json)
        finally:
            platform.stop()


def measure(platform: Platform, sessions: int, printed_kb: int, *, as_json: bool) -> None:
    empty = resident_mb(platform)
    kernels = []
    for number in range(sessions):
        _report.bar(number, sessions, "starting sessions")
        kernels.append(platform.gateway.start_kernel(name="python3"))
        with Connection(platform.gateway, kernels[-1]) as session:
            ran = session.run(f"import random; print(random.randbytes({printed_kb * 500}).hex())", timeout=60)
            assert ran.status == "ok", ran.reply
    time.sleep(5)
    idle = resident_mb(platform)
    for number, kernel in enumerate(kernels):
        _report.bar(number, sessions, "suspending them")
        platform.gateway.call("POST", f"/api/banyan/sessions/{kernel}/suspend", json={}, timeout=60).raise_for_status()
    suspended = resident_mb(platform)
    for second in range(_HIBERNATED_S):
        _report.bar(second, _HIBERNATED_S, "until they hibernate")
        time.sleep(1)
    hibernating = resident_mb(platform)
    _report.bar(1, 1, "done")

    def of_hosts(mb: dict[str, float]) -> list[float]:
        return [mb[host] for host in platform.hosts]

    figures = {
        "sessions": sessions,
        "printed_kb": printed_kb,
        "host_empty_mb": max(of_hosts(empty)),
        "host_p50_mb": statistics.median(of_hosts(idle)),
        "host_max_mb": max(of_hosts(idle)),
        "host_suspended_mb": statistics.median(of_hosts(suspended)),
        "host_hibernating_mb": statistics.median(of_hosts(hibernating)),
        "gateway_mb": idle["gateway"],
        **_report.machine(),
    }
    states = {"empty": empty, f"{sessions} idle": idle, "suspended": suspended, "hibernating": hibernating}
    rows = [["process", *(f"{state} MB" for state in states)]]
    rows += [[name, *(f"{mb[name]:.1f}" for mb in states.values())] for name in idle]
    _report.report(figures, rows, as_json=as_json)


def resident_mb(platform: Platform) -> dict[str, float]:
    pages = {
        name: int(Path(f"/proc/{platform.pid(name)}/statm").read_text().split()[1])
        for name in ["gateway", *platform.hosts]
    }
    return {name: count * os.sysconf("SC_PAGE_SIZE") / 1e6 for name, count in pages.items()}


if __name__ == "__main__":
    main()
