"""What counts as done outside of the process."""

from __future__ import annotations

import ctypes.util
import importlib
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from banyan.notebook import rerun
from banyan.restore.effects import Effects
from banyan.state import own

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


def test_what_a_library_does_while_it_is_imported_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "caches.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'c')!r}).mkdir()\n")
    (tmp_path / "mine.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'm')!r}).mkdir()\n")
    monkeypatch.setattr(own, "is_own_file", lambda name, _: name == "mine")
    finder = own._Finder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    assert _effects_of(lambda: importlib.import_module("caches")) == []
    assert (tmp_path / "c").is_dir()
    assert _effects_of(lambda: importlib.import_module("mine")) == [f"made {tmp_path / 'm'}"]


def test_asking_the_system_is_no_effect_of_a_library_and_is_one_of_the_user() -> None:
    ask = "import subprocess\ndef ask(): subprocess.run(['uname'], capture_output=True)\n"
    library: dict[str, object] = {"__name__": "library"}
    exec(ask, library)
    users: dict[str, object] = {"__name__": "__main__"}
    exec(ask, users)
    assert _effects_of(library["ask"]) == []  # type: ignore[arg-type]
    assert _effects_of(users["ask"]) == ["ran uname"]  # type: ignore[arg-type]
    assert _effects_of(lambda: ctypes.util.find_library("c")) == []


def test_what_a_compiler_calls_of_the_users_counts(tmp_path: Path) -> None:
    compiler: dict[str, object] = {"__name__": "numba.core"}
    exec("def run(code, path):\n    open(path, 'w').close()\n    code()\n", compiler)
    users: dict[str, object] = {"__name__": "__main__", "path": str(tmp_path / "log")}
    exec("def code(): open(path, 'w').close()\n", users)
    run: Callable[..., object] = compiler["run"]  # type: ignore[assignment]
    assert _effects_of(lambda: run(users["code"], tmp_path / "cache")) == [f"wrote {tmp_path / 'log'}"]


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
