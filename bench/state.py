"""What tracking a session's state costs, beside the same cells on plain ipykernel in the same run.

In turns, a cell here and the same cell there; a figure is the median of the differences. CPU is that of the worker.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import timeit
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _report
import _state_cells as cells
import numpy as np
from _kernels import CellFailed, Plain, Session, cpu_s
from _state_bytes import by_cell, first_cells
from _state_cells import Case
from harness.platform import Platform


@dataclass
class Cost:
    """Samples of one case: what the session took beyond plain ipykernel, and what its commits added."""

    cpu_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    host_cpu_ms: list[float] = field(default_factory=list)
    value_bytes: list[int] = field(default_factory=list)
    undo_ms: list[float] = field(default_factory=list)
    copy_ms: list[float] = field(default_factory=list)


class Pair:
    """A session and an ipykernel that have run the same cells."""

    def __init__(self, platform: Platform, seed: int, *, strings: bool) -> None:
        self.session = Session(platform.gateway)
        self.plain = Plain()
        self.host = platform.pid(platform.gateway.executor(self.session.id))
        self.both(*cells.setup(seed, strings=strings))

    def both(self, *codes: str) -> None:
        for code in codes:
            self.plain.run(code)
            self.session.run(code)

    def close(self) -> None:
        self.session.close()
        self.plain.close()

    def measure(self, case: Case, repeat: int) -> Cost:
        """Runs a case's cell both ways and undoes it, `repeat` times."""
        cost = Cost()
        for n in range(10, 10 + repeat):
            self._once(case, n, cost)
        return cost

    def _once(self, case: Case, n: int, cost: Cost) -> None:
        code, look, back = (text.format(n=n) for text in (case.code, case.look, case.back))
        before = self.session.run(look).result if look else None
        values, host = self.session.value_bytes(), cpu_s(self.host)
        here = self.session.run(code)
        cost.host_cpu_ms.append((cpu_s(self.host) - host) * 1000)
        cost.value_bytes.append(self.session.value_bytes() - values)
        there = self.plain.run(code)
        cost.cpu_ms.append(here.cpu_ms - there.cpu_ms)
        cost.wall_ms.append(here.wall_ms - there.wall_ms)
        if not look:
            return
        undone = self.session.run("%undo", look)
        if undone.result != before:
            raise CellFailed(f"%undo of {code}: {look} is {undone.result} and was {before}")
        self.plain.run(back)
        cost.undo_ms.append(undone.wall_ms - self.plain.run(look).wall_ms)
        cost.copy_ms.append(copy_ms(case.copy_bytes))


def copy_ms(size: int) -> float:
    """The time that numpy takes to copy an array of that many bytes: the best of five."""
    array = np.ones(size, np.uint8)
    return min(timeit.repeat(array.copy, number=1, repeat=5)) * 1000


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--hosts", type=int, default=1, help="of the platform; three replicas need three")
    parser.add_argument("--repeat", type=int, default=7, help="of each cell")
    parser.add_argument("--cells", type=int, default=max(cells.TRIVIAL_AT), help="of the long session, at most 1000")
    options = parser.parse_args()
    fingerprints = fingerprint(options.repeat)
    store, stored = weigh(options.hosts)
    with tempfile.TemporaryDirectory(prefix="banyan-state-", dir="/var/tmp") as folder:
        _report.progress(f"starting a platform of {options.hosts} hosts")
        platform = Platform(Path(folder), hosts=options.hosts)
        try:
            figures = measure(platform, options.repeat, options.cells, stored)
        finally:
            platform.stop()
    figures = {**figures, **store, "fingerprint": fingerprints, "hosts": options.hosts, **_report.machine()}
    _report.report(figures, *tables(figures), as_json=options.json)


