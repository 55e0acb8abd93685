"""Overhead on whole notebooks: each of bench/notebooks/ in a session of a platform and on plain ipykernel, in turns.

On a busy machine the CPU time of the same code differs by more than the overhead. Both kernels therefore tell for how
much of it IPython ran cells; the overhead is what the process takes besides, less what plain ipykernel takes besides.

A last run on plain ipykernel is told what each cell changed, as Banyan found it, and does the least with it that takes
it out of the process: pickles it with C pickle, large buffers out of band and unread, and copies as many bytes as
Banyan stored of the whole notebook. Who saves what cells make as they make it pays that, however changes are found.
"""

import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _report
from _kernels import Kernel, Plain, Session, forget_peak, peak_mb
from harness.platform import Platform

_CORPUS = Path(__file__).with_name("notebooks")
_MARK = re.compile(r"^# %%.*\n", re.MULTILINE)

# Times from before a cell's code to after its outputs are formed; kept where no variable sees them.
_WATCH = """
def watch():
    import time
    shell = get_ipython()
    spent, begun = [0.0, 0.0], []
    shell.bench_spent = spent
    def begin(info):
        begun[:] = time.process_time(), time.perf_counter()
    def end(result):
        if begun:  # not the end of this very cell
            spent[0] += time.process_time() - begun[0]
            spent[1] += time.perf_counter() - begun[1]
    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)
watch()
del watch
"""
_SPENT = "get_ipython().bench_spent"

# What it takes to pickle some variables, and to write so many bytes into memory that another process can read.
_SAVE = """
def saving():
    import os, pickle, time
    shell = get_ipython()
    def save(names):
        values = {name: shell.user_ns[name] for name in names if name in shell.user_ns}
        begun = time.process_time()
        try:
            pickle.dumps(values, protocol=5, buffer_callback=lambda buffer: False)
        except Exception:
            for value in values.values():
                try:
                    pickle.dumps(value, protocol=5, buffer_callback=lambda buffer: False)
                except Exception:
                    pass
        return time.process_time() - begun
    def hand_over(count):
        block = os.urandom(1 << 20)
        begun = time.process_time()
        for _ in range(count >> 20):
            memory = os.memfd_create("bench")
            os.write(memory, block)
            os.close(memory)
        return time.process_time() - begun
    shell.bench_save, shell.bench_hand_over = save, hand_over
saving()
del saving
"""


@dataclass(frozen=True)
class Run:
    """One notebook from its first to its last cell, seconds; `besides` is what was not IPython's running of cells."""

    cpu_s: float
    wall_s: float
    besides_cpu_s: float
    besides_wall_s: float
    peak_mb: float


def main() -> None:
    parser = _report.arguments(__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="a notebook; may be given again")
    parser.add_argument("--repeat", type=int, default=3, help="of each notebook, each way")
    parser.add_argument("--hosts", type=int, default=1, help="of the platform; three replicas need three")
    options = parser.parse_args()
    corpus = {path.stem: cells_of(path) for path in sorted(_CORPUS.glob("*.py"))}
    if unknown := set(options.only or ()) - corpus.keys():
        parser.error(f"no notebook {unknown.pop()!r}; there are: {', '.join(corpus)}")
    chosen = {name: cells for name, cells in corpus.items() if not options.only or name in options.only}
    with tempfile.TemporaryDirectory(prefix="banyan-notebooks-", dir="/var/tmp") as folder:
        _report.progress(f"starting a platform of {options.hosts} hosts")
        platform = Platform(Path(folder), hosts=options.hosts)
        try:
            rows = measure(platform, chosen, options.repeat)
        finally:
            platform.stop()
    figures = {"rows": rows, **summary(rows), "repeat": options.repeat, "hosts": options.hosts, **_report.machine()}
    _report.report(figures, table(figures), as_json=options.json)


def cells_of(path: Path) -> list[str]:
    """What follows each `# %%`; before the first one the file tells what it is."""
    return [cell.strip() for cell in _MARK.split(path.read_text())[1:]]


def measure(platform: Platform, corpus: dict[str, list[str]], repeat: int) -> list[dict[str, Any]]:
    rows, done = [], 0
    for name, cells in corpus.items():
        plain, banyan, host_mb = [], [], []
        saved: Saved | None = None
        for _ in range(repeat):
            _report.bar(done, 2 * repeat * len(corpus), f"{name}, plain")
            with Plain() as kernel:
                plain.append(run(kernel, cells))
            _report.bar(done + 1, 2 * repeat * len(corpus), f"{name}, banyan")
            host = platform.pid(platform.hosts[0])
            forget_peak(host)
            before = peak_mb(host)
            with Session(platform.gateway) as session:
                banyan.append(run(session, cells))
                saved = saved or saved_of(session, len(cells))
            host_mb.append(peak_mb(host) - before)
            done += 2
        assert saved
        figures = row(name, plain, banyan)
        figures["floor_pct"] = 100 * floor_s(cells, saved) / figures["plain_s"]
        rows.append({**figures, "host_mb": statistics.median(host_mb)})
    _report.bar(done, done, "done")
    return rows


