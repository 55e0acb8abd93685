"""Tests of the table that keeps the last run of each row."""

from pathlib import Path

import pytest

from dev import record

HEAD = ["Python", "compiler", "suite"]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "pythons.md"
    path.write_text("# Pythons\n\nWhat it is about.\n")
    monkeypatch.setattr(record, "TABLE", path)
    monkeypatch.setattr(record, "commit", lambda: "c0ffee")
    return path


def rows(table: Path) -> list[str]:
    return [line.rsplit(" | ", 1)[0] for line in table.read_text().splitlines() if line.startswith("| 3")]


def test_a_row_is_added_in_the_order_of_versions(table: Path) -> None:
    record.keep(HEAD, ["3.11.2 Debian", "g++", "5 passed"])
    record.keep(HEAD, ["3.9.1 pyenv", "g++", "1 passed"])
    assert rows(table) == ["| 3.9.1 pyenv | g++ | 1 passed | c0ffee", "| 3.11.2 Debian | g++ | 5 passed | c0ffee"]
    assert table.read_text().startswith(
        "# Pythons\n\nWhat it is about.\n\n| Python | compiler | suite | commit | day |\n"
    )


def test_a_row_takes_the_place_of_its_last_run(table: Path) -> None:
    record.keep(HEAD, ["3.11.2 Debian", "g++", "5 passed"])
    record.keep(HEAD, ["3.11.2 Debian", "clang", "5 passed"])
    record.keep(HEAD, ["3.11.2 Debian", "g++", "1 failed, 4 passed"])
    assert rows(table) == [
        "| 3.11.2 Debian | clang | 5 passed | c0ffee",
        "| 3.11.2 Debian | g++ | 1 failed, 4 passed | c0ffee",
    ]