def weigh(hosts: int) -> tuple[dict[str, float], dict[str, float]]:
    """The store after 21 cells, and what each case adds to it."""
    _report.progress("the store after 21 cells")
    store = first_cells(hosts)
    _report.progress("what each cell adds to the store")
    stored = by_cell(hosts, cells.NUMBERS, strings=False)
    stored |= {f"{name}_strings": size for name, size in by_cell(hosts, cells.STRINGS, strings=True).items()}
    return store, stored


def measure(platform: Platform, repeat: int, length: int, stored: dict[str, float]) -> dict[str, Any]:
    costs: dict[str, Cost] = {}
    for seed, suffix, cases in ((2, "", cells.NUMBERS), (3, "_strings", cells.STRINGS)):
        pair = Pair(platform, seed, strings=bool(suffix))
        for case in cases:
            _report.progress(f"cell {case.name}{suffix}")
            costs[case.name + suffix] = pair.measure(case, repeat)
        pair.close()
    trivial, late = long_session(platform, repeat, length)
    medians = {name: {key: middle(samples) for key, samples in vars(cost).items()} for name, cost in costs.items()}
    undone = {name: row for name, row in medians.items() if row["undo_ms"] is not None}
    return {
        "cells": {name: _cell(row, stored[name]) for name, row in medians.items()},
        "undo": {name: row["undo_ms"] for name, row in undone.items()} | {"int_late": late},
        "undo_copy": {name: row["copy_ms"] for name, row in undone.items()} | {"int_late": 0.0},
        "trivial_cell_cpu_ms": trivial,
    }


def _cell(row: dict[str, Any], store_bytes: float) -> dict[str, Any]:
    """`bytes`: those of the values as the history counts them, or less where the store had a part of them already."""
    times = {key: row[key] for key in ("cpu_ms", "wall_ms", "host_cpu_ms")}
    size = min(row["value_bytes"], store_bytes)
    return {**times, "bytes": size, "value_bytes": row["value_bytes"], "store_bytes": store_bytes}


def middle(samples: list[float] | list[int]) -> float | None:
    return statistics.median(samples) if samples else None


def long_session(platform: Platform, repeat: int, length: int) -> tuple[dict[str, float], float]:
    """The time that tracking adds to a trivial cell, by the number of cells before it, and the time of an undo at the
    end."""
    pair = Pair(platform, 4, strings=False)
    trivial: dict[str, float] = {}
    done = 0
    for place in [at for at in cells.TRIVIAL_AT if at <= length]:
        _report.progress(f"a long session: {place} of {length} cells")
        while done < place:
            pair.both(cells.filler(done))
            done += 1
        samples = []
        for _ in range(5 * repeat):
            here, there = pair.session.run("v4 += 1"), pair.plain.run("v4 += 1")
            samples.append(here.cpu_ms - there.cpu_ms)
            done += 1
        trivial[str(place)] = statistics.median(samples)
    late = pair.measure(cells.TRIVIAL, repeat)
    pair.close()
    return trivial, statistics.median(late.undo_ms)


def fingerprint(repeat: int) -> dict[str, dict[str, float]]:
    """The fingerprint of each object, beside a pickle of it with all bytes in one string."""
    _report.progress("fingerprints")
    script = Path(__file__).with_name("_fingerprint.py")
    command = [sys.executable, str(script), "--repeat", str(repeat)]
    measured = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {name: {**row, "ratio_to_c_pickle": row["s"] / row["pickle_s"]} for name, row in measured.items()}


def tables(figures: dict[str, Any]) -> list[list[list[str]]]:
    return [_cells(figures), _undo(figures), _rest(figures), _fingerprints(figures)]


def _mark(value: float, most: float | None) -> str:
    return "" if most is None else "pass" if value <= most else "short"


