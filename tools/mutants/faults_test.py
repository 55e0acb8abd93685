import os
import subprocess
from pathlib import Path

import pytest

from mutants import study, tree
from mutants.faults import Fault, faults_of
from mutants.switches import HEADER, SWITCH, rewritten

SOURCE = """\
constexpr int kMost = 3;  // worked out by the compiler
constexpr bool few(int n) { return n < 2; }
enum class Kind { kFirst = 1 };

int count = 0;

int answer(int n, bool on) {
  if (n < kMost && on) return 5;  // a guard
  for (int i = 0; i < n; ++i)
    count += 3;
  if (const int more = n + 2; more > 8) ++count;
  return on ? count : 7;
}
"""
MAIN = """
#include <cstdio>
int main() {
  for (int n = 0; n < 9; ++n)
    for (int on = 0; on < 2; ++on) std::printf("%d %d ", answer(n, on == 1), few(n) ? count : -count);
}
"""


def found(tmp_path: Path, source: str = SOURCE) -> list[Fault]:
    (tmp_path / "answer.cc").write_text(source)
    return faults_of(tmp_path, "answer.cc")


def test_what_can_be_wrong_with_a_source(tmp_path: Path) -> None:
    said = [(fault.line, fault.kind, fault.code) for fault in found(tmp_path)]
    assert said == [
        (8, "always", "n < kMost && on"),
        (8, "never", "n < kMost && on"),
        (8, "without", "n < kMost"),
        (8, "without", "on"),
        (8, "turned", "n < kMost"),
        (8, "swapped", "5"),
        (9, "never", "i < n"),
        (9, "swapped", "0"),
        (9, "turned", "i < n"),
        (10, "dropped", "count += 3;"),
        (10, "swapped", "3"),
        (11, "always", "more > 8"),
        (11, "never", "more > 8"),
        (11, "turned", "n + 2"),
        (11, "swapped", "2"),
        (11, "turned", "more > 8"),
        (11, "swapped", "8"),
        (11, "dropped", "++count;"),
        (12, "always", "on"),
        (12, "never", "on"),
        (12, "swapped", "7"),
    ]


def test_a_fault_is_the_same_one_when_lines_move(tmp_path: Path) -> None:
    before, after = found(tmp_path), found(tmp_path, "// more\n\n" + SOURCE)
    assert [fault.key for fault in before] == [fault.key for fault in after]
    assert len({fault.key for fault in before}) == len(before)


def test_what_is_said_to_people_is_left_alone(tmp_path: Path) -> None:
    source = (
        'void f(int n) {\n  host_.log(kInfo, "at " + std::to_string(n + 1));\n  throw Bad("after " + text(n > 1));\n}\n'
    )
    assert found(tmp_path, source) == []


def test_a_source_with_all_faults_is_right_until_one_is_on(tmp_path: Path) -> None:
    faults = found(tmp_path)
    numbers = {fault: number for number, fault in enumerate(faults, 1)}
    text = rewritten(SOURCE.encode(), numbers).decode()
    assert len(text.splitlines()) == len(SOURCE.splitlines()) + 2, "lines stay where they are"
    (tmp_path / HEADER).write_text(SWITCH)
    (tmp_path / "plain.cc").write_text(SOURCE + MAIN)
    (tmp_path / "faulty.cc").write_text(text + MAIN)
    for name in ("plain", "faulty"):
        subprocess.run(["clang++-19", "-std=c++20", f"{name}.cc", "-o", name], cwd=tmp_path, check=True)

    def says(name: str, **settings: str) -> str:
        # A fault can make a loop run for ever.
        command = ["timeout", "1", tmp_path / name]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **settings}
        ).stdout

    right = says("plain")
    assert says("faulty") == right
    for fault, number in numbers.items():
        assert says("faulty", BANYAN_FAULT=str(number)) != right, fault
    reached = tmp_path / "reached"
    reached.write_bytes(bytes(len(faults) + 1))
    says("faulty", BANYAN_FAULTS_REACHED=str(reached))
    assert reached.read_bytes() == b"\0" + b"\1" * len(faults)


def test_a_fault_that_does_not_compile_is_found_by_its_line() -> None:
    one = Fault("src/core/a.cc", 3, 4, 0, 9, "swapped", "f", "1", 1)
    other = Fault("src/core/b.cc", 3, 3, 0, 9, "swapped", "f", "1", 1)
    log = "/copy/src/core/a.cc:4:17: error: no viable conversion\n/copy/src/core/b.cc:4:1: note: error: is said here\n"
    assert tree._wrong(log, {one: 1, other: 2}) == {one}


def test_the_figures_count_what_is_equal_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = found(tmp_path)
    (tmp_path / "equal.txt").write_text(f"# why\n{faults[1].key} the same\n")
    monkeypatch.setattr(study, "EQUAL", tmp_path / "equal.txt")
    outcomes = {fault.key: study.Outcome(fault.key, "x_test" if n > 2 else "", True) for n, fault in enumerate(faults)}
    figures = study._figures(faults, outcomes, 4)
    assert (figures["mutants"], figures["killed"], figures["survived"], figures["equal"]) == (21, 18, 2, 1)
    assert figures["score"] == 18 / 20
    assert [each["key"] for each in figures["survivors"]] == [faults[0].key, faults[2].key]
