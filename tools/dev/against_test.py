"""Tests of how a bench on two commits is put side by side."""

import subprocess
from pathlib import Path

import pytest

from dev import against, ui
from dev.paths import ROOT


def test_each_number_has_the_way_to_it_as_its_name() -> None:
    printed = {"rows": [{"ms": 2, "name": "a"}, {"ms": 3.5}], "quiet": True, "none": None, "load": 0.5}
    assert against.figures(printed) == {"rows.0.ms": 2.0, "rows.1.ms": 3.5, "load": 0.5}


def test_only_what_every_run_has_is_compared() -> None:
    compared = against.compare([{"a": 1, "b": 1}, {"a": 1}], [{"a": 2, "b": 2, "new": 1}, {"a": 4, "b": 2}])
    assert list(compared) == ["a"]
    assert compared["a"].ratio() == 3
    assert compared["a"].ratios() == [2, 4]


def test_a_figure_that_was_zero_has_no_ratio() -> None:
    compared = against.compare([{"a": 0.0}], [{"a": 1.0}])
    assert against.as_json(compared) == {"a": {"before": 0.0, "now": 1.0, "ratio": None, "ratios": []}}
    assert [cell.strip() for cell in against.table(compared, "c0ffee")[1]] == ["a", "0.000", "1.000", "", "", ""]


def test_the_table_shows_how_far_the_rounds_are_apart() -> None:
    rows = against.table(against.compare([{"a": 2.0}, {"a": 2.0}], [{"a": 3.0}, {"a": 2.0}]), "0123456789abcdef")
    assert [cell.strip() for cell in rows[0]] == ["median of the rounds", "0123456789ab", "now", "ratio", "from", "to"]
    assert [cell.strip() for cell in rows[1]] == ["a", "2.000", "2.500", "1.25", "1.00", "1.50"]


def test_a_commit_that_is_not_there_is_said() -> None:
    with pytest.raises(ui.UserError, match="no such commit"):
        against.main("latency", ["--against", "no-such-commit"])


def test_the_other_tree_is_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(against, "_CLONES", tmp_path)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    folder = against._clone(head)
    assert (folder / "dev").exists()
    there = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    assert there.stdout.strip() == head
    assert against._clone(head) == folder