def _cells(figures: dict[str, Any]) -> list[list[str]]:
    head = ["tracking of a cell", "cpu ms", "", "wall ms", "", "host cpu ms", "stored", "", "in the store", "goal"]
    rows = [[*head, "Kishu default", "Kishu experimental"]]
    for suffix, cases in (("", cells.NUMBERS), ("_strings", cells.STRINGS)):
        for case in cases:
            row = figures["cells"][case.name + suffix]
            goal = [f"{case.time_ms_max:g} ms"] if case.time_ms_max is not None else []
            goal += [size(case.bytes_max)] if case.bytes_max is not None else []
            peers = [case.peers.default, case.peers.experimental] if not suffix else ["", ""]
            rows.append(
                [
                    case.name + suffix,
                    f"{row['cpu_ms']:.2f}",
                    _mark(row["cpu_ms"], case.time_ms_max),
                    f"{row['wall_ms']:.1f}",
                    _mark(row["wall_ms"], None if case is cells.TRIVIAL else case.time_ms_max),
                    f"{row['host_cpu_ms']:.1f}",
                    size(row["bytes"]),
                    _mark(row["bytes"], case.bytes_max),
                    size(row["store_bytes"]),
                    ", ".join(goal),
                    *peers,
                ]
            )
    return rows


def _undo(figures: dict[str, Any]) -> list[list[str]]:
    rows = [["undo", "ms", "the copy ms", "goal", "", "Kishu default", "Kishu experimental"]]
    peers = {case.name: case.undo_peers for case in cells.NUMBERS} | {"int_late": cells.UNDO_LATE_PEERS}
    for name, took in figures["undo"].items():
        most = cells.UNDO_MS_MAX + figures["undo_copy"][name]
        peer = peers.get(name, cells.Peers())
        row = [name, f"{took:.1f}", f"{figures['undo_copy'][name]:.1f}", f"{most:.0f} ms", _mark(took, most)]
        rows.append([*row, peer.default, peer.experimental])
    return rows


def _rest(figures: dict[str, Any]) -> list[list[str]]:
    rows = [["", "ours", "goal", "", "Kishu default", "Kishu experimental"]]
    for place, took in figures["trivial_cell_cpu_ms"].items():
        name = f"trivial cell after {place} cells, cpu ms"
        goal = f"{cells.TRIVIAL_MS_MAX:g}"
        peer = cells.TRIVIAL_PEERS.get(int(place), "")
        rows.append([name, f"{took:.2f}", goal, _mark(took, cells.TRIVIAL_MS_MAX), peer, ""])
    name = f"store after the first {len(cells.FIRST_CELLS)} cells, MB"
    ours = [f"{figures['store_mb']:.1f}", f"{cells.STORE_MB_MAX:g}", _mark(figures["store_mb"], cells.STORE_MB_MAX)]
    rows.append([name, *ours, cells.STORE_PEERS.default, cells.STORE_PEERS.experimental])
    rows.append(["values in it, MB", f"{figures['store_values_mb']:.1f}", "", "", "", ""])
    return rows


def _fingerprints(figures: dict[str, Any]) -> list[list[str]]:
    head = ["fingerprint, cpu s", "ours", "pickle here", "ratio", "goal", ""]
    rows = [[*head, "pickle there", "Kishu default", "Kishu experimental", "ElasticNotebook"]]
    for name, row in figures["fingerprint"].items():
        peers = cells.FINGERPRINTS[name]
        ratio = row["ratio_to_c_pickle"]
        ours = [peers.label, f"{row['s']:.3f}", f"{row['pickle_s']:.3f}", f"{ratio:.2f}"]
        ours += [f"{cells.FINGERPRINT_RATIO_MAX:g}", _mark(ratio, cells.FINGERPRINT_RATIO_MAX)]
        rows.append([*ours, peers.pickle, peers.kishu_default, peers.kishu_experimental, peers.elastic_notebook])
    return rows


def size(count: float) -> str:
    """A number of bytes, for people."""
    for unit in ("B", "kB", "MB"):
        if abs(count) < 1000 or unit == "MB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError


if __name__ == "__main__":
    main()
