"""The store of a session without the platform: one SQLite file with its log, a snapshot, and large values by digest."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from banyan import _native
from banyan.process import failpoints

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The format of the file. It grows when an older Banyan could misread what a newer one has written: tables,
# records or snapshots.
FORMAT = 1
_APPLICATION = 0x42616E79  # "Bany"
_PIECE = 16 << 20  # SQLite's rows have a limit of 1 GB. Only one piece is copied at a time.
_SNAPSHOT_MIN = 1 << 20
_RECORDS_MAX = 1000

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, digest BLOB NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE log (seq INTEGER PRIMARY KEY, digest BLOB NOT NULL, record BLOB NOT NULL);
CREATE TABLE chunk (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL);
CREATE TABLE piece (chunk INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (chunk, part));
"""

_SEQUENCE = "SELECT seq FROM log UNION ALL SELECT seq FROM snapshot"

_ELSEWHERE = "keep this notebook's history elsewhere with %env BANYAN_STORE=FILE"
_MOVE_IT = "move it away to begin a new history, or " + _ELSEWHERE
_DAMAGED = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_SCHEMA", "SQLITE_MISMATCH"})

_open: weakref.WeakSet[LocalStore] = weakref.WeakSet()


class StoreError(Exception):
    """A store cannot be used. The text says why, and what to do."""


class StoreUnwritable(StoreError):
    """The store cannot be written: its folder or its disk is read-only or full."""


class Chunks(Protocol):
    """Holds the chunks that a session's steps add, until a step drops them."""

    def write(self, step: _native.LocalStep) -> None:
        """Do all of a step or none of it. Raises StoreError."""

    def read(self, digest: bytes, size: int) -> bytearray:
        """The bytes of a chunk. Raises StoreError when it is missing or damaged."""


class MemoryStore:
    """Holds new chunks in memory only, and reads older ones from a store that cannot be written any more."""

    def __init__(self, beneath: Chunks | None = None) -> None:
        self._beneath = beneath
        self._chunks: dict[bytes, bytes] = {}

    def write(self, step: _native.LocalStep) -> None:
        for digest, data in step.added:
            self._chunks[digest] = bytes(data)
        for digest in step.dropped:
            self._chunks.pop(digest, None)

    def read(self, digest: bytes, size: int) -> bytearray:
        if digest in self._chunks:
            return bytearray(self._chunks[digest])
        if self._beneath is None:
            raise StoreError("a value is not in memory")
        return self._beneath.read(digest, size)


