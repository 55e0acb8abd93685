"""`./dev test NAME`: one test, or the tests of a file or folder, in any language. `find` says what a name means, `run`
runs it."""

import ast
import difflib
import fnmatch
import os
import re
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from dev import build, counts, provision, ui
from dev.counts import Tally
from dev.paths import BUILD, CHROMIUM, NODE_TESTS, ROOT, VENV_PYTHON

_REPORT = BUILD / "results" / "named.xml"
_CPP = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
_PYTHON_FILES = re.compile(r"test_\w+\.py|\w+_test\.py")
# Files of tests, by the folder that they are below. Each folder of Python has a pytest of its own: some of their files
# have the same names.
_PYTHON_ROOTS = ("tests", "python", "tools", "compat")
_CPP_ROOTS = ("src", "tests")
_CLOSE = 5


class Language(Enum):
    CPP = "C++"
    PYTHON = "Python"
    JAVASCRIPT = "JavaScript"


@dataclass(frozen=True)
class NamedTest:
    """A test or the tests of a file. `name` is "Suite.Name", "function", "Class::function" or a part of a title, each
    perhaps with a parameter, or "" for the whole file."""

    language: Language
    file: Path
    name: str

    @property
    def target(self) -> str:
        """The program of a test in C++: each folder has one."""
        top = "src" if self.file.is_relative_to(ROOT / "src") else "tests"
        parts = self.file.parent.relative_to(ROOT / top).parts
        return "_".join(parts) + ("_test" if top == "src" else "_scenarios_test")

    @property
    def root(self) -> str:
        return self.file.relative_to(ROOT).parts[0]


def find(name: str, others: Collection[str] = ()) -> list[NamedTest]:
    """What a name means: that of a file or folder, with `::` and a test in it; that of a test, as written or as a run
    prints it; or a pattern of names. Raises ui.UserError where it means nothing, with the names of tests and the
    `others` that may be meant."""
    path, _, inner = name.partition("::")
    if "/" in path and (file := (ROOT / path).resolve()).exists() and file.is_relative_to(ROOT):
        return _in_place(file, inner)
    known = list(_below(ROOT))
    plain = _without_parameter(name)
    for chosen in (
        [test for test in known if name in _names_of(test)],
        [_with_parameter(test, name) for test in known if plain != name and plain in _names_of(test)],
        [test for test in known if any(fnmatch.fnmatchcase(each, name) for each in _names_of(test))],
    ):
        if chosen:
            return chosen
    names = sorted({*others, *(each for test in known for each in _names_of(test))})
    close = [each for each in names if name in each][:_CLOSE] or difflib.get_close_matches(name, names, _CLOSE)
    hint = f"did you mean {', '.join(close)}?" if close else f"the stages are {', '.join(others)}"
    raise ui.UserError(f"no stage, file or test is named {name!r}; {hint}")


def run(tests: Sequence[NamedTest]) -> Tally:
    """Runs them; what they print is shown as it comes."""
    tally = Tally()
    for target in dict.fromkeys(test.target for test in tests if test.language is Language.CPP):
        tally += _run_cpp(target, [test for test in tests if test.language is Language.CPP and test.target == target])
    python = [test for test in tests if test.language is Language.PYTHON]
    for root in dict.fromkeys(test.root for test in python):
        tally += _run_python(root, [test for test in python if test.root == root])
    for test in tests:
        if test.language is Language.JAVASCRIPT:
            tally += _run_javascript(test)
    return tally


def _in_place(place: Path, inner: str) -> list[NamedTest]:
    if place.parent.name == "scenarios" and place.suffix == ".txt":
        return [NamedTest(Language.CPP, place.parent.parent / "scenario_test.cc", f"*/{place.stem}")]
    tests = list(_below(place))
    if place.name.endswith(".test.mjs"):
        return [NamedTest(Language.JAVASCRIPT, place, inner)]
    if not tests:
        raise ui.UserError(f"there are no tests in {place.relative_to(ROOT)}")
    if not inner:
        whole = {
            NamedTest(test.language, test.file, "" if test.language is Language.PYTHON else test.name): 0
            for test in tests
        }
        return list(whole)
    plain = _without_parameter(inner)
    if chosen := [_with_parameter(test, inner) for test in tests if plain in _names_of(test)]:
        return chosen
    raise ui.UserError(f"{place.relative_to(ROOT)} has no test {inner!r}")


