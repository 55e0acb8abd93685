"""Large values: from the end of a cell until its reply, and until the bytes are on the host's disk and on a majority's.

Each row makes one value on plain ipykernel, in a session whose replies wait for all values (`%%durable`) and in one
whose replies do not. After it a client runs small cells while the bytes are being copied. Then the session is suspended
and woken by a cell that reads the value. The last lines set a gigabyte that is copied while no cell runs beside three
programs that write as much to the same disk.
"""

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import _report
from _kernels import Kernel, Plain, Session, forget_peak, peak_mb
from harness.client import wait_until
from harness.platform import Platform

GOAL_REPLY_S_PER_GB = 0.6
GOAL_FOLLOW_P50_MS = 5.0
GOAL_FOLLOW_P99_MS = 30.0
GOAL_RESUME_S = 1.5
GOAL_PEAK_RATIO = 1.15
GOAL_COPY_PART = 0.8  # of what the disk gives three writers

_TIMED = "import time as _time\n_begun = _time.perf_counter()\n{code}\nprint(_time.perf_counter() - _begun)"
_IMPORTS = "import numpy, torch, transformers\nsmall = [numpy.random.default_rng(n).random(650_000) for n in range(10)]"
_POLL_S = 0.02
_USUAL_CELLS = 200
_IMPORTED_AHEAD_S = 10.0  # a host begins 5 s after it has seen a library, with what cells leave of the processors
_WRITERS = 3  # as many as a session has replicas
_seeds = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """`prepare` runs before, untimed. `read` makes a later process read the whole value. SEED becomes another number
    each time: hosts know chunks that they have had."""

    name: str
    gb: float
    prepare: str
    code: str
    read: str

    def with_seed(self, seed: int) -> "Case":
        return replace(self, prepare=self.prepare.replace("SEED", str(seed)), code=self.code.replace("SEED", str(seed)))


def _numbers(gb: float) -> Case:
    count = int(gb * 1e9 / 8)
    return Case(
        f"numpy, {gb:g} GB of random numbers",
        gb,
        "import numpy as np",
        f"a = np.random.default_rng(SEED).random({count})",
        "float(a.sum())",
    )


def cases(most_gb: float) -> list[Case]:
    """All of them whose value is not larger than that."""
    every = [
        _numbers(0.1),
        _numbers(1.0),
        Case(
            "numpy, 1 GB: c *= 2",
            1.0,
            "import numpy as np\nc = np.random.default_rng(SEED).random(125_000_000)",
            "c *= 2",
            "float(c.sum())",
        ),
        _numbers(4.0),
        Case(
            "torch, a module of 1 GB",
            1.0,
            "import torch",
            "m = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096, bias=False) for _ in range(15)))",
            "float(m[0].weight.sum())",
        ),
        Case(
            "pandas, 1M rows with texts",
            0.1,
            "import numpy as np, pandas as pd",
            "f = pd.DataFrame({'n': np.arange(1_000_000), 't': [f'SEED {n % 50_000}' for n in range(1_000_000)]})",
            "len(f.t.iloc[-1])",
        ),
        Case(
            "a list of 1e6 dicts",
            0.1,
            "pass",
            "d = [{'n': n + SEED, 'x': n / 2} for n in range(1_000_000)]",
            "d[-1]['n']",
        ),
    ]
    return [case for case in every if case.gb <= most_gb]


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument(
        "--most-gb", type=float, default=1.0, help="leave out values of more (1; 4 wants 20 GB of memory)"
    )
    parser.add_argument("--only", default="", help="only cases whose name has this")
    parser.add_argument(
        "--no-imports", action="store_true", help="do not time a resumption with torch and transformers"
    )
    parser.add_argument("--no-rate", action="store_true", help="do not time a copy beside which no cell runs")
    options = parser.parse_args()
    chosen = [case for case in cases(options.most_gb) if options.only in case.name]
    with tempfile.TemporaryDirectory(prefix="banyan-large-", dir="/var/tmp") as folder:
        _report.progress("starting a platform of 4 hosts")
        platform = Platform(Path(folder), hosts=4)
        try:
            rows = []
            for done, case in enumerate(chosen):
                _report.bar(done, len(chosen), case.name)
                rows.append(measure(platform, case))
            _report.bar(len(chosen), len(chosen), "done")
            imports = None if options.no_imports else resume_with_imports(platform)
            rate = {} if options.no_rate else copy_rate(platform, Path(folder))
        finally:
            platform.stop()
    follow = [row for row in rows if row["gb"] >= 1 and row["follow_p50_ms"] is not None]
    figures = {
        "rows": rows,
        "follow_p50_ms": max((row["follow_p50_ms"] for row in follow), default=None),
        "follow_p99_ms": max((row["follow_p99_ms"] for row in follow), default=None),
        "resume_1gb_s": next((row["resume_s"] for row in rows if row["value"].startswith("numpy, 1 GB of")), None),
        "resume_imports_s": imports,
        **rate,
        **_report.machine(),
    }
    _report.report(figures, table(figures), resumptions(figures), rates(figures), as_json=options.json)


