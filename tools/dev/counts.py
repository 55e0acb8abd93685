"""Adds up what the test runners report: JUnit files of CTest, GoogleTest and pytest, TAP of node."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from dev import ui


@dataclass
class Tally:
    """The counts of a stage or a run. `failures` and `skips` name the tests, with the reason where it is known."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.passed + other.passed, self.failures + other.failures, self.skips + other.skips)

    def __str__(self) -> str:
        text = f"{self.passed} passed, {len(self.failures)} failed"
        return f"{text}, {len(self.skips)} skipped" if self.skips else text


def failed(name: str, reason: str) -> Tally:
    return Tally(failures=[f"{name}: {reason}"])


def skipped(name: str, reason: str) -> Tally:
    return Tally(skips=[f"{name}: {reason}"])


def junit(path: Path) -> Tally:
    """The cases of one JUnit file (GoogleTest, pytest or CTest)."""
    tally = Tally()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
        problem = next((e for e in case if e.tag in ("failure", "error")), None)
        skip = case.find("skipped")
        if problem is not None:
            tally.failures.append(f"{name}: {_first_line(problem.get('message') or problem.text)}")
        elif skip is not None or case.get("status") in ("notrun", "disabled") or case.get("result") == "skipped":
            why = skip.get("message") if skip is not None else None
            tally.skips.append(f"{name}: {_first_line(why or 'disabled')}")
        else:
            tally.passed += 1
    return tally


def ctest(junit_file: Path, gtest_folder: Path) -> Tally:
    """Counts CTest's programs, each by its GoogleTest cases where it wrote a file of them. A program that failed
    although all its cases passed (a crash or a leak at exit, a timeout) counts as one more failure."""
    tally = Tally()
    for case in ElementTree.parse(junit_file).getroot().iter("testcase"):
        name = case.get("name") or ""
        ended_badly = case.get("status") not in ("run", "disabled", "notrun")
        report = gtest_folder / f"{name}.xml"
        cases = junit(report) if report.exists() else Tally()
        if ended_badly and not cases.failures:
            tally += cases + failed(name, "the program ended badly (crash, sanitizer report or timeout)")
        elif report.exists():
            tally += cases
        elif case.get("status") == "run":
            tally += Tally(passed=1)
        else:
            tally += skipped(name, "disabled or not built")
    return tally


_TAP = re.compile(r"^(?P<indent> *)(?P<not>not )?ok \d+ - (?P<name>.*?)(?: # SKIP\b ?(?P<why>.*))?$")


def tap(text: str) -> Tally:
    """Node's TAP: a result line that has results nested below it is a group and is not counted itself."""
    tally = Tally()
    deepest_open = -1
    for line in text.splitlines():
        found = _TAP.match(line)
        if not found:
            continue
        depth = len(found["indent"]) // 4
        if depth < deepest_open:
            deepest_open = depth  # the end of a group whose children were counted
            continue
        deepest_open = depth
        if (why := found["why"]) is not None:
            tally.skips.append(f"{found['name']}: {why or 'no reason given'}")
        elif found["not"]:
            tally.failures.append(found["name"])
        else:
            tally.passed += 1
    return tally


def _first_line(text: str | None) -> str:
    lines = (text or "").strip().splitlines()
    return lines[0][:200] if lines else "no message"


def settle(name: str, status: int, tally: Tally, log: Path) -> Tally:
    """Adds a failure when a runner ended badly without naming one, and shows the end of the log when there are
    failures."""
    if status != 0 and not tally.failures:
        tally += failed(name, f"ended with status {status}")
    if tally.failures:
        text = log.read_text(errors="replace")
        ui.say(text if len(text) < 20_000 else "…" + text[-20_000:])
        ui.say(f"  the whole log: {log}")
    return tally


def show(total: Tally) -> None:
    """Prints the end of a run: the skipped tests, the failed tests, and the count."""
    for title, lines in (("Skipped", total.skips), ("Failed", total.failures)):
        if lines:
            print(f"\n{title}:")
            print("\n".join(f"  {line}" for line in lines))
    print(f"\n{total}", flush=True)
