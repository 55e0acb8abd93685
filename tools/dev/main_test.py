"""The command line as a person meets it."""

import json
import subprocess

import pytest

from dev import tasks
from dev.paths import ROOT
from dev.stages import STAGES


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "dev", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nope"], "invalid choice: 'nope'"),
        (["up", "--hosts", "0"], "--hosts wants a number from 1 to 64"),
        (["up", "--fake-gpus", "65"], "--fake-gpus wants a number from 0 to 64"),
        (["up", "--detach", "--stop"], "not allowed with"),
        (["test", "nope"], "no stage, file or test is named 'nope'; did you mean node?"),
        (["bench", "nope"], "no bench 'nope'; there are:"),
    ],
)
def test_bad_use_says_what_is_wrong(arguments: list[str], says: str) -> None:
    done = dev(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_no_command_shows_the_commands() -> None:
    done = dev()
    assert done.returncode == 0
    assert all(
        f"    {name} " in done.stdout
        for name in ("up", "test", "bench", "tidy", "fmt", "sim", "compat", "mutants", "nightly", "wheel", "doctor")
    )


def test_doctor_prints_one_json_object() -> None:
    findings = json.loads(dev("doctor", "--json").stdout)["findings"]
    assert {"system", "compiler", "cgroups", "bubblewrap", "GPUs"} <= {finding["what"] for finding in findings}
    assert all(finding["advice"] for finding in findings if finding["state"] == "lacks")


def test_the_help_names_every_stage() -> None:
    text = dev("test", "--help").stdout
    assert all(stage.name in text for stage in STAGES)


def test_helpers_of_benches_are_no_benches() -> None:
    assert not [name for name in tasks._benches() if name.startswith("_")]


def test_ci_runs_what_a_developer_runs() -> None:
    assert "exec ./dev test" in (ROOT / ".ci" / "run").read_text()