def measure(platform: Platform, template: Case) -> dict[str, Any]:
    case = template.with_seed(next(_seeds))
    with Plain() as kernel:
        kernel.run(case.prepare)
        forget_peak(kernel.pid)
        plain = _Made(kernel, case)
        plain_peak = peak_mb(kernel.pid)
    case = template.with_seed(next(_seeds))
    with Session(platform.gateway) as session:
        session.run(case.prepare)
        _settle(session)
        durable = _Made(session, case, first="%%durable\n")
    case = template.with_seed(next(_seeds))
    with Session(platform.gateway) as session:
        session.run(case.prepare)
        _settle(session)
        usual = [session.run("pass").wall_ms for _ in range(_USUAL_CELLS)]
        forget_peak(session.pid)
        wire, disk = _wire_bytes(), _disk_bytes(platform)
        made = _Made(session, case)
        replied = time.perf_counter()
        follow, steps = _follow(session)
        wait_until(lambda: _all_have_it(session), "all members have the value", 600)
        peak = peak_mb(session.pid)
        wire, disk = _wire_bytes() - wire, _disk_bytes(platform) - disk
        resume_s = _resume(session, case.read)
    usual_ms = statistics.median(usual)
    return {
        "value": case.name,
        "gb": case.gb,
        "inside_s": made.inside_s,
        "reply_s": made.reply_s,
        "plain_reply_s": plain.reply_s,
        "sync_reply_s": durable.reply_s,
        "local_s": made.reply_s + steps["local"] - replied,
        "durable_s": made.reply_s + steps["durable"] - replied,
        "peak_ratio": peak / plain_peak,
        "follow_cells": len(follow),
        "follow_p50_ms": _report.percentile(follow, 50) - usual_ms if follow else None,
        "follow_p99_ms": _report.percentile(follow, 99) - _report.percentile(usual, 99) if follow else None,
        "resume_s": resume_s,
        "wire_gb": wire / 1e9,
        "disk_gb": disk / 1e9,
    }


class _Made:
    """The value is made: seconds inside the cell, and from its request to its reply."""

    def __init__(self, kernel: Kernel, case: Case, first: str = "") -> None:
        begun = time.perf_counter()
        end, _ = kernel.run_untimed(first + _TIMED.format(code=case.code) + "\n_begun = _time.perf_counter() - _begun")
        self.reply_s = end - begun
        self.inside_s = float(kernel.evaluate("_begun"))


def _follow(session: Session) -> tuple[list[float], dict[str, float]]:
    """Small cells, one after the other, until nothing is pending: their times in milliseconds, and when the value was
    on its host's disk and on a majority's (perf_counter)."""
    times: list[float] = []
    steps: dict[str, float] = {}
    looked = 0.0
    while "durable" not in steps:
        if time.perf_counter() - looked > _POLL_S:
            looked = time.perf_counter()
            pending = session.gateway.session(session.id).get("pending")
            if pending is None or pending["captured_bytes"] == 0:
                steps.setdefault("local", looked)
            if pending is None:
                steps["durable"] = looked
                break
        begun = time.perf_counter()
        end, _ = session.run_untimed("pass")
        times.append((end - begun) * 1000)
    return times, steps


def _resume(session: Session, read: str) -> float:
    """Seconds of the first cell after a suspension."""
    answer = session.gateway.call("POST", f"/api/banyan/sessions/{session.id}/suspend", json={}, timeout=600)
    answer.raise_for_status()
    wait_until(lambda: session.gateway.session(session.id)["state"] == "suspended", "it is suspended", 60)
    time.sleep(1)
    begun = time.perf_counter()
    end, _ = session.run_untimed(read)
    return end - begun


def resume_with_imports(platform: Platform) -> float:
    """torch and transformers, and 50 MB of values."""
    with Session(platform.gateway) as session:
        session.run(_IMPORTS)
        _settle(session)
        _resume(session, "len(small)")  # every host that may take it has seen the libraries then
        _settle(session)
        time.sleep(_IMPORTED_AHEAD_S)
        return _resume(session, "float(small[-1].sum()) + len(transformers.__name__) + len(torch.__name__)")


