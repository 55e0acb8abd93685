"""What a client sees of a live migration: a session of --megabytes, hosts in network namespaces, wires of some speeds.

A client runs a small cell again and again while the session moves. Its pause is the longest time to a reply, by the
median of the same cells before. `copied`: nothing may be made again, all values go over the wire. `least`: as the
planner will. `changed`: as `copied`, and cells change a tenth of the values meanwhile.
"""

import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import _report
from harness.client import Connection, wait_until
from harness.namespaces import SeparateHosts, available

_MODES = ("copied", "least", "changed")
_MAKE = """
import numpy as np
{mark}
parts = [
    np.random.default_rng([{seed}, number]).integers(0, 256, 10_000_000, dtype=np.uint8) for number in range({parts})
]
"""
_CHANGE = "parts[{number}] = parts[{number}] ^ 1"
_SUM = "sum(int(part.sum()) for part in parts)"

GOAL_PAUSE_S = 1.0


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--megabits", type=float, nargs="+", default=[1000.0, 10_000.0], help="of each host's wire")
    parser.add_argument("--mode", choices=_MODES, nargs="+", default=list(_MODES))
    options = parser.parse_args()
    if why := available():
        parser.error(why)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="banyan-live-", dir="/var/tmp") as folder:
        _report.progress("starting four hosts in namespaces")
        platform = SeparateHosts(Path(folder) / "platform")
        try:
            total = len(options.mode) * len(options.megabits)
            for mode in options.mode:
                for megabits in options.megabits:
                    _report.bar(len(rows), total, f"{mode}, {megabits:g} Mb/s")
                    rows.append(once(platform, mode, options.megabytes, megabits, seed=len(rows)))
            _report.bar(total, total, "done")
        finally:
            platform.stop()
    figures = {"rows": rows, "worst_pause_s": max(row["pause_s"] for row in rows), **_report.machine()}
    _report.report(figures, table(figures), as_json=options.json)


def once(platform: SeparateHosts, mode: str, megabytes: int, megabits: float, seed: int) -> dict[str, Any]:
    """seed: another one in each row, since hosts still have the bytes of the sessions before."""
    gateway = platform.gateway
    kernel = gateway.start_kernel(name="python3")
    try:
        with Connection(gateway, kernel) as connection:
            mark = "" if mode == "least" else "%rerun never"
            made = connection.run(_MAKE.format(parts=megabytes // 10, mark=mark, seed=seed), timeout=600)
            assert made.status == "ok", made.reply
            expected = connection.run(_SUM).result
            wait_until(lambda: _copied(gateway.session(kernel)), "all replicas have the values", 600)
            cells = Cells(connection, megabytes // 10 if mode == "changed" else 0)
            before = [cells.one() for _ in range(50)]
            has = {row["host"] for row in gateway.session(kernel)["replicas"]}
            target = next(host for host in platform.hosts if host not in has)
            platform.limit(megabits)
            cells.start()
            begun = time.perf_counter()
            answer = gateway.call(
                "POST", f"/api/banyan/sessions/{kernel}/migrate", json={"host": target, "force": True}, timeout=900
            )
            moved = time.perf_counter() - begun
            cells.stop()
            assert answer.status_code == 200, answer.text
            wait_until(lambda: len(gateway.session(kernel)["replicas"]) == 3, "the move is done", 900)
            copied = time.perf_counter() - begun
            platform.limit(None)
            if mode != "changed":
                assert connection.run(_SUM, timeout=120).result == expected
            assert connection.run("n").result == str(cells.count)
            view = gateway.session(kernel).get("view", {})
    finally:
        platform.limit(None)
        gateway.delete_kernel(kernel)
    usual = statistics.median(before)
    return {
        "mode": mode,
        "megabytes": megabytes,
        "megabits": megabits,
        "wire_s": megabytes * 8 / megabits,
        "moved_s": moved,
        "copied_s": copied,
        "usual_cell_s": usual,
        "pause_s": max(cells.took) - usual,
        "cells": len(cells.took),
        "predicted_s": view.get("predicted_ms", 0) / 1000,
        "built_s": view.get("took_ms", 0) / 1000,
        "ran_again": view.get("cells", 0),
    }


class Cells:
    """A client that counts, and changes parts now and then."""

    def __init__(self, connection: Connection, parts: int) -> None:
        self.count = 0
        self.took: list[float] = []
        self._connection = connection
        self._parts = parts
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        connection.run("n = 0")

    def one(self) -> float:
        begun = time.perf_counter()
        ended = self._connection.run("n += 1", timeout=300)
        took = time.perf_counter() - begun
        assert ended.status == "ok", ended.reply
        self.count += 1
        return took

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """After a few more cells, on the new host."""
        time.sleep(0.5)
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        changed = 0
        while not self._stopped.is_set():
            self.took.append(self.one())
            if changed < self._parts // 10 and len(self.took) % 10 == 0:
                self._connection.run(_CHANGE.format(number=changed), timeout=300)
                changed += 1
            time.sleep(0.05)


def _copied(session: dict[str, Any]) -> bool:
    """That they have the commit is enough: a commit waits until a majority has its chunks, and these were all up."""
    return all(row["last_commit"] == session["last_commit"] for row in session["replicas"])


def table(figures: dict[str, Any]) -> list[list[str]]:
    head = ["mode", "wire", "MB", "on the wire s", "moved s", "all copied s", "cells", "usual cell ms", "pause s"]
    rows = [[*head, "built s", "predicted s", "ran again"]]
    for row in figures["rows"]:
        rows.append(
            [
                row["mode"],
                f"{row['megabits']:g} Mb/s",
                str(row["megabytes"]),
                *(f"{row[key]:.2f}" for key in ("wire_s", "moved_s", "copied_s")),
                str(row["cells"]),
                f"{1000 * row['usual_cell_s']:.1f}",
                f"{'pass' if row['pause_s'] < GOAL_PAUSE_S else 'short'} {row['pause_s']:.2f}",
                f"{row['built_s']:.2f}",
                f"{row['predicted_s']:.2f}",
                str(row["ran_again"]),
            ]
        )
    return rows


if __name__ == "__main__":
    main()
