"""The store of a session without a platform: what it refuses, what it survives, what it lets go."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from banyan.standalone import store as local_store
from banyan.standalone.history import Cell, LocalHistory
from banyan.standalone.store import FORMAT, StoreError
from banyan.state.changes import Changes
from banyan.state.detect import DigestDetector
from banyan.state.serialise import dump, load


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".banyan" / "history.db"


def open_history(path: Path | None, say: Callable[[str], None] = pytest.fail) -> LocalHistory:
    return LocalHistory(path, say)


def commit(history: LocalHistory, deleted: tuple[str, ...] = (), **values: object) -> None:
    """A cell that binds each name to a value of its own."""
    changed = [dump({name: value}) for name, value in values.items()]
    history.commit(Cell(f"{sorted(values)}", count=1), Changes(changed, deleted=list(deleted)))


def at_head(history: LocalHistory) -> dict[str, Any]:
    """What has to be loaded: all of head in a new process."""
    values, _ = history.behind(DigestDetector({}, {}))
    found = {}
    for value in values:
        data, *buffers = value.read()
        found.update({name: loaded for name, loaded in load(data, buffers).items() if name in value.names})
    return found


def again(history: LocalHistory, path: Path) -> dict[str, Any]:
    """What is there after the store was closed and opened."""
    history.close()
    opened = open_history(path)
    try:
        assert opened.damage() == []
        return at_head(opened)
    finally:
        opened.close()


def text(path: Path) -> str:
    """Why the store cannot be opened."""
    with pytest.raises(StoreError) as caught:
        open_history(path)
    return str(caught.value)


def edit(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def large(fill: int) -> bytearray:
    return bytearray([fill]) * 200_000


def test_what_was_committed_is_there_again(path: Path) -> None:
    history = open_history(path)
    commit(history, x=[1], big=large(1), gone=1)
    commit(history, x=[2], deleted=("gone",))
    assert again(history, path) == {"x": [2], "big": large(1)}
    assert (path.stat().st_mode & 0o777, (path.parent / ".gitignore").read_text()) == (0o600, "*\n")


def test_a_chunk_is_stored_once_and_goes_with_the_last_commit_that_has_it(path: Path) -> None:
    history = open_history(path)
    for fill in (1, 2, 1):
        commit(history, x=large(fill), y=large(fill))
    history.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM chunk").fetchone() == (2,)
    connection.close()


def test_values_that_nothing_keeps_leave_the_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banyan.standalone.history._VALUES_MAX", 1_000_000)
    history = open_history(path)
    for fill in range(50):
        commit(history, x=large(fill))
    assert history.ask({"do": "log", "limit": 100})["more"] == 0
    assert len(history.ask({"do": "log", "limit": 100})["commits"]) <= 6
    assert history.size < 4_000_000
    assert again(history, path) == {"x": large(49)}


def test_the_log_is_bounded_by_snapshots(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_store, "_RECORDS_MAX", 5)
    history = open_history(path)
    for number in range(23):
        commit(history, x=number)
    history.ask({"do": "undo"})
    commit(history)
    history.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) <= 6 FROM log").fetchone() == (1,)
    assert connection.execute(f"SELECT max(seq) FROM ({local_store._SEQUENCE})").fetchone() == (24,)
    connection.close()
    history = open_history(path)
    assert at_head(history) == {"x": 21}
    assert len(history.ask({"do": "log", "limit": 100})["commits"]) == 23
    history.close()


def test_old_small_values_become_chunks_when_they_are_many(path: Path) -> None:
    history = open_history(path)
    for number in range(400):
        commit(history, x=[number] * 20_000)  # 40 kB each, 16 MB in all
    history.ask({"do": "undo", "count": 390})
    commit(history)
    assert again(history, path)["x"][0] == 9


def test_one_process_at_a_time(path: Path) -> None:
    history = open_history(path)
    assert "open in another kernel" in text(path)
    assert "BANYAN_STORE" in text(path)
    history.close()
    open_history(path).close()


@pytest.mark.parametrize(
    ("version", "words"), [(FORMAT + 1, "a newer version of Banyan"), (FORMAT - 1, "an older version of Banyan")]
)
def test_another_format_is_refused(path: Path, version: int, words: str) -> None:
    open_history(path).close()
    edit(path, f"PRAGMA user_version = {version}")
    assert words in text(path)


def test_another_program_s_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    edit(path, "CREATE TABLE theirs (x)")
    assert "another program" in text(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET record = substr(record, 2) WHERE seq = 1",
        "UPDATE snapshot SET bytes = x'00'",
        "DELETE FROM chunk",
        "DELETE FROM meta",
        "DROP TABLE log",
    ],
)
def test_damage_is_found_when_it_is_opened(path: Path, statement: str) -> None:
    history = open_history(path)
    commit(history, big=large(1))
    history.close()
    edit(path, statement)
    assert "damaged" in text(path)
    assert "move it away" in text(path)
    assert "damaged" in text(path)  # and it was not locked or changed


def test_a_damaged_value_is_found_when_it_is_read(path: Path) -> None:
    history = open_history(path)
    commit(history, big=large(1), x=1)
    history.close()
    edit(path, "UPDATE piece SET bytes = zeroblob(length(bytes))")
    history = open_history(path)
    assert "damaged or missing" in " ".join(history.damage())
    values, _ = history.behind(DigestDetector({}, {}))
    good = [value.names for value in values if _reads(value.read)]
    assert good == [("x",)]
    history.close()


def _reads(read: Callable[[], object]) -> bool:
    try:
        read()
    except StoreError:
        return False
    return True


def test_a_cut_file_is_refused(path: Path) -> None:
    history = open_history(path)
    commit(history, big=large(1))
    history.close()
    os.truncate(path, path.stat().st_size // 2)
    assert "damaged" in text(path)


def test_a_full_disk_is_said_once_and_the_history_goes_on_in_memory(path: Path) -> None:
    said: list[str] = []
    history = open_history(path, said.append)
    commit(history, x=large(1))
    assert history._file is not None
    pages = history._file._scalar("PRAGMA page_count")
    history._file._connection.execute(f"PRAGMA max_page_count = {pages + 20}")
    commit(history, x=large(2), y=large(3))
    commit(history, x=large(4))
    assert len(said) == 1 and "in memory only" in said[0] and "full" in said[0]
    assert history.path is None
    history.ask({"do": "undo", "count": 2})
    commit(history)
    assert at_head(history) == {"x": large(1)}
    history.shows_head()
    history.ask({"do": "redo"})
    commit(history)
    assert at_head(history) == {"x": large(4), "y": large(3)}
    assert again(history, path) == {"x": large(1)}


def test_no_file_at_all(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "file").write_text("")
    history = open_history(tmp_path / "file" / "history.db", said.append)
    assert "cannot write" in said[0]
    commit(history, x=large(1))
    commit(history, x=large(2))
    history.ask({"do": "undo"})
    commit(history)
    assert at_head(history) == {"x": large(1)}
    history.close()


def test_a_forked_child_leaves_the_store_alone(path: Path) -> None:
    history = open_history(path)
    commit(history, x=1)
    child = os.fork()
    if child == 0:
        history.close()
        del history
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    commit(history, x=2)
    assert again(history, path) == {"x": 2}


def test_a_text_that_is_no_utf_8_is_recorded(path: Path) -> None:
    history = open_history(path)
    history.commit(Cell("x = '\udc80'"), Changes())
    assert history.ask({"do": "log"})["commits"][0]["code"] == "x = '?'"
    history.ask({"do": "describe", "message": "quotes ' \" and \udc80"})
    commit(history)
    assert history.ask({"do": "log"})["commits"][0]["message"] == "quotes ' \" and ?"
    history.close()
