"""Tests which Pythons are tried, and what the matrix of their results shows."""

import importlib
import sys
from pathlib import Path

import pytest

from dev import large_packages, matrix, nightly, pythons, record, suites, ui
from dev.counts import Tally
from dev.paths import DEBIAN_PYTHON, ROOT
from dev.pythons import Environment, Python


def python(*version: int, origin: str = "pyenv") -> Python:
    major, minor, micro = version
    return Python((major, minor, micro), origin, Path("/nowhere/python"))


def test_the_pythons_of_a_machine_are_debians_and_pyenvs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, script in {
        "3.12.9": "echo '[3, 12, 9, \"cpython\"]'",
        "3.10.13": "echo '[3, 10, 13, \"cpython\"]'",
        "pypy3.11": "echo '[3, 11, 13, \"pypy\"]'",
        "broken": "exit 1",
    }.items():
        interpreter = tmp_path / "versions" / name / "bin" / "python"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text(f"#!/bin/sh\n{script}\n")
        interpreter.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    found = pythons.found()
    assert [one.name for one in found if one.origin == "pyenv"] == ["3.12.9 pyenv"]
    assert [one.interpreter for one in found if one.origin == "Debian"] == [DEBIAN_PYTHON]


def test_ci_tries_each_python_and_each_compiler() -> None:
    machine = [python(3, 11, 2, origin="Debian"), python(3, 11, 7), python(3, 12, 1)]
    tried = pythons.in_turn(machine)
    assert [environment.python for environment in tried] == machine
    for count in (1, 2, 3):
        tried = pythons.in_turn(machine[:count])
        assert {environment.python for environment in tried} == set(machine[:count])
        assert {environment.compiler for environment in tried} == set(pythons.COMPILERS)
        assert len(tried) == max(count, len(pythons.COMPILERS))
    assert pythons.in_turn([]) == []


def test_a_wheel_is_made_for_each_minor_version() -> None:
    machine = [python(3, 11, 2, origin="Debian"), python(3, 11, 7), python(3, 12, 1)]
    assert [one.name for one in pythons.one_of_each(machine)] == ["3.11.2 Debian", "3.12.1 pyenv"]


def test_the_matrix_shows_what_failed_and_what_could_not_be_installed() -> None:
    good = matrix.Row(Environment(python(3, 12, 1), "g++"), 41.4, {"standalone": Tally(3), "behaviours": Tally(2)})
    some = Tally(passed=2, failures=["x: y"], skips=["z: no torch"])
    bad = matrix.Row(Environment(python(3, 13, 0), "clang"), 50.6, {"standalone": some})
    worst = matrix.Row(Environment(python(3, 14, 0, origin="Debian sid"), "g++"))
    head, *rows = matrix.table([good, bad, worst])
    assert head == ["Python", "compiler", "pip install ./python", "standalone", "behaviours"]
    assert rows == [
        ["3.12.1 pyenv", "g++", "41 s", "3 passed", "2 passed"],
        ["3.13.0 pyenv", "clang", "51 s", "1 failed, 2 passed, 1 skipped", "not run"],
        ["3.14.0 Debian sid", "g++", "failed", "not run", "not run"],
    ]
    colours = [[matrix._colour(cell) for cell in row] for row in rows]
    assert colours == [
        [None, None, None, "green", "green"],
        [None, None, None, "red", "red"],
        [None, None, "red", "red", "red"],
    ]


def test_an_environment_is_made_again_when_what_it_is_made_of_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, lock, other = tmp_path / "python", tmp_path / "lock.txt", tmp_path / "other.txt"
    package.mkdir()
    (package / "module.cc").write_text("one")
    lock.write_text("numpy==1")
    other.write_text("numpy==2")
    monkeypatch.setattr(pythons, "ROOT", tmp_path)
    before = pythons._inputs("pip install x", lock)
    for folder in ("tests", ".mypy_cache", "__pycache__"):  # tests are copied for each run
        (package / folder).mkdir()
        (package / folder / "module.py").write_text("other")
    assert pythons._inputs("pip install x", lock) == before
    (package / "module.cc").write_text("two")
    changed = pythons._inputs("pip install x", lock)
    locked = pythons._inputs("pip install x", other)
    other_line = pythons._inputs("pip install y", other)
    wheel = pythons._inputs("pip install y", other, lock)
    assert len({before, changed, locked, other_line, wheel}) == 5


def test_each_python_and_compiler_has_a_folder_of_its_own() -> None:
    machine = [python(3, 11, 7), python(3, 11, 7, origin="Debian"), python(3, 11, 8)]
    environments = [Environment(one, compiler) for one in machine for compiler in pythons.COMPILERS]
    folders = {environment.folder for environment in environments}
    assert len(folders) == len(environments)
    assert all("+" not in folder.name and " " not in folder.name for folder in folders)


def test_samples_name_files_that_exist() -> None:
    tests = {"standalone": "python/tests", "behaviours": "tests/e2e/state"}
    assert all((ROOT / tests[suite] / name).exists() for suite, names in matrix.SAMPLES.items() for name in names)


def test_a_suite_of_debian_is_refused_with_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert suites.unavailable() == "newer Debian suites need root"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "apt-get install debootstrap" in suites.unavailable()


