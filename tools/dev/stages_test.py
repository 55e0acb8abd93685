"""What the stages of `./dev test` run is what they have built."""

from pathlib import Path

import pytest

from dev import build, provision, stages, ui


def test_the_simulator_is_built_before_it_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where nothing else has been built, as after `./dev test sim` on a fresh clone."""
    built: set[str] = set()
    ran: list[Path] = []

    def run(_title: str, command: list[str | Path], log: Path, **_: object) -> int:
        ran.append(Path(command[0]))
        log.write_text('{"schedules": 2000, "cells": 200000, "violations": 0}\n')
        return 0

    monkeypatch.setattr(build, "has_target", lambda *_: True)
    monkeypatch.setattr(build, "build", lambda _preset, *targets: built.update(targets))
    monkeypatch.setattr(ui, "run", run)
    monkeypatch.setattr(stages, "LOGS", tmp_path)
    assert stages.sim().passed == 2000
    assert [program.name for program in ran] == ["banyan_sim"]
    assert "banyan_sim" in built


def test_a_study_of_faults_that_did_not_run_is_no_low_score(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(_title: str, _command: list[str | Path], log: Path, **_: object) -> int:
        log.write_text("the tree does not build\n")
        return 2

    monkeypatch.setattr(provision, "python", lambda *_: None)
    monkeypatch.setattr(ui, "run", run)
    monkeypatch.setattr(stages, "LOGS", tmp_path)
    tally = stages.mutants(())
    assert tally.passed == 0
    assert len(tally.failures) == 1 and "ended with status 2" in tally.failures[0]
