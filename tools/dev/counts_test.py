"""Tests that the closing count is right, whatever a runner reports."""

from pathlib import Path

from dev import counts
from dev.counts import Tally


def test_the_closing_line() -> None:
    assert str(Tally(passed=3)) == "3 passed, 0 failed"
    assert str(Tally(3, ["a"], ["b", "c"])) == "3 passed, 1 failed, 2 skipped"
    assert str(Tally(1) + counts.failed("x", "why") + counts.skipped("y", "why")) == "1 passed, 1 failed, 1 skipped"


def test_pytest_junit(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="t" name="a"/>
        <testcase classname="t" name="b"><failure message="assert 1 == 2"/></testcase>
        <testcase classname="t" name="c"><skipped message="no GPU"/></testcase>
        <testcase classname="t" name="d"><error message="fixture broke"/></testcase>
        </testsuite></testsuites>"""
    )
    tally = counts.junit(report)
    assert tally.passed == 1
    assert tally.failures == ["t.b: assert 1 == 2", "t.d: fixture broke"]
    assert tally.skips == ["t.c: no GPU"]


def ctest_report(tmp_path: Path, status: str) -> Path:
    report = tmp_path / "ctest.xml"
    report.write_text(f'<testsuite><testcase name="base_test" status="{status}"/></testsuite>')
    return report


def gtest_report(tmp_path: Path, inner: str = "") -> None:
    (tmp_path / "base_test.xml").write_text(
        f"""<testsuites><testsuite name="S">
        <testcase classname="S" name="a" status="run" result="completed">{inner}</testcase>
        <testcase classname="S" name="b" status="notrun" result="suppressed"/>
        </testsuite></testsuites>"""
    )


def test_cases_of_a_gtest_program_are_counted(tmp_path: Path) -> None:
    gtest_report(tmp_path)
    assert str(counts.ctest(ctest_report(tmp_path, "run"), tmp_path)) == "1 passed, 0 failed, 1 skipped"


def test_a_failed_case_is_one_failure(tmp_path: Path) -> None:
    gtest_report(tmp_path, '<failure message="Expected equality"/>')
    assert str(counts.ctest(ctest_report(tmp_path, "fail"), tmp_path)) == "0 passed, 1 failed, 1 skipped"


def test_a_program_that_fails_after_its_cases_is_a_failure(tmp_path: Path) -> None:
    gtest_report(tmp_path)
    assert str(counts.ctest(ctest_report(tmp_path, "fail"), tmp_path)) == "1 passed, 1 failed, 1 skipped"


def test_a_program_that_crashes_or_is_no_gtest(tmp_path: Path) -> None:
    assert str(counts.ctest(ctest_report(tmp_path, "fail"), tmp_path)) == "0 passed, 1 failed"
    assert str(counts.ctest(ctest_report(tmp_path, "run"), tmp_path)) == "1 passed, 0 failed"


def test_tap_counts_leaves_not_groups() -> None:
    text = """TAP version 13
# Subtest: kernels
    # Subtest: runs a cell
    ok 1 - runs a cell
      ---
      duration_ms: 3
      ...
    not ok 2 - interrupts
    ok 3 - restarts # SKIP no kernel
    1..3
not ok 1 - kernels
ok 2 - alone
1..2
"""
    tally = counts.tap(text)
    assert tally == Tally(2, ["interrupts"], ["restarts: no kernel"])
