"""What replication adds to a small cell: through the WebSocket of a platform with three replicas, and straight to the
same ipykernel over ZMQ, in turns. The same cells as JupyterLab's page has them: through a Jupyter Server with the
companion, and through a stock one with an ipykernel of its own. And how long a new session takes to its first reply.

A cell's time runs from the send of execute_request to the arrival of its execute_reply.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import _report
from harness.client import Connection, Gateway
from harness.jupyter_server import JupyterServer
from harness.platform import Platform
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

_CELLS = ("pass", "1+1")


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--cells", type=int, default=1000, help="of each kind, each way")
    parser.add_argument("--sessions", type=int, default=20, help="created one after the other")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-latency-") as folder:
        _report.progress("starting a platform of four hosts, two Jupyter Servers and an ipykernel")
        platform = Platform(Path(folder))
        try:
            lab = JupyterServer(Path(folder) / "lab", platform=platform.gateway)
            stock = JupyterServer(Path(folder) / "stock")
            with lab, stock:
                servers = {"banyan": platform.gateway, "lab": lab.gateway, "stock_lab": stock.gateway}
                samples = measure(servers, options.cells)
            tell(samples, platform, options.cells, options.sessions, as_json=options.json)
        finally:
            platform.stop()


def measure(servers: dict[str, Gateway], cells: int) -> dict[tuple[str, str], list[float]]:
    """Times in ms, by way and cell: through each server with a kernel of its own, and of an ipykernel without a
    server."""
    manager, client = start_new_kernel(kernel_name="python3")
    kernels = {name: server.start_kernel(name="python3") for name, server in servers.items()}
    with contextlib.ExitStack() as stack:
        ways = {"direct": over_zmq(client)}
        for name, server in servers.items():
            ways[name] = over_websocket(stack.enter_context(Connection(server, kernels[name])))
        for way in ways.values():
            for _ in range(50):
                way("pass")
        samples = interleaved(ways, cells)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    for name, server in servers.items():
        server.delete_kernel(kernels[name])
    return samples


def tell(
    samples: dict[tuple[str, str], list[float]], platform: Platform, cells: int, sessions: int, *, as_json: bool
) -> None:
    _report.progress(f"creating {sessions} sessions")
    created = [create(platform) for _ in range(sessions)]

    direct, banyan, lab, stock_lab = (
        samples[way, "pass"] + samples[way, "1+1"] for way in ("direct", "banyan", "lab", "stock_lab")
    )
    figures = {
        "direct_p50_ms": _report.percentile(direct, 50),
        "direct_p99_ms": _report.percentile(direct, 99),
        "banyan_p50_ms": _report.percentile(banyan, 50),
        "banyan_p99_ms": _report.percentile(banyan, 99),
        "added_p50_ms": _report.percentile(banyan, 50) - _report.percentile(direct, 50),
        "added_p99_ms": _report.percentile(banyan, 99) - _report.percentile(direct, 99),
        "lab_p50_ms": _report.percentile(lab, 50),
        "lab_p99_ms": _report.percentile(lab, 99),
        "stock_lab_p50_ms": _report.percentile(stock_lab, 50),
        "create_p50_ms": _report.percentile(created, 50),
        "create_p99_ms": _report.percentile(created, 99),
        "cells": 2 * cells,
        "sessions": sessions,
        **_report.machine(),
    }
    rows = [["", "p50 ms", "p90 ms", "p99 ms", "n"]]
    for (name, code), values in sorted(samples.items()):
        rows.append([f"{name}, cell '{code}'", *columns(values)])
    rows.append(["session to first reply", *columns(created)])
    rows.append(["added", f"{figures['added_p50_ms']:.2f}", "", f"{figures['added_p99_ms']:.2f}", ""])
    _report.report(figures, rows, as_json=as_json)


def columns(values: list[float]) -> list[str]:
    return [*(f"{_report.percentile(values, percent):.2f}" for percent in (50, 90, 99)), str(len(values))]


def interleaved(ways: dict[str, Callable[[str], float]], cells: int) -> dict[tuple[str, str], list[float]]:
    """Takes turns, one cell each, so that changes in the machine's load concern all ways alike."""
    samples: dict[tuple[str, str], list[float]] = {(way, code): [] for way in ways for code in _CELLS}
    for number in range(cells):
        if number % 250 == 0:
            _report.progress(f"cell {number} of {cells}")
        for code in _CELLS:
            for way, run in ways.items():
                samples[way, code].append(run(code))
    return samples


def over_zmq(client: BlockingKernelClient) -> Callable[[str], float]:
    def run(code: str) -> float:
        start = time.perf_counter()
        cell = client.execute(code)
        while client.get_shell_msg(timeout=30)["parent_header"]["msg_id"] != cell:
            pass
        end = time.perf_counter()
        idle = False
        while not idle:
            message = client.get_iopub_msg(timeout=30)
            idle = (
                message["parent_header"].get("msg_id") == cell and message["content"].get("execution_state") == "idle"
            )
        return (end - start) * 1000

    return run


def over_websocket(connection: Connection) -> Callable[[str], float]:
    def run(code: str) -> float:
        start = time.perf_counter()
        cell = connection.start(code)
        connection.wait_for(lambda m: m.type == "execute_reply" and m.parent == cell)
        end = time.perf_counter()
        connection.finish(cell)
        return (end - start) * 1000

    return run


def create(platform: Platform) -> float:
    """Creates a session; the time from POST /api/kernels to the reply to kernel_info, in ms."""
    start = time.perf_counter()
    kernel = platform.gateway.start_kernel(name="python3")
    with Connection(platform.gateway, kernel) as connection:
        connection.ask("shell", "kernel_info_request", {})
        took = (time.perf_counter() - start) * 1000
    platform.gateway.delete_kernel(kernel)
    time.sleep(0.5)  # lets the pool of workers refill: this measures single users, not a rush
    return took


if __name__ == "__main__":
    main()
