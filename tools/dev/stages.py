"""The stages of ./dev test, in order. Each returns a tally; one that breaks counts as a failure and the next runs."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidy.linters import PRESET

from dev import build, counts, matrix, named, provision, ui
from dev.counts import Tally
from dev.paths import BUILD, CHROMIUM, LOGS, NODE_TESTS, ROOT, SIMULATOR, VENV_PYTHON
from dev.pythons import found, in_turn

RESULTS = BUILD / "results"
_SIM_SCHEDULES = 2000
_SIM_CELLS = 100
_CTEST_TIMEOUT_S = "600"
# How many programs each fuzz test runs: 10,000 in all, the same ones each time. Another BANYAN_FUZZ_SEED draws others.
_FUZZ = {"BANYAN_FUZZ_EXAMPLES": "1000", "BANYAN_FUZZ_SEED": "1"}

# A small part of ./dev mutants, and how many of its faults must be noticed: of all, nine in ten are.
_MUTANTS = (
    *[f"src/core/{part}" for part in ("raft", "session", "view", "cluster", "schedule")],
    *("--sample", "400", "--schedules", "0", "--tests"),
    *[f"core_{part}_test" for part in ("raft", "session", "view", "cluster", "schedule")],
    *("raft_scenarios_test", "schedule_scenarios_test"),
)
_MUTANTS_SCORE = 0.85

# Whether the simulator's checkers find planted bugs, and which faults a failure needs, does not depend on sanitizers,
# and takes them seven minutes.
_NOT_SANITIZED = "-Plants/*:Shrinking.*"


# The tests of what a session holds after moves, undo and failures. These may run side by side; the other tests measure
# time, or fill disks and wires, and run alone.
_STATE = ["tests/e2e/state", "tests/e2e/test_real_notebooks.py", "tests/corpus"]


def _cores() -> str:
    return str(os.cpu_count() or 2)


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _ctest(preset: str, *arguments: str, cases: str = "*") -> Tally:
    results = _fresh(RESULTS / f"ctest-{preset}")
    report = results / "ctest.xml"
    command: list[str | Path] = ["ctest", "--test-dir", BUILD / preset, "-j", _cores(), "--timeout", _CTEST_TIMEOUT_S]
    command += ["--output-on-failure", "--output-junit", report, *arguments]
    log = LOGS / f"ctest-{preset}.log"
    settings = {
        "GTEST_OUTPUT": f"xml:{results}/",
        "GTEST_FILTER": cases,
        "TSAN_OPTIONS": f"suppressions={ROOT / 'cmake' / 'tsan.supp'}",
    }
    status = ui.run(f"C++ tests, {preset}", command, log, env=settings, check=False)
    tally = counts.ctest(report, results) if report.exists() else Tally()
    return counts.settle(f"ctest {preset}", status, tally, log)


def _pytest(name: str, folders: list[str], *arguments: str) -> Tally:
    provision.python("requirements", "requirements-test")
    folders = [folder for folder in folders if (ROOT / folder).exists()]
    if not folders:
        return counts.skipped(name, "no such tests yet")
    report = _fresh(RESULTS / name) / "junit.xml"
    command: list[str | Path] = [
        VENV_PYTHON,
        "-m",
        "pytest",
        "-q",
        "-rs",
        f"--junit-xml={report}",
        *arguments,
        *folders,
    ]
    log = LOGS / f"{name}.log"
    settings = {name: os.environ.get(name, value) for name, value in _FUZZ.items()}
    status = ui.run(f"pytest {' '.join(folders)}", command, log, cwd=ROOT, env=settings, check=False)
    nothing_collected = 5
    tally = counts.junit(report) if report.exists() else Tally()
    return counts.settle(name, 0 if status == nothing_collected else status, tally, log)


def _platform() -> Tally | None:
    """Builds a running platform. Returns None, or a tally that says why the tests cannot run."""
    if not build.has_target("release", "platform"):
        return counts.skipped("platform", "this tree has no daemons to start")
    build.build("release", "platform")
    return None


def tidy() -> Tally:
    provision.apt("apt-test")
    provision.python("requirements", "requirements-test")
    provision.lab_modules()
    build.configure(PRESET)
    report = RESULTS / "tidy" / "tally.json"
    _fresh(report.parent)
    log = LOGS / "tidy.log"
    command: list[str | Path] = [VENV_PYTHON, "-m", "tidy", "--tally", report]
    status = ui.run("Rules of the tree", command, log, cwd=ROOT, env={"PYTHONPATH": str(ROOT / "tools")}, check=False)
    tally = Tally(**json.loads(report.read_text())) if report.exists() else Tally()
    return counts.settle("tidy", status, tally, log)


def unit() -> Tally:
    """The unit tests in C++. They need an interpreter, with which the tests of the worker launcher start workers, and
    the servers of the data stores."""
    provision.test_servers()
    provision.python("requirements", "requirements-test")
    build.build("release")
    return _ctest("release")


def python() -> Tally:
    """The tests of the worker package and of the tools; they need the extension module of the release build."""
    if build.has_target("release", "platform"):
        build.build("release", "platform")
    spread = ("-n", _cores(), "--dist", "loadfile")
    return _pytest("tools", ["tools", "compat"], *spread) + _pytest("python", ["python"], *spread)


def sanitize() -> Tally:
    provision.test_servers()
    tally = Tally()
    for preset, target, tests in (("asan", "unit_tests", "."), ("tsan", "threaded_tests", "^(runtime|daemons)")):
        build.build(preset, target)
        tally += _ctest(preset, "-R", tests, cases=_NOT_SANITIZED)
    return tally


def sim() -> Tally:
    if not build.has_target("release", "banyan"):
        return counts.skipped("sim", "this tree has no banyan program")
    build.build("release", SIMULATOR.name)
    command: list[str | Path] = [
        SIMULATOR,
        "--seeds",
        str(_SIM_SCHEDULES),
        "--cells",
        str(_SIM_CELLS),
        "--jobs",
        _cores(),
        "--json",
    ]
    log = LOGS / "sim.log"
    status = ui.run(f"{_SIM_SCHEDULES} simulated schedules", command, log, check=False)
    result = _last_json(log)
    violations = result.get("violations", 0)
    count = violations if isinstance(violations, int) else len(violations)
    schedules = int(result.get("schedules", 0))
    tally = Tally(passed=max(0, schedules - count))
    if count:
        tally.failures += [f"simulated schedules: {count} violations of P1 to P4; the log has the seeds"]
    if schedules < _SIM_SCHEDULES or result.get("cells", 0) < schedules * _SIM_CELLS:
        tally += counts.failed("sim", f"ran {schedules} schedules and {result.get('cells', 0)} cells, too few")
    return counts.settle("sim", status, tally, log)


def mutants(chosen: Sequence[str] = _MUTANTS) -> Tally:
    """Plants some faults in the parts whose tests are quick. `chosen`: arguments of ./dev mutants; with none it plants
    all faults there are, which takes hours."""
    provision.python("requirements", "requirements-test")
    command: list[str | Path] = [VENV_PYTHON, "-m", "mutants", *chosen, "--json"]
    log = LOGS / "mutants.log"
    status = ui.run("Planting faults", command, log, cwd=ROOT, env={"PYTHONPATH": str(ROOT / "tools")}, check=False)
    result = _last_json(log)
    if status != 0 or "score" not in result:
        return counts.settle("mutants", status or 1, Tally(), log)
    tally = Tally(passed=result["killed"])
    if result["score"] < _MUTANTS_SCORE:
        tally += counts.failed(
            "mutants", f"under {_MUTANTS_SCORE:.0%} of the faults are noticed; the log lists the others"
        )
    return counts.settle("mutants", status, tally, log)


def _last_json(log: Path) -> dict[str, Any]:
    for line in reversed(log.read_text(errors="replace").splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    return {}


def e2e() -> Tally:
    if (missing := _platform()) is not None:
        return missing
    provision.apt("apt-test")
    provision.python("requirements", "requirements-test")
    provision.lab_extension()  # the wheel of ./dev package contains the extension
    state = _pytest("e2e-state", _STATE, "-n", _cores(), "--dist", "loadfile")
    return state + _pytest("e2e", ["tests"], *(f"--ignore={path}" for path in _STATE))


def node() -> Tally:
    return _node("node", "*.test.mjs")


def browser() -> Tally:
    if not CHROMIUM.exists():
        return counts.skipped("browser", f"no {CHROMIUM}")
    provision.apt("apt-test")
    provision.python("requirements", "requirements-test")
    provision.lab_extension()
    return _node("browser", "browser/*.test.mjs")


def pythons() -> Tally:
    """Runs a part of each suite on each Python of this machine; the compilers build the environments in turn."""
    if (missing := _platform()) is not None:
        return missing
    provision.python("requirements", "requirements-test")
    return matrix.run(in_turn(found()), sample=True)


def _node(name: str, pattern: str) -> Tally:
    provision.apt("apt-test")
    provision.python("requirements")
    files = sorted(NODE_TESTS.glob(pattern))
    if not files:
        return counts.skipped(name, f"no tests/node/{pattern} yet")
    if (missing := _platform()) is not None:
        return missing
    provision.node()
    tally = Tally()
    for file in files:  # one after the other: each starts a platform of its own
        log = LOGS / f"{name}-{file.stem}.log"
        command: list[str | Path] = ["node", "--test", "--test-reporter=tap", file]
        status = ui.run(f"node {file.relative_to(ROOT)}", command, log, cwd=NODE_TESTS, check=False)
        tally += counts.settle(file.name, status, counts.tap(log.read_text(errors="replace")), log)
    return tally


@dataclass(frozen=True)
class Stage:
    """A selectable part of ./dev test."""

    name: str
    about: str
    run: Callable[[], Tally]


STAGES = (
    Stage("tidy", "layers, purity, documentation, format, lint", tidy),
    Stage("unit", "C++ unit tests, release build", unit),
    Stage("python", "pytest of the worker package and the tools", python),
    Stage("pythons", "the package built and tried in each Python of this machine", pythons),
    Stage("mutants", "faults planted in the product: does a test notice each?", mutants),
    Stage("sim", "simulated schedules with faults", sim),
    Stage("e2e", "pytest against a running platform", e2e),
    Stage("node", "JavaScript clients against a running platform", node),
    Stage("browser", "JupyterLab in Chromium", browser),
    Stage("sanitize", "C++ unit tests under asan+ubsan, threaded ones under tsan", sanitize),
)


def run(names: list[str]) -> int:
    """Runs the named stages and tests (all stages when there are none) and prints the closing count. Returns the exit
    status. Raises ui.UserError for a name that means nothing."""
    known = [stage.name for stage in STAGES]
    tests = [test for name in names if name not in known for test in named.find(name, known)]
    chosen = [s for s in STAGES if s.name in names or not names]
    if tests:
        chosen.append(Stage("named", ", ".join(name for name in names if name not in known), lambda: named.run(tests)))
    rows = [["stage", "result", "time"]]
    total = Tally()
    with provision.locked("build"):
        provision.apt("apt")
        for stage in chosen:
            tally, seconds = _run_stage(stage)
            total += tally
            rows.append([stage.name, str(tally), ui.duration(seconds)])
    _report(rows, total)
    return 1 if total.failures or total.passed == 0 else 0


def _run_stage(stage: Stage) -> tuple[Tally, float]:
    ui.say(ui.colour("bold", f"── {stage.name}: {stage.about}"))
    start = time.monotonic()
    try:
        tally = stage.run()
    except ui.UserError as error:
        ui.say(str(error))
        tally = counts.failed(stage.name, str(error).splitlines()[0])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        tally = counts.failed(stage.name, f"{type(error).__name__}: {error}")
    return tally, time.monotonic() - start


def _report(rows: list[list[str]], total: Tally) -> None:
    print()
    ui.table(rows)
    counts.show(total)
