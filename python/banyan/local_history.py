"""The history of one kernel without a platform: the session machine and its store, as one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banyan import _native
from banyan.apply import Value
from banyan.detect import Changes
from banyan.history import HistoryError
from banyan.local_store import Chunks, LocalStore, MemoryStore, StoreError, StoreUnwritable
from banyan.serialise import Pickled

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Bytes of the values of all commits; beyond it the oldest commits go.
_VALUES_MAX = 4 << 30
_VALUES_MAX_IN_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that has ended, or what stands for one."""

    code: str
    ok: bool = True
    count: int = 0
    runtime_us: int = 0
    ended_at_us: int = 0  # since 1970
    looks: bool = False  # no commit when it changed nothing


class LocalHistory:
    """A session in this process. What it holds is in the store, or in memory when the store cannot be written.

    Raises StoreError only where it is said. Every call is made on the main thread.
    """

    def __init__(self, path: Path | None, say: Callable[[str], None]) -> None:
        """path: the store, None for none. Raises StoreError when it is damaged, in use, or of another version."""
        self._say = say
        self._file: LocalStore | None = None
        self._written = False  # whether steps go to the file
        session = None
        try:
            if path is not None:
                self._file = LocalStore(path)
                session = self._file.load()
                if session is None:
                    session = _native.LocalSession(self._file.session_id, _VALUES_MAX)
                    self._file.start(session)
                self._written = True
        except StoreUnwritable as error:
            say(f"{error}; the history is in memory only and ends with this kernel")
        except StoreError:
            self.close()
            raise
        self._session = session or _native.LocalSession(str(uuid.uuid4()), _VALUES_MAX_IN_MEMORY)
        self._chunks: Chunks = MemoryStore(self._file)
        if self._file is not None and self._written:
            self._chunks = self._file

    @property
    def path(self) -> Path | None:
        """Where it is kept; None when it is in memory."""
        return self._file.path if self._file is not None and self._written else None

    @property
    def size(self) -> int:
        """Bytes of the store's file."""
        return self._file.size() if self._file is not None else 0

    @property
    def names(self) -> list[str]:
        """Variables at head."""
        return self._session.names

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def ask(self, question: dict[str, object]) -> dict[str, Any]:
        """Answer a question (docs/internals/history.md). Raises HistoryError with what is wrong with it."""
        try:
            answer: dict[str, Any] = json.loads(self._session.ask(_text(json.dumps(question, ensure_ascii=False))))
        except ValueError as error:
            raise HistoryError(str(error)) from None
        return answer

    def commit(self, cell: Cell, changes: Changes) -> None:
        """A cell has ended. The changes' buffers are not used afterwards."""
        step = self._session.commit(
            code=_text(cell.code),
            ok=cell.ok,
            count=cell.count,
            runtime_us=cell.runtime_us,
            ended_at_us=cell.ended_at_us,
            changed=[(pickled.names, _parts(pickled)) for pickled in changes.changed],
            deleted=changes.deleted,
            failed=[failure.name for failure in changes.failed],
            looks=cell.looks,
        )
        self._write(step)

    def restart(self) -> None:
        """The namespace is empty: a new process."""
        self._write(self._session.restart())

    def behind(self) -> tuple[list[Value], list[str]]:
        """What makes the namespace a view of head: values to load, names to delete."""
        values, deleted = self._session.behind()
        return [Value(tuple(names), self._reader(parts)) for names, parts in values], sorted(deleted)

    def shows_head(self, missing: list[str]) -> None:
        """The namespace is a view of head now, apart from names that could not be loaded."""
        self._session.shows_head(missing)

    def damage(self) -> list[str]:
        """Read the whole store; what is wrong with it. Raises StoreError when it cannot be read."""
        return [] if self._file is None else self._file.damage(self._session)

    def _reader(self, parts: list[bytearray | tuple[bytes, int]]) -> Callable[[], tuple[Buffer, list[Buffer]]]:
        def read() -> tuple[Buffer, list[Buffer]]:
            return _pickle_and_buffers([self._chunks.read(*p) if isinstance(p, tuple) else p for p in parts])

        return read

    def _write(self, step: _native.LocalStep) -> None:
        try:
            self._chunks.write(step)
            if self._file is not None and self._written and self._file.wants_snapshot():
                self._file.shorten(self._session)
        except Exception as error:
            # The file stays as the last step that it holds has left it: a log has no gaps.
            self._say(f"{error}; from here on the history is in memory only and ends with this kernel")
            self._written = False
            self._chunks = MemoryStore(self._file)
            self._chunks.write(step)


# How a value's bytes are laid out for the session: the counterpart of `parts_of` in native/local_module.cc.


def _parts(pickled: Pickled) -> list[Buffer]:
    return [pickled.pickle, *pickled.buffers]


def _pickle_and_buffers(parts: list[bytearray]) -> tuple[Buffer, list[Buffer]]:
    data, *buffers = parts
    return data, list(buffers)


def _text(text: str) -> str:
    return text.encode(errors="replace").decode()
