import ast
from pathlib import Path

import pytest

from dev import counts, named, ui
from dev.named import Language, NamedTest
from dev.paths import ROOT
from dev.stages import STAGES

_CPP, _PYTHON, _JAVASCRIPT = Language.CPP, Language.PYTHON, Language.JAVASCRIPT
_SELF = "tools/dev/named_test.py"
_SCENARIOS = "tests/raft/scenario_test.cc"


@pytest.mark.parametrize(
    ("name", "language", "file", "inner"),
    [
        ("src/base/random_test.cc", _CPP, "src/base/random_test.cc", None),
        ("tests/raft/scenarios/campaign.txt", _CPP, _SCENARIOS, "*/campaign"),
        ("tests/raft", _CPP, _SCENARIOS, None),
        ("tests/e2e/test_cells.py", _PYTHON, "tests/e2e/test_cells.py", ""),
        (f"{_SELF}::test_a_name_means_its_tests", _PYTHON, _SELF, "test_a_name_means_its_tests"),
        ("tests/node/services.test.mjs::binary", _JAVASCRIPT, "tests/node/services.test.mjs", "binary"),
        ("test_a_name_means_its_tests", _PYTHON, _SELF, "test_a_name_means_its_tests"),
        ("test_a_name_means_its_tests[a b]", _PYTHON, _SELF, "test_a_name_means_its_tests[a b]"),
        ("tools.dev.named_test.test_a_name_means_its_tests", _PYTHON, _SELF, "test_a_name_means_its_tests"),
        ("test_a_name_means_its_t*", _PYTHON, _SELF, "test_a_name_means_its_tests"),
        ("TestInAClass::test_is_found", _PYTHON, _SELF, "TestInAClass::test_is_found"),
        (f"{_SELF}::test_is_found", _PYTHON, _SELF, "TestInAClass::test_is_found"),
        ("ScenarioFiles.CoverEveryPublishedInteractionTest", _CPP, _SCENARIOS, None),
        ("CoverEveryPublishedInteractionTest", _CPP, _SCENARIOS, None),
        ("ScenarioFiles.*", _CPP, _SCENARIOS, None),
    ],
)
def test_a_name_means_its_tests(name: str, language: Language, file: str, inner: str | None) -> None:
    found = named.find(name)
    assert {(test.language, str(test.file.relative_to(ROOT))) for test in found} == {(language, file)}
    assert inner is None or [test.name for test in found] == [inner]


class TestInAClass:
    def test_is_found(self) -> None:
        assert named.find("test_is_found")


def test_a_parameter_of_googletest_is_a_part_of_the_name() -> None:
    names = {test.name for test in named.find("Files/Scenario.ComesOutAsWritten/campaign")}
    assert names == {"Files/Scenario.ComesOutAsWritten/campaign"}


def test_the_names_in_a_report_mean_what_failed(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    case = f'classname="tools.dev.named_test" name="{test_an_error_says_what_was_meant.__name__}"'
    report.write_text(f'<testsuite><testcase {case}><failure message="x"/></testcase></testsuite>')
    (line,) = counts.junit(report).failures
    assert [test.name for test in named.find(line.split(": ")[0])] == ["test_an_error_says_what_was_meant"]


@pytest.mark.parametrize(
    "name",
    ["unti", "tests/e2e/test_nothing.py", "src/base/random.cc", "src/base/random_test.cc::No", "tools/dev/named.py"],
)
def test_a_name_that_means_nothing_is_an_error(name: str) -> None:
    with pytest.raises(ui.UserError, match=r"\bno\b"):
        named.find(name)


def test_an_error_says_what_was_meant() -> None:
    with pytest.raises(ui.UserError, match=r"did you mean .*test_a_name_means_its_tests"):
        named.find("test_a_name_means_its_test")


def test_a_folder_has_the_tests_of_all_languages() -> None:
    found = named.find("tests/")
    assert {test.language for test in found} == {_CPP, _PYTHON}
    assert ROOT / "tests" / "e2e" / "state" / "test_sharing.py" in {test.file for test in found}


def test_no_test_has_the_name_of_a_stage() -> None:
    assert not {stage.name for stage in STAGES} & {
        name for test in named._below(ROOT) for name in named._names_of(test)
    }


def test_each_file_in_cpp_belongs_to_a_program_that_is_built() -> None:
    built = (ROOT / "build" / "release" / "build.ninja").read_text()
    targets = {test.target for test in named._below(ROOT) if test.language is _CPP}
    assert len(targets) > 10
    assert [target for target in targets if f"build {target}: phony" not in built] == []


def test_each_test_in_python_is_found() -> None:
    found = {(test.file, test.name.rpartition("::")[2]) for test in named._below(ROOT) if test.language is _PYTHON}
    for file in {test.file for test in named._below(ROOT) if test.language is _PYTHON}:
        functions = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)]
        assert {(file, each.name) for each in functions if each.name.startswith("test_")} <= found, file


def test_a_run_that_ends_badly_counts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["sh", "-c", "echo seen; exit 3"]
    assert named._counted("nothing", command, tmp_path).failures == ["nothing: ended with status 3"]
    assert "seen" in capfd.readouterr().out
    assert NamedTest(_CPP, ROOT / "src" / "core" / "raft" / "log_test.cc", "X.Y").target == "core_raft_test"