def _below(place: Path) -> Iterator[NamedTest]:
    """The tests of a file, or of the files below a folder, but for those in JavaScript, whose titles are computed."""
    for root in _CPP_ROOTS:
        for file in _files(place, ROOT / root, "*_test.cc"):
            for suite, name in dict.fromkeys(_CPP.findall(file.read_text())):
                yield NamedTest(Language.CPP, file, f"{suite}.{name}")
    for root in _PYTHON_ROOTS:
        for file in _files(place, ROOT / root, "*.py"):
            if _PYTHON_FILES.fullmatch(file.name):
                yield from _in_python(file)


def _files(place: Path, root: Path, pattern: str) -> list[Path]:
    if place.is_file():
        return [place] if place.is_relative_to(root) and fnmatch.fnmatch(place.name, pattern) else []
    top = place if place.is_relative_to(root) else root
    return sorted(top.rglob(pattern)) if top.is_relative_to(place) else []


def _in_python(file: Path) -> Iterator[NamedTest]:
    for node in ast.parse(file.read_text()).body:
        inner = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for each in inner:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test_"):
                yield NamedTest(Language.PYTHON, file, prefix + each.name)


def _names_of(test: NamedTest) -> list[str]:
    """The names under which a test is found: its own, parts of it, and for Python that of JUnit's reports."""
    if test.language is Language.CPP:
        return [test.name, *test.name.split(".")]
    function = test.name.rpartition("::")[2]
    dotted = ".".join([*test.file.relative_to(ROOT).with_suffix("").parts, *test.name.split("::")])
    return list(dict.fromkeys([function, test.name, dotted]))


def _without_parameter(name: str) -> str:
    """GoogleTest prints Instance/Suite.Name/parameter, pytest name[parameter]."""
    if found := re.fullmatch(r"[\w]+/(\w+\.\w+)/.+", name):
        return found[1]
    return re.sub(r"\[.*\]$", "", name, flags=re.DOTALL)


def _with_parameter(test: NamedTest, name: str) -> NamedTest:
    if test.language is Language.CPP:
        return NamedTest(test.language, test.file, name if "/" in name else test.name)
    return NamedTest(test.language, test.file, test.name + name[len(_without_parameter(name)) :])


def _run_cpp(target: str, tests: Sequence[NamedTest]) -> Tally:
    provision.test_servers()
    provision.python("requirements", "requirements-test")
    folder = build.build("release", target)
    program = next(path for path in folder.rglob(target) if path.is_file() and os.access(path, os.X_OK))
    names = ":".join(f"{test.name}:*/{test.name}/*" for test in tests)
    return _counted(target, [program, f"--gtest_filter={names}", f"--gtest_output=xml:{_REPORT}"], ROOT)


def _run_python(root: str, tests: Sequence[NamedTest]) -> Tally:
    provision.python("requirements", "requirements-test")
    if build.has_target("release", "platform"):
        build.build("release", "platform")
    if root == "tests":
        provision.apt("apt-test")
        provision.lab_extension()
    named = ["::".join(filter(None, [str(test.file.relative_to(ROOT)), test.name])) for test in tests]
    return _counted("pytest", [VENV_PYTHON, "-m", "pytest", "-rs", f"--junit-xml={_REPORT}", *named], ROOT)


def _run_javascript(test: NamedTest) -> Tally:
    if test.file.parent.name == "browser" and not CHROMIUM.exists():
        return counts.skipped(test.file.name, f"no {CHROMIUM}")
    provision.apt("apt-test")
    provision.python("requirements", "requirements-test")
    provision.lab_extension()
    build.build("release", "platform")
    provision.node()
    only = [f"--test-name-pattern={test.name}"] if test.name else []
    reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"]
    reporters += ["--test-reporter=junit", f"--test-reporter-destination={_REPORT}"]
    return _counted(test.file.name, ["node", "--test", *reporters, *only, test.file], NODE_TESTS)


def _counted(name: str, command: Sequence[str | Path], folder: Path) -> Tally:
    _REPORT.parent.mkdir(parents=True, exist_ok=True)
    _REPORT.unlink(missing_ok=True)
    status = subprocess.run(command, cwd=folder, check=False).returncode
    tally = counts.junit(_REPORT) if _REPORT.exists() else Tally()
    return tally if status == 0 or tally.failures else tally + counts.failed(name, f"ended with status {status}")
