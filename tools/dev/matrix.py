"""Pythons, compilers and suites: what ./dev test pythons tries, and the table of what came of it."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dev import counts, ui
from dev.counts import Tally
from dev.paths import BUILD, LOGS, ROOT, VENV_PYTHON
from dev.pythons import Environment, install_line

RESULTS = BUILD / "results" / "pythons"
# The sample: README's cells and undo in a stock kernel, and all that depends on how a Python is built inside; the
# behaviours of sharing and of values.
SAMPLES = {
    "standalone": [
        "test_access.py",
        "test_atoms.py",
        "test_closed.py",
        "test_functions.py",
        "test_memory.py",
        "test_pickler.py",
        "test_readme.py",
        "test_reducers.py",
        "test_standalone.py",
        "test_standalone_modules.py",
        "test_travels.py",
    ],
    "behaviours": ["test_sharing.py", "test_values.py"],
}
SUITES = tuple(SAMPLES)
_NOT_RUN = "not run"


@dataclass
class Row:
    """What came of one environment."""

    environment: Environment
    seconds: float | None = None  # that `pip install ./python` took; None: it failed
    tallies: dict[str, Tally] = field(default_factory=dict)

    def total(self) -> Tally:
        return sum(self.tallies.values(), Tally())


def run(environments: Sequence[Environment], *, sample: bool) -> Tally:
    """Makes each environment, runs the suites in it and prints the matrix. sample: a part of each suite, and the
    package's build may take from the compiler's cache."""
    rows = [_row(environment, sample=sample) for environment in environments]
    ui.say()
    ui.table(table(rows), _colour)
    return sum((row.total() for row in rows), Tally())


def _row(environment: Environment, *, sample: bool) -> Row:
    row = Row(environment)
    try:
        row.seconds = environment.make(cached=sample)
        sample = sample or environment.wheel is not None  # what is in a wheel was tried whole where it was built
        row.tallies["standalone"] = _standalone(environment, sample=sample)
        row.tallies["behaviours"] = _behaviours(environment, sample=sample)
    except ui.UserError as error:
        ui.say(str(error))
        row.tallies["install"] = counts.failed(environment.slug, str(error).splitlines()[0])
    return row


def table(rows: Sequence[Row]) -> list[list[str]]:
    """The matrix, with its head."""
    lines = [["Python", "compiler", install_line(), *SUITES]]
    for row in rows:
        seconds = "failed" if row.seconds is None else f"{row.seconds:.0f} s"
        cells = [_cell(row.tallies.get(suite)) for suite in SUITES]
        lines.append([row.environment.python.name, row.environment.compiler, seconds, *cells])
    return lines


def _cell(tally: Tally | None) -> str:
    if tally is None:
        return _NOT_RUN
    words = [f"{len(tally.failures)} failed"] if tally.failures else []
    words += [f"{tally.passed} passed"]
    words += [f"{len(tally.skips)} skipped"] if tally.skips else []
    return ", ".join(words)


def _colour(cell: str) -> str | None:
    if "failed" in cell or cell == _NOT_RUN:
        return "red"
    return "green" if "passed" in cell else None


def _standalone(environment: Environment, *, sample: bool) -> Tally:
    """python/tests, copied to where the tree's own package is not beside them: they find the installed one."""
    copy = environment.folder / "suite"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "tests", copy / "python" / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "README.md", copy)
    shutil.copytree(ROOT / "docs", copy / "docs")
    (copy / "pytest.ini").write_text("[pytest]\ntimeout = 300\n")
    tests = copy / "python" / "tests"
    chosen = [tests / name for name in SAMPLES["standalone"]] if sample else [tests]
    spread = ["-n", str(os.cpu_count() or 2), "--dist", "loadfile"]
    return _pytest(environment, "standalone", environment.interpreter, [*spread, *chosen], copy, {})


def _behaviours(environment: Environment, *, sample: bool) -> Tally:
    """tests/e2e/state: the tree's own Python drives a platform whose sessions run in the environment."""
    tests = ROOT / "tests" / "e2e" / "state"
    chosen = [tests / name for name in SAMPLES["behaviours"]] if sample else [tests]
    settings = {"BANYAN_KERNEL_PYTHON": str(environment.interpreter)}
    if environment.python.within:  # bubblewrap confines what it starts by this machine's own folders
        settings["BANYAN_KERNEL_SANDBOX"] = "none"
    return _pytest(environment, "behaviours", VENV_PYTHON, list(chosen), ROOT, settings)


def _pytest(
    environment: Environment,
    suite: str,
    python: Path,
    arguments: Sequence[str | Path],
    folder: Path,
    settings: dict[str, str],
) -> Tally:
    name = f"{environment.slug}-{suite}"
    report = RESULTS / f"{name}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"--junit-xml={report}", *arguments]
    log = LOGS / f"pythons-{name}.log"
    label = f"{suite}: Python {environment.python.name}, {environment.compiler}"
    status = ui.run(label, command, log, cwd=folder, env=settings, check=False)
    tally = counts.junit(report) if report.exists() else Tally()
    tally = Tally(tally.passed, [f"{environment.slug}: {line}" for line in tally.failures], tally.skips)
    return counts.settle(name, status, tally, log)