def copy_rate(platform: Platform, folder: Path) -> dict[str, float]:
    """Gigabytes a second of each of three writers: replicas that copy 1 GB while no cell runs, until a majority has it,
    and programs that write 1 GB each into files beside theirs and sync it."""
    case = _numbers(1.0).with_seed(next(_seeds))
    with Session(platform.gateway) as session:
        session.run(case.prepare)
        _settle(session)
        session.run_untimed(case.code)
        begun = time.perf_counter()
        wait_until(lambda: session.gateway.session(session.id).get("pending") is None, "a majority has the value", 600)
        copied_s = time.perf_counter() - begun
    time.sleep(3)  # the third replica writes on
    block = os.urandom(4 << 20)

    def write(number: int) -> None:
        with (folder / f"writer-{number}").open("wb", buffering=0) as file:
            for _ in range(round(1e9 / len(block))):
                file.write(block)
            os.fdatasync(file.fileno())

    begun = time.perf_counter()
    with ThreadPoolExecutor(_WRITERS) as writers:
        list(writers.map(write, range(_WRITERS)))
    return {"copy_gb_per_s": 1 / copied_s, "writers_gb_per_s": 1 / (time.perf_counter() - begun)}


def _settle(session: Session) -> None:
    wait_until(lambda: _all_have_it(session), "nothing is under way", 600)
    time.sleep(0.5)


def _all_have_it(session: Session) -> bool:
    model = session.gateway.session(session.id)
    last = {replica["last_commit"] for replica in model["replicas"]}
    return model.get("pending") is None and len(last) == 1 and len(model["replicas"]) > 1


def _wire_bytes() -> int:
    """Bytes that have gone over the loopback interface."""
    line = next(one for one in Path("/proc/net/dev").read_text().splitlines() if one.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def _disk_bytes(platform: Platform) -> int:
    """Bytes in the hosts' stores."""
    stores = (platform.folder / host / "log" for host in platform.hosts)
    return sum(file.stat().st_blocks * 512 for store in stores for file in store.rglob("*") if file.is_file())


def table(figures: dict[str, Any]) -> list[list[str]]:
    columns: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("value", lambda row: row["value"]),
        ("inside, s", lambda row: f"{row['inside_s']:.2f}"),
        ("plain, s", lambda row: f"{row['plain_reply_s']:.2f}"),
        ("reply, s", lambda row: f"{row['reply_s']:.2f}"),
        ("durable cell, s", lambda row: f"{row['sync_reply_s']:.2f}"),
        ("local, s", lambda row: f"{row['local_s']:.2f}"),
        ("majority, s", lambda row: f"{row['durable_s']:.2f}"),
        ("peak/plain", lambda row: f"{row['peak_ratio']:.2f}"),
        ("next cells p50, ms", lambda row: "" if row["follow_p50_ms"] is None else f"+{row['follow_p50_ms']:.1f}"),
        ("p99, ms", lambda row: "" if row["follow_p99_ms"] is None else f"+{row['follow_p99_ms']:.1f}"),
        ("resumed, s", lambda row: f"{row['resume_s']:.2f}"),
        ("wire, GB", lambda row: f"{row['wire_gb']:.2f}"),
        ("disk, GB", lambda row: f"{row['disk_gb']:.2f}"),
    ]
    lines = [[name for name, _ in columns]]
    lines += [[cell(row) for _, cell in columns] for row in figures["rows"]]
    return lines


def resumptions(figures: dict[str, Any]) -> list[list[str]]:
    def line(what: str, seconds: float | None) -> list[str]:
        return [what, "not measured" if seconds is None else f"{seconds:.2f}"]

    return [
        ["first cell after a suspension", "seconds"],
        line("1 GB of numbers", figures["resume_1gb_s"]),
        line("torch, transformers, 50 MB of numbers", figures["resume_imports_s"]),
    ]


def rates(figures: dict[str, Any]) -> list[list[str]]:
    """One line for the rates of copy_rate; the head alone where they were not measured."""
    lines = [["without cells", "GB/s for each of three", "of the disk"]]
    if "copy_gb_per_s" in figures:
        copied, written = figures["copy_gb_per_s"], figures["writers_gb_per_s"]
        lines.append(["three replicas copy 1 GB", f"{copied:.2f}", f"{copied / written:.0%}"])
        lines.append(["three programs write 1 GB", f"{written:.2f}", "100%"])
    return lines


if __name__ == "__main__":
    main()
