"""The combinations of Pythons, compilers and suites that ./dev test pythons tries, and the table of their results."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dev import counts, record, ui
from dev.counts import Tally
from dev.paths import BUILD, LOGS, ROOT, VENV_PYTHON
from dev.pythons import Environment, install_line

RESULTS = BUILD / "results" / "pythons"
# The sample has README's cells and undo in a stock kernel, every test that depends on how a Python is built inside, and
# the behaviours of sharing and of values. The environments share the slow tests among them (python/tests/turns.py).
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
    """The results of one environment."""

    environment: Environment
    seconds: float | None = None  # how long `pip install ./python` took; None when it failed
    tallies: dict[str, Tally] = field(default_factory=dict)

    def total(self) -> Tally:
        return sum(self.tallies.values(), Tally())


def run(environments: Sequence[Environment], *, sample: bool) -> Tally:
    """Makes each environment, runs the suites in it and prints the matrix. `sample`: only a part of each suite runs,
    and the package's build may use the compiler's cache. Rows of whole suites are recorded as they end. As many
    environments as there are cores are made at a time, because much of the work (pip, a platform that starts) keeps at
    most one core busy."""
    tasks = [_Task(environment, sample, f"{n}/{len(environments)}") for n, environment in enumerate(environments, 1)]
    rows = ui.side_by_side([task.row for task in tasks], _cores() if sample else 1)
    ui.say()
    ui.table(table(rows), _colour)
    return sum((row.total() for row in rows), Tally())


@dataclass(frozen=True)
class _Task:
    """The work to do in one environment."""

    environment: Environment
    sample: bool
    turn: str  # the value of BANYAN_TURN: which share of the slow tests runs here

    def row(self) -> Row:
        row = Row(self.environment)
        try:
            row.seconds = self.environment.make(sample=self.sample)
            row.tallies["standalone"] = self._standalone()
            row.tallies["behaviours"] = self._behaviours()
        except ui.UserError as error:
            ui.say(str(error))
            row.tallies["install"] = counts.failed(self.environment.slug, str(error).splitlines()[0])
        if not self.sample and not self.environment.brief:
            record.keep(*table([row]))
        return row

    def _chosen(self, suite: str, tests: Path) -> list[Path]:
        brief = self.sample or self.environment.brief
        return [tests / name for name in SAMPLES[suite]] if brief else [tests]

    def _standalone(self) -> Tally:
        """Runs a copy of python/tests in a place without the tree's own package, so that they test the installed
        package."""
        copy = self.environment.folder / "suite"
        shutil.rmtree(copy, ignore_errors=True)
        no_caches = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "python" / "tests", copy / "python" / "tests", ignore=no_caches)
        shutil.copy(ROOT / "README.md", copy)
        shutil.copytree(ROOT / "docs", copy / "docs")
        (copy / "pytest.ini").write_text("[pytest]\ntimeout = 300\n")
        chosen = self._chosen("standalone", copy / "python" / "tests")
        settings = {"BANYAN_TURN": self.turn} if self.sample else {}
        arguments = [*self._spread(), *chosen]
        return _pytest(self.environment, "standalone", self.environment.interpreter, arguments, copy, settings)

    def _behaviours(self) -> Tally:
        """Runs tests/e2e/state: the tree's own Python drives a platform whose sessions run in the environment."""
        chosen = self._chosen("behaviours", ROOT / "tests" / "e2e" / "state")
        settings = {"BANYAN_KERNEL_PYTHON": str(self.environment.interpreter)}
        if self.environment.python.within:  # bubblewrap would use the folders of this machine
            settings["BANYAN_KERNEL_SANDBOX"] = "none"
        arguments = [*self._spread(), *chosen]
        return _pytest(self.environment, "behaviours", VENV_PYTHON, arguments, ROOT, settings)

    def _spread(self) -> list[str | Path]:
        """Options that spread the tests over all cores. A sample gets none: another environment runs beside it."""
        return [] if self.sample else ["-n", str(_cores()), "--dist", "loadfile"]


def _cores() -> int:
    return os.cpu_count() or 2


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
