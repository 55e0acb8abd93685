"""What counts as done outside of the process."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from banyan import rerun
from banyan.effects import Effects

_effects = Effects()  # an audit hook stays


def _effects_of(code: Callable[[], object]) -> list[str]:
    _effects.begin()
    try:
        code()
    finally:
        found = _effects.end()
    return found


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert _effects_of(lambda: path.write_text("x")) == [f"wrote {path}"]
    assert _effects_of(path.read_text) == []
    assert _effects_of(lambda: path.rename(tmp_path / "b")) == [f"renamed {path}"]
    assert _effects_of((tmp_path / "b").unlink) == [f"removed {tmp_path / 'b'}"]
    assert _effects_of(lambda: Path(os.devnull).write_text("x")) == []


def test_processes_connections_and_databases(tmp_path: Path) -> None:
    (ran,) = _effects_of(lambda: subprocess.run([sys.executable, "-c", ""], check=True))[:1]
    assert ran.startswith("ran ") and sys.executable in ran
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert _effects_of(lambda: socket.create_connection(("127.0.0.1", port)).close()) == [
            f"connected to 127.0.0.1:{port}"
        ]
    assert _effects_of(lambda: sqlite3.connect(":memory:").close()) == []
    assert _effects_of(lambda: sqlite3.connect(tmp_path / "d").close()) == [f"opened the database {tmp_path / 'd'}"]


def test_few_and_short() -> None:
    def many() -> None:
        for number in range(50):
            with pytest.raises(FileNotFoundError):
                Path(f"/nowhere/{'x' * 200}{number}").write_text("")

    found = _effects_of(many)
    assert 0 < len(found) <= 8 and all(len(effect) <= 120 for effect in found)


def test_where_temporary_files_go_is_known_before() -> None:
    assert _effects_of(tempfile.gettempdir) == []


def test_what_its_author_allows_does_not_count_for_that_cell(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def allowed() -> None:
        path.write_text("x")
        _effects.allow()

    assert _effects_of(allowed) == []
    assert _effects_of(lambda: path.write_text("x")) == [f"wrote {path}"], "the next one is another cell"

    def forbidden() -> None:
        allowed()
        rerun.note_tags({"rerun-never", "rerun-always"}, _effects)

    assert _effects_of(forbidden) == ["its author's %rerun never"], "never wins"
