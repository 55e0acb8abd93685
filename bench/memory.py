"""What sessions cost host agents in which nothing happens: resident memory and CPU, of idle ones and of suspended ones.

With three hosts and three replicas every host agent has every session. Workers are processes of their own and are not
counted. Each session has run a cell that made `--variables` variables and printed `--printed` KB, as plots do: its log
has them. Suspended sessions that nobody asks hibernate; what the host agents have then is what thousands of them would
cost.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import _report
from harness.client import Connection
from harness.platform import Platform

_HIBERNATED_S = 45
_WATCHED_S = 30  # for their CPU
_TICKS_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--printed", type=int, default=200, metavar="KB", help="by each session")
    parser.add_argument("--variables", type=int, default=100, metavar="N", help="of each session")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-memory-") as folder:
        _report.progress("starting a platform of three hosts")
        platform = Platform(Path(folder), hosts=3)
        try:
            measure(platform, options)
        finally:
            platform.stop()


def measure(platform: Platform, options: argparse.Namespace) -> None:
    empty = resident_mb(platform)
    kernels = []
    cell = (
        f"import random\nfor number in range({options.variables}): globals()[f'v{{number}}'] = [number]\n"
        f"print(random.randbytes({options.printed * 500}).hex())"
    )
    for number in range(options.sessions):
        _report.bar(number, options.sessions, "starting sessions")
        kernels.append(platform.gateway.start_kernel(name="python3"))
        with Connection(platform.gateway, kernels[-1]) as session:
            ran = session.run(cell, timeout=60)
            assert ran.status == "ok", ran.reply
    _report.wait(5, "until they are idle")
    idle = resident_mb(platform)
    idle_cpu = cpu_percent(platform, "watching idle ones")
    for number, kernel in enumerate(kernels):
        _report.bar(number, options.sessions, "suspending them")
        platform.gateway.call("POST", f"/api/banyan/sessions/{kernel}/suspend", json={}, timeout=60).raise_for_status()
    suspended = resident_mb(platform)
    _report.wait(_HIBERNATED_S, "until they hibernate")
    hibernating = resident_mb(platform)
    hibernating_cpu = cpu_percent(platform, "watching hibernating ones")
    _report.bar(1, 1, "done")

    def of_hosts(values: dict[str, float]) -> list[float]:
        return [values[host] for host in platform.hosts]

    figures = {
        "sessions": options.sessions,
        "printed_kb": options.printed,
        "variables": options.variables,
        "host_empty_mb": max(of_hosts(empty)),
        "host_p50_mb": statistics.median(of_hosts(idle)),
        "host_max_mb": max(of_hosts(idle)),
        "host_suspended_mb": statistics.median(of_hosts(suspended)),
        "host_hibernating_mb": statistics.median(of_hosts(hibernating)),
        "gateway_mb": idle["gateway"],
        "host_idle_cpu_percent": statistics.median(of_hosts(idle_cpu)),
        "host_hibernating_cpu_percent": statistics.median(of_hosts(hibernating_cpu)),
        "gateway_idle_cpu_percent": idle_cpu["gateway"],
        **_report.machine(),
    }
    states = {"empty": empty, f"{options.sessions} idle": idle, "suspended": suspended, "hibernating": hibernating}
    watched = {"CPU, idle": idle_cpu, "CPU, hibernating": hibernating_cpu}
    rows = [["process", *(f"{state} MB" for state in states), *(f"{state} %" for state in watched)]]
    for name in idle:
        memory = [f"{mb[name]:.1f}" for mb in states.values()]
        rows.append([name, *memory, *(f"{percent[name]:.2f}" for percent in watched.values())])
    _report.report(figures, rows, as_json=options.json)


def resident_mb(platform: Platform) -> dict[str, float]:
    pages = {
        name: int(Path(f"/proc/{platform.pid(name)}/statm").read_text().split()[1])
        for name in ["gateway", *platform.hosts]
    }
    return {name: count * os.sysconf("SC_PAGE_SIZE") / 1e6 for name, count in pages.items()}


def cpu_percent(platform: Platform, doing: str) -> dict[str, float]:
    """Of one core, over the next `_WATCHED_S` seconds."""

    def cpu_s() -> dict[str, float]:
        used = {}
        for name in ["gateway", *platform.hosts]:
            fields = Path(f"/proc/{platform.pid(name)}/stat").read_text().rpartition(")")[2].split()
            used[name] = (int(fields[11]) + int(fields[12])) / _TICKS_S
        return used

    before, began = cpu_s(), time.monotonic()
    _report.wait(_WATCHED_S, doing)
    after, took = cpu_s(), time.monotonic() - began
    return {name: 100 * (after[name] - before[name]) / took for name in after}


if __name__ == "__main__":
    main()
