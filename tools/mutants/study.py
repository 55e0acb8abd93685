"""Turns on one fault after the other, and says which of them no test notices."""

import hashlib
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dev import ui
from dev.paths import ROOT

from mutants import tree
from mutants.faults import Fault
from mutants.programs import SIMULATOR, Check, Checks, Reached

FOLDERS = ("src/core/raft", "src/core/session", "src/core/view", "src/core/cluster", "src/core/schedule", "src/node")
TESTS = (
    "core_raft_test",
    "raft_scenarios_test",
    "core_session_test",
    "core_view_test",
    "core_cluster_test",
    "core_schedule_test",
    "schedule_scenarios_test",
    "node_test",
    "sim_test",
)
EQUAL = ROOT / "tools" / "mutants" / "equal.txt"
_CELLS = 100


@dataclass(frozen=True)
class Outcome:
    """`by`: the program that noticed the fault, or empty. `reached`: whether any check reaches the code of the
    fault."""

    key: str
    by: str
    reached: bool


@dataclass
class Options:
    """`sample`: how many faults the seed chooses; None: all faults. `tests`: the programs that should notice them.
    `schedules`: how many schedules the simulator tries on a fault that none of these notices; with 0 the simulator is
    not built."""

    folders: Sequence[str] = FOLDERS
    sample: int | None = None
    seed: int = 1
    tests: Sequence[str] = TESTS
    schedules: int = 40
    jobs: int = 2


def run(options: Options) -> dict[str, Any]:
    """Runs the study and returns its figures, as `./dev mutants --json` prints them."""
    for folder in options.folders:
        if not (ROOT / folder).is_dir():
            raise ui.UserError(f"{folder} is no folder of the tree; those that are tried: {', '.join(FOLDERS)}")
    faults = tree.all_faults(options.folders)
    if options.sample is not None:
        faults = sorted(_drawn(faults, options.sample, options.seed), key=lambda one: (one.path, one.start))
    simulator = [SIMULATOR] if options.schedules else []
    numbers = tree.built(faults, [*options.tests, *simulator])
    checks = Checks(options.tests, options.schedules, _CELLS)
    reached = _reach(checks, max(numbers.values(), default=0), options.jobs)
    outcomes = _try(numbers, checks, reached, options.jobs)
    return _figures(list(numbers), outcomes, faults_left_out=len(faults) - len(numbers))


def _drawn(faults: Sequence[Fault], count: int, seed: int) -> list[Fault]:
    """A sample in which a fault mostly stays, or stays out, when other code changes."""
    return sorted(faults, key=lambda one: hashlib.sha256(f"{seed} {one.key}".encode()).digest())[:count]


def _reach(checks: Checks, faults: int, jobs: int) -> dict[Check, Reached]:
    every = [*checks.tests, *checks.schedules]
    label = f"Finding what {len(checks.tests)} tests and {len(checks.schedules)} schedules come to"
    with ui.Step(label) as step, ThreadPoolExecutor(jobs) as pool:
        found = {}
        each = pool.map(lambda one: checks.reach(one, faults), every)
        for n, (check, what) in enumerate(zip(every, each, strict=True)):
            found[check] = what
            step.progress(n / len(every), f"{n}/{len(every)}")
    return found


def _try(numbers: dict[Fault, int], checks: Checks, reached: dict[Check, Reached], jobs: int) -> dict[str, Outcome]:
    known = _Results(_digest(checks))
    left = [fault for fault in numbers if fault.key not in known.outcomes]
    comes: dict[int, list[Check]] = {number: [] for number in numbers.values()}
    for check, what in reached.items():
        for number in what.numbers & comes.keys():
            comes[number].append(check)

    def one(fault: Fault) -> None:
        number = numbers[fault]
        by = checks.noticed(number, comes[number], reached)
        known.add(Outcome(fault.key, by, bool(comes[number])))

    with ui.Step(f"Trying {len(left)} faults, one by one") as step, ThreadPoolExecutor(jobs) as pool:
        start = time.monotonic()
        for n, _ in enumerate(pool.map(one, left), 1):
            rest = (time.monotonic() - start) / n * (len(left) - n)
            step.progress(n / len(left), f"{n}/{len(left)}, about {ui.duration(rest)} left")
    return known.outcomes


class _Results:
    """The outcomes for this state of the tree, kept in a file, so that a stopped run goes on where it was."""

    def __init__(self, digest: str) -> None:
        self._path = tree.FOLDER / f"results-{digest}.jsonl"
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self.outcomes = {row["key"]: Outcome(**row) for row in map(json.loads, lines)}
        self._lock = threading.Lock()

    def add(self, outcome: Outcome) -> None:
        with self._lock, self._path.open("a") as file:
            self.outcomes[outcome.key] = outcome
            file.write(json.dumps(asdict(outcome)) + "\n")


def _digest(checks: Checks) -> str:
    digest = hashlib.sha256(repr([(one.program, one.name) for one in (*checks.tests, *checks.schedules)]).encode())
    for folder in ("src", "tests/raft", "tests/schedule", "tools/mutants"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file():
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def equal() -> dict[str, str]:
    """Explains, by key, the faults that change nothing: the program behaves the same with them."""
    lines = EQUAL.read_text().splitlines() if EQUAL.exists() else []
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def _figures(faults: Sequence[Fault], outcomes: dict[str, Outcome], faults_left_out: int) -> dict[str, Any]:
    same = equal()
    rows: dict[str, dict[str, Any]] = {}
    survivors = []
    for fault in faults:
        outcome = outcomes[fault.key]
        result = "killed" if outcome.by else "equal" if fault.key in same else "survived"
        if result == "survived":
            survivors.append({"key": fault.key, "what": str(fault), "reached": outcome.reached})
        for name in ("all", str(Path(fault.path).parent)):
            row = rows.setdefault(name, {"mutants": 0, "killed": 0, "survived": 0, "equal": 0})
            row["mutants"] += 1
            row[result] += 1
    for row in rows.values():
        row["score"] = row["killed"] / max(row["killed"] + row["survived"], 1)
    whole = rows.pop("all", {"mutants": 0, "killed": 0, "survived": 0, "equal": 0, "score": 1.0})
    return {**whole, "folders": rows, "do_not_compile": faults_left_out, "survivors": survivors}


def show(figures: dict[str, Any]) -> None:
    for survivor in figures["survivors"]:
        print(f"{survivor['key']}  {'' if survivor['reached'] else 'no test comes to it: '}{survivor['what']}")
    table = [["folder", "mutants", "killed", "survived", "equal", "score"]]
    for name, row in [*figures["folders"].items(), ("all", figures)]:
        counts = [str(row[key]) for key in ("mutants", "killed", "survived", "equal")]
        table.append([name, *counts, f"{100 * row['score']:.1f}%"])
    ui.table(table)