def run(kernel: Kernel, cells: list[str]) -> Run:
    kernel.run(_WATCH)
    ran = [kernel.run(cell) for cell in cells]
    spent = kernel.run(_SPENT).result
    assert spent
    in_cells_cpu, in_cells_wall = (float(number) for number in spent.strip("[]").split(","))
    cpu, wall = (sum(getattr(one, figure) for one in ran) / 1000 for figure in ("cpu_ms", "wall_ms"))
    return Run(cpu, wall, cpu - in_cells_cpu, wall - in_cells_wall, peak_mb(kernel.pid))


@dataclass(frozen=True)
class Saved:
    """What each cell of a notebook changed (names), and bytes of all versions, equal blocks once."""

    changed: list[list[str]]
    stored: int


def saved_of(session: Session, cells: int) -> Saved:
    answer = session.gateway.ask_history(session.id, {"do": "log", "limit": 2 * cells + 10})
    answer.raise_for_status()
    by_count = {commit.get("count"): commit["changed"] for commit in answer.json()["commits"]}
    return Saved([by_count.get(count, []) for count in range(2, cells + 2)], session.value_bytes())


def floor_s(cells: list[str], saved: Saved) -> float:
    """CPU seconds, once through the notebook."""
    with Plain() as kernel:
        kernel.run(_SAVE)
        spent = 0.0
        for cell, names in zip(cells, saved.changed, strict=True):
            kernel.run(cell)
            spent += float(kernel.evaluate(f"get_ipython().bench_save({names!r})"))
        return spent + float(kernel.evaluate(f"get_ipython().bench_hand_over({saved.stored})"))


def row(name: str, plain: list[Run], banyan: list[Run]) -> dict[str, Any]:
    """Medians. `overhead_pct` and `wall_pct` are of what the kernels took besides running cells; `raw_` of all."""

    def middle(runs: list[Run], figure: str) -> float:
        return statistics.median(getattr(run, figure) for run in runs)

    def percent(figure: str, of: str) -> float:
        return 100 * (middle(banyan, figure) - middle(plain, figure)) / middle(plain, of)

    return {
        "name": name,
        "plain_s": middle(plain, "cpu_s"),
        "banyan_s": middle(banyan, "cpu_s"),
        "overhead_pct": percent("besides_cpu_s", "cpu_s"),
        "raw_overhead_pct": percent("cpu_s", "cpu_s"),
        "plain_wall_s": middle(plain, "wall_s"),
        "banyan_wall_s": middle(banyan, "wall_s"),
        "wall_pct": percent("besides_wall_s", "wall_s"),
        "plain_mb": middle(plain, "peak_mb"),
        "banyan_mb": middle(banyan, "peak_mb"),
        "memory_pct": percent("peak_mb", "peak_mb"),
    }


GOALS = {"overhead_pct_median": 1.0, "overhead_pct_worst": 2.0, "memory_pct_worst": 5.0}


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    found = {}
    for figure in ("overhead_pct", "floor_pct", "raw_overhead_pct", "wall_pct", "memory_pct"):
        values = [row[figure] for row in rows]
        found |= {f"{figure}_median": statistics.median(values), f"{figure}_worst": max(values)}
    return found


_COLUMNS = {
    "plain_s": "plain cpu s",
    "banyan_s": "banyan cpu s",
    "overhead_pct": "overhead %",
    "floor_pct": "pickle %",
    "raw_overhead_pct": "raw %",
    "plain_wall_s": "plain wall s",
    "wall_pct": "wall %",
    "plain_mb": "plain MB",
    "banyan_mb": "banyan MB",
    "memory_pct": "memory %",
    "host_mb": "host agent MB",
}


def table(figures: dict[str, Any]) -> list[list[str]]:
    rows = [["notebook", *_COLUMNS.values()]]
    rows += [[row["name"], *(f"{row[key]:.2f}" for key in _COLUMNS)] for row in figures["rows"]]
    for which in ("median", "worst"):
        rows.append([which, *(_cell(figures, f"{key}_{which}") for key in _COLUMNS)])
    return rows


def _cell(figures: dict[str, Any], key: str) -> str:
    if key not in figures:
        return ""
    verdict = ("pass " if figures[key] <= GOALS[key] else "short ") if key in GOALS else ""
    return f"{verdict}{figures[key]:.2f}"


if __name__ == "__main__":
    main()