class LocalStore:
    """One file, which only this process can use while it is open. For one thread.

    A step is one transaction: if the process dies at any moment, the step is either done or not begun. `synchronous`
    is NORMAL: a power cut may take the last steps with it. It takes the variables with it as well, and no cell has to
    wait for the disk.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it with its folder. Raises StoreError."""
        self.path = path
        self._abandoned = False
        _make(path)
        with _told(path):
            self._connection = sqlite3.connect(path, timeout=1.0, isolation_level=None)
            try:
                self.session_id = self._prepare()
                self._snapshot_bytes = self._scalar("SELECT ifnull(sum(length(bytes)), 0) FROM snapshot")
                self._records = self._scalar("SELECT count(*) FROM log")
                self._log_bytes = self._scalar("SELECT ifnull(sum(length(record)), 0) FROM log")
                self._seq = self._scalar(
                    "SELECT ifnull(max(seq), 0) FROM (SELECT seq FROM log UNION SELECT seq FROM snapshot)"
                )
            except BaseException:
                self._connection.close()
                raise
        _open.add(self)

    def close(self) -> None:
        """Close the file, with everything written into it. What fails here is done when it is next opened."""
        if not self._abandoned:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            _open.discard(self)

    def load(self) -> _native.LocalSession | None:
        """The session as it was stored; None in a new file. Chunks that nothing refers to are removed."""
        with _told(self.path):
            found = self._connection.execute("SELECT digest, bytes FROM snapshot").fetchone()
            if found is None:
                return None
            try:
                session = _native.LocalSession.restore(_intact(found[0], found[1], "the snapshot"))
                for digest, record in self._connection.execute("SELECT digest, record FROM log ORDER BY seq"):
                    session.replay(_intact(digest, record, "a commit"))
            except ValueError as error:
                raise StoreError(f"{self.path} is damaged: {error}; {_MOVE_IT}") from None
            self._sweep(session)
        return session

    def start(self, session: _native.LocalSession) -> None:
        """Store a session in a file that has none yet."""
        with _told(self.path), self._transaction():
            self._put_snapshot(session.snapshot())

    def write(self, step: _native.LocalStep) -> None:
        record = step.record
        with _told(self.path), self._transaction() as execute:
            for digest, data in step.added:
                self._put_chunk(digest, data)
                failpoints.reach("local.chunk")
            for digest in step.dropped:
                self._drop_chunk(digest)
            execute("INSERT INTO log VALUES (?, ?, ?)", (self._seq + 1, _native.chunk_digest(record), record))
            failpoints.reach("local.before")
        failpoints.reach("local.after")
        self._seq += 1
        self._records += 1
        self._log_bytes += len(record)

    def wants_snapshot(self) -> bool:
        """Whether the log has grown so long since the last snapshot that opening the store would be slow."""
        return self._log_bytes > max(_SNAPSHOT_MIN, 2 * self._snapshot_bytes) or self._records > _RECORDS_MAX

    def shorten(self, session: _native.LocalSession) -> None:
        """Replace the log by a snapshot."""
        with _told(self.path), self._transaction() as execute:
            execute("DELETE FROM log")
            self._put_snapshot(session.snapshot())
        self._records = self._log_bytes = 0
        with _told(self.path):
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def read(self, digest: bytes, size: int) -> bytearray:
        data = bytearray(size)
        at = 0
        with _told(self.path):
            for (piece,) in self._connection.execute(
                "SELECT bytes FROM chunk JOIN piece ON chunk = id WHERE digest = ? ORDER BY part", (digest,)
            ):
                data[at : at + len(piece)] = piece
                at += len(piece)
        if at != size or _native.chunk_digest(data) != digest:
            raise StoreError(f"its bytes in {self.path} are damaged or missing")
        return data

    def damage(self, session: _native.LocalSession) -> list[str]:
        """Read everything. Returns what is wrong, as lines for the user."""
        with _told(self.path):
            found = [line for (line,) in self._connection.execute("PRAGMA integrity_check(20)") if line != "ok"]
            sizes = dict(self._connection.execute("SELECT digest, size FROM chunk"))
        for digest in session.chunks:
            try:
                self.read(digest, sizes.get(digest, 0))
            except StoreError:
                found.append(f"the chunk {digest.hex()} is damaged or missing")
        return found

    def size(self) -> int:
        """The size of the file in bytes, without what has not been written into it yet."""
        return self._scalar("PRAGMA page_count") * self._scalar("PRAGMA page_size")

    def _prepare(self) -> str:
        """Take the file for this process, and make its tables if it is new. Returns the session's id."""
        execute = self._connection.execute
        # It is set before the journal's mode, so that no shared memory is needed.
        execute("PRAGMA locking_mode = EXCLUSIVE")
        execute("PRAGMA auto_vacuum = INCREMENTAL")
        execute("BEGIN EXCLUSIVE")
        application, version = self._scalar("PRAGMA application_id"), self._scalar("PRAGMA user_version")
        empty = self._scalar("SELECT count(*) FROM sqlite_schema") == 0
        execute("COMMIT")
        if not empty and application != _APPLICATION:
            raise StoreError(f"{self.path} is a database of another program; {_ELSEWHERE}")
        if not empty and version != FORMAT:
            age, do = ("a newer", "upgrade banyan") if version > FORMAT else ("an older", "use that one")
            raise StoreError(
                f"{self.path} was written by {age} version of Banyan "
                f"(format {version}, this one knows {FORMAT}): {do}, or {_ELSEWHERE}"
            )
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute(f"PRAGMA journal_size_limit = {_PIECE}")
        if empty:
            with self._transaction():
                for statement in filter(str.strip, _TABLES.split(";")):
                    execute(statement)
                execute("INSERT INTO meta VALUES ('session', ?)", (str(uuid.uuid4()),))
                execute(f"PRAGMA application_id = {_APPLICATION}")
                execute(f"PRAGMA user_version = {FORMAT}")
        found = execute("SELECT value FROM meta WHERE key = 'session'").fetchone()
        if found is None:
            raise StoreError(f"{self.path} is damaged: it names no session; {_MOVE_IT}")
        return str(found[0])

    def _sweep(self, session: _native.LocalSession) -> None:
        wanted = session.chunks
        stored = {digest for (digest,) in self._connection.execute("SELECT digest FROM chunk")}
        if lost := wanted.keys() - stored:
            raise StoreError(f"{self.path} is damaged: {len(lost)} chunks of values are missing; {_MOVE_IT}")
        with self._transaction():
            for digest in stored - wanted.keys():
                self._drop_chunk(digest)

    def _put_chunk(self, digest: bytes, data: Buffer) -> None:
        view = memoryview(data).cast("B")
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO chunk (digest, size) VALUES (?, ?)", (digest, len(view))
        )
        if cursor.rowcount == 1:
            for part, at in enumerate(range(0, len(view), _PIECE)):
                self._connection.execute(
                    "INSERT INTO piece VALUES (?, ?, ?)", (cursor.lastrowid, part, view[at : at + _PIECE])
                )

    def _drop_chunk(self, digest: bytes) -> None:
        self._connection.execute("DELETE FROM piece WHERE chunk = (SELECT id FROM chunk WHERE digest = ?)", (digest,))
        self._connection.execute("DELETE FROM chunk WHERE digest = ?", (digest,))

    def _put_snapshot(self, data: bytes) -> None:
        self._connection.execute("DELETE FROM snapshot")
        self._connection.execute("INSERT INTO snapshot VALUES (?, ?, ?)", (self._seq, _native.chunk_digest(data), data))
        self._snapshot_bytes = len(data)

    def _scalar(self, statement: str) -> int:
        return int(self._connection.execute(statement).fetchone()[0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Callable[..., Any]]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection.execute
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def abandon(self) -> None:
        """In a forked child: SQLite's state belongs to the parent, and closing it would remove
        files that are in use.
        """
        _native.keep_forever(self._connection)
        self._abandoned = True


def _abandon_all() -> None:
    for store in list(_open):
        store.abandon()


os.register_at_fork(after_in_child=_abandon_all)


def _make(path: Path) -> None:
    """Make the file, which only its owner may read, and its folder, which git is told to ignore."""
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
            if path.parent.name == ".banyan":
                (path.parent / ".gitignore").write_text("*\n")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from None


def _intact(digest: bytes, data: bytes, what: str) -> bytes:
    if _native.chunk_digest(data) != digest:
        raise ValueError(f"{what} is not what was written")
    return data


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a StoreError with words that the user can act on."""
    try:
        yield
    except sqlite3.Error as error:
        code = str(getattr(error, "sqlite_errorname", "")).split("_")[:2]
        name = "_".join(code)
        if name in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            raise StoreError(f"{path} is open in another kernel; end that one, or {_ELSEWHERE}") from None
        if name in _DAMAGED:
            raise StoreError(f"{path} is damaged: {error}; {_MOVE_IT}") from None
        raise StoreUnwritable(f"cannot write {path}: {error}") from None
    except OverflowError as error:
        raise StoreUnwritable(f"cannot write {path}: {error}") from None
