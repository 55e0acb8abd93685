"""The programs that should notice a fault: which of their tests reach the code of the fault, and which of them fail."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutants import tree

SIMULATOR = "banyan_sim"
_STARTS_S = 5.0  # added to the time limit of each run
_TIMES_AS_LONG = 5.0  # a run with a fault may take this many times as long as without one


@dataclass(frozen=True)
class Check:
    """One run of a program with certain arguments, such as a single unit test."""

    program: str
    name: str
    arguments: tuple[str, ...]


@dataclass
class Reached:
    """How long a check takes without a fault, and which faults' code it reaches."""

    seconds: float
    numbers: frozenset[int] = field(default_factory=frozenset)


class Checks:
    """All checks: each unit test by itself, and the simulator with a number of seeds."""

    def __init__(self, tests: Sequence[str], schedules: int, cells: int) -> None:
        self._programs = {name: tree.binary(name) for name in (*tests, *([SIMULATOR] if schedules else []))}
        self.tests = [check for name in tests for check in self._tests_of(name)]
        each = [("--seed", str(seed), "--cells", str(cells), "--jobs", "1") for seed in range(1, schedules + 1)]
        self.schedules = [Check(SIMULATOR, f"seed {n}", arguments) for n, arguments in enumerate(each, 1)]

    def _tests_of(self, name: str) -> list[Check]:
        listed = subprocess.run(
            [self._programs[name], "--gtest_list_tests"], capture_output=True, text=True, check=True
        )
        found, suite = [], ""
        for line in listed.stdout.splitlines():
            word = line.split("#")[0].strip()
            if not line.startswith(" "):
                suite = word if word.endswith(".") else ""
            elif suite and "DISABLED_" not in suite + word:
                found.append(Check(name, suite + word, (f"--gtest_filter={suite}{word}",)))
        return found

    def reach(self, check: Check, faults: int) -> Reached:
        """Runs the check without a fault and records which faults it reaches. `faults`: the highest number of a
        fault."""
        with tempfile.NamedTemporaryFile() as reached:
            reached.truncate(faults + 1)
            start = time.monotonic()
            done = self._run(check.program, check.arguments, {"BANYAN_FAULTS_REACHED": reached.name}, None)
            seconds = time.monotonic() - start
            if done != 0:
                raise RuntimeError(f"{check.program} {check.name} fails without a fault")
            marks = Path(reached.name).read_bytes()
        return Reached(seconds, frozenset(number for number, mark in enumerate(marks) if mark))

    def noticed(self, number: int, checks: Iterable[Check], reached: Mapping[Check, Reached]) -> str:
        """The program that notices the fault, or an empty string. The unit tests of a program run together, quick ones
        first."""
        for program in self._programs:
            own = sorted((check for check in checks if check.program == program), key=lambda one: reached[one].seconds)
            limit = _STARTS_S + _TIMES_AS_LONG * sum(reached[one].seconds for one in own)
            if own and program == SIMULATOR:
                for one in own:
                    if self._run(
                        program, one.arguments, _on(number), _STARTS_S + _TIMES_AS_LONG * reached[one].seconds
                    ):
                        return f"{program} {one.name}"
            elif own:
                chosen = "--gtest_filter=" + ":".join(one.name for one in own)
                if self._run(program, (chosen, "--gtest_fail_fast"), _on(number), limit):
                    return program
        return ""

    def _run(self, program: str, arguments: Sequence[str], settings: Mapping[str, str], limit_s: float | None) -> int:
        """Runs a program and returns its exit status; a program that takes too long counts as one that fails."""
        process = subprocess.Popen(
            [self._programs[program], *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **settings},
            start_new_session=True,
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return -1
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()


def _on(number: int) -> dict[str, str]:
    return {"BANYAN_FAULT": str(number)}