def test_clusters_are_refused_with_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "root" in large_packages.clusters_unavailable()
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "apt-get install default-jre-headless" in large_packages.clusters_unavailable()


def of_debian(suite: str) -> Python:
    versions = {"trixie": (3, 13, 5), "sid": (3, 14, 0)}
    if suite not in versions:
        raise ui.UserError(f"there is no {suite}")
    return Python(versions[suite], f"Debian {suite}", Path("/usr/bin/python3"), (Path("enter"),))


@pytest.mark.parametrize(
    ("names", "tried"),
    [
        ([], {("3.13.5", "g++"), ("3.13.5", "clang"), ("3.14.0", "g++"), ("3.14.0", "clang"), ("3.11.2", "g++")}),
        (["3.14"], {("3.14.0", "g++"), ("3.14.0", "clang")}),
        (["readme"], {("3.11.2", "g++")}),
        (["wheels", "clusters", "torch"], set()),
    ],
)
def test_the_nightly_run_makes_the_suites_that_it_needs(
    names: list[str], tried: set[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(suites, "unavailable", lambda: "")

    def make(suite: str) -> Python:
        made.append(suite)
        return of_debian(suite)

    monkeypatch.setattr(suites, "python_of", make)
    monkeypatch.setattr(suites, "of_readme", lambda: python(3, 11, 2, origin="Debian bookworm"))
    environments, tally = nightly._of_suites(names)
    assert {(one.python.name.split()[0], one.compiler) for one in environments} == tried
    assert tally == Tally()
    assert bool(made) == (not names or names[0][0].isdigit())
    assert all(one.brief == (one.python.origin == "Debian bookworm") for one in environments)


def test_a_name_that_says_nothing_is_an_error_that_says_what_there_is() -> None:
    pythons = [python(3, 11, 2), python(3, 12, 1)]
    nightly._check(["3.12", "readme", "wheels"], pythons)
    with pytest.raises(ui.UserError, match=r"^3\.9 is none of readme, .* can be had here: 3\.11\.2 .*3\.12\.1"):
        nightly._check(["3.12", "3.9"], pythons)


def test_a_suite_that_cannot_be_made_is_a_failure_and_the_others_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "unavailable", lambda: "")
    monkeypatch.setattr(suites, "SUITES", ("nowhere", "sid"))
    monkeypatch.setattr(suites, "python_of", of_debian)
    environments, tally = nightly._of_suites(["3.14"])
    assert [one.compiler for one in environments] == list(pythons.COMPILERS)
    assert tally.failures == ["Debian nowhere: there is no nowhere"]


def test_a_version_is_that_of_the_interpreter() -> None:
    assert pythons.version_of(Path(sys.executable)) == sys.version_info[:3]
    assert pythons.version_of(Path("/nowhere/python")) is None


def test_the_package_is_installed_by_the_lines_of_readme() -> None:
    assert pythons.install_line() == "pip install ./python"
    assert {"g++", "python3-dev"} <= set(pythons.debian_packages())


def test_a_readme_without_its_lines_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text("## Undo in 30 seconds\n\n```sh\npip install x   # and more\n```\n")
    assert pythons.install_line() == "pip install x"
    with pytest.raises(ui.UserError, match="packages of Debian"):
        pythons.debian_packages()


def test_turns_together_take_each_test_and_all_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "python" / "tests"))
    tests, taken, examples = list(range(33)), [], 0
    for number in range(1, 5):
        monkeypatch.setenv("BANYAN_TURN", f"{number}/4")
        monkeypatch.delitem(sys.modules, "turns", raising=False)
        turns = importlib.import_module("turns")
        taken += turns.share(tests)
        examples += turns.examples(500)
    assert sorted(taken) == tests
    assert examples >= 500
    monkeypatch.delitem(sys.modules, "turns")


def test_the_environments_of_ci_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each environment is told its own part of the sample, or runs the whole suites where nobody asked for a sample;
    only these are recorded."""
    told: list[tuple[str, str]] = []

    def note(environment: Environment, suite: str, _: Path, tests: list[Path], __: Path, env: dict[str, str]) -> Tally:
        told.append((env.get("BANYAN_TURN", "all"), " ".join(map(str, tests))))
        return Tally(1)

    monkeypatch.setattr(Environment, "make", lambda *_, **__: 1.0)
    monkeypatch.setattr("shutil.copytree", lambda *_, **__: None)
    monkeypatch.setattr("shutil.copy", lambda *_: None)
    monkeypatch.setattr(Path, "write_text", lambda *_: 0)
    monkeypatch.setattr(matrix, "_pytest", note)
    recorded: list[list[str]] = []
    monkeypatch.setattr(record, "keep", lambda _, row: recorded.append(row))
    machine = pythons.in_turn([python(3, 11, 2), python(3, 12, 1), python(3, 13, 0)])
    assert matrix.run(machine, sample=True) == Tally(6)
    assert not recorded
    assert sorted(turn for turn, tests in told if "python/tests" in tests) == ["1/3", "2/3", "3/3"]
    told.clear()
    matrix.run(machine, sample=False)
    assert {turn for turn, _ in told} == {"all"}
    assert [row[:2] for row in recorded] == [[one.python.name, one.compiler] for one in machine]
    assert not any("test_standalone.py" in tests for _, tests in told)
