"""The history of one kernel without the platform: the session machine (`_native.LocalSession`)
together with its store.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banyan import _native
from banyan.notebook.history import HistoryError
from banyan.process import json_text
from banyan.restore.repeat import Repeated
from banyan.restore.show import Value, joined_pieces
from banyan.standalone.store import Chunks, LocalStore, MemoryStore, StoreError, StoreUnwritable
from banyan.state.changes import Changes, Detector
from banyan.state.serialise import LARGE_BLOCK, Pickled, Source, blocks_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from banyan.notebook import api

# The bytes of a block, or the digest and the size of a chunk in the store.
_Block = bytearray | tuple[str, int]

# The most bytes that the values of all commits may take. Beyond it, the oldest commits are forgotten.
_VALUES_MAX = 4 << 30
_VALUES_MAX_IN_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that has ended, or a change that is recorded as one."""

    code: str
    ok: bool = True
    count: int = 0
    runtime_us: int = 0
    ended_at_us: int = 0  # Microseconds since 1970.
    looks: bool = False  # Whether it makes no commit if it changed nothing.


@dataclass(frozen=True, slots=True)
class Repeat:
    """A cell that has to be repeated, and what has to be done before that.

    values: to be loaded.
    unbind: names to delete.
    fails: whether the cell failed when it ran first.
    makes: the co-variables that it made then, with the digests of their blocks.
    """

    values: list[Value]
    unbind: set[str]
    code: str
    fails: bool
    makes: list[dict[str, list[str]]]


class LocalHistory:
    """A session in this process. Its data is in the store, or in memory when the store cannot be written.

    Raises StoreError only where a docstring says so. Every call is made on the main thread.
    """

    def __init__(self, path: Path | None, say: Callable[[str], None]) -> None:
        """path: the store's file; None: no store. Raises StoreError when it is damaged, in use, or
        of another version.
        """
        self._say = say
        self._file: LocalStore | None = None
        self._written = False  # Whether steps are written to the file.
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
        """Where the history is kept; None when it is in memory."""
        return self._file.path if self._file is not None and self._written else None

    @property
    def size(self) -> int:
        """The size of the store's file, in bytes."""
        return self._file.size() if self._file is not None else 0

    @property
    def names(self) -> list[str]:
        """The variables at head."""
        return self._session.names

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def ask(self, question: api.Question) -> Any:
        """Answer a question (docs/internals/history.md). Raises HistoryError, which says what is wrong with it."""
        return self._answer(self._session.ask, question)

    def look(self, question: api.Question) -> Any:
        """Answer a question that changes nothing. The answer to any other question is empty, and has no effect."""
        return self._answer(self._session.look, question)

    def _answer(self, ask: Callable[[str], str], question: api.Question) -> Any:
        try:
            return json_text.decode(ask(_text(json_text.encode(question))) or "{}")
        except ValueError as error:
            raise HistoryError(str(error)) from None

    def commit(self, cell: Cell, changes: Changes) -> None:
        """Record a cell that has ended. The buffers in `changes` are not used afterwards."""
        step = self._session.commit(
            code=_text(cell.code),
            ok=cell.ok,
            count=cell.count,
            runtime_us=cell.runtime_us,
            ended_at_us=cell.ended_at_us,
            changed=[(pickled.names, _parts(pickled, changes.known)) for pickled in changes.changed],
            deleted=changes.deleted,
            failed=[failure.name for failure in changes.failed],
            alone=[failure.name for failure in changes.failed if failure.alone],
            reads=[_text(name) for name in changes.reads],
            reads_all=changes.reads_all,
            effects=[_text(effect) for effect in changes.effects],
            begun=[_text(work) for work in changes.begun],
            looks=cell.looks,
        )
        self._write(step)

    def restart(self) -> None:
        """Record that the namespace is empty, as in a new process."""
        self._write(self._session.restart())

    def next_repeat(self, detector: Detector) -> Repeat | None:
        """The next cell that has to be repeated before head can be loaded. None: only what `behind`
        returns is left to do.
        """
        found = self._session.next_repeat()
        if found is None:
            return None
        values, unbind, code, fails, makes = found
        return Repeat(
            [self._value(tuple(names), parts, detector) for names, parts in values], unbind, code, fails, makes
        )

    def repeated(self, result: Repeated) -> None:
        """Note what that cell has made."""
        self._session.repeated(result.made, result.changed, _text(result.error))

    def cannot_load(self, names: list[str], as_before: list[str]) -> None:
        """Note that the values of these names cannot be loaded; the names are unbound now.

        All other values have been loaded, except for `as_before`: names that show what they showed."""
        self._session.cannot_load(names, as_before)

    @property
    def lost(self) -> dict[str, str]:
        """Names at head whose values nothing brings back, and why."""
        return self._session.lost

    @property
    def unread(self) -> list[str]:
        """Names at head whose values are made when something reads them. They are unbound until then."""
        return self._session.unread

    def need(self, names: list[str]) -> None:
        """Let `next_repeat` make these, because something is about to read them."""
        self._session.need(names)

    def behind(self, detector: Detector) -> tuple[list[Value], list[str]]:
        """What makes the namespace a view of head: values to load, and names to delete.

        Blocks that the detector has of the same variables are not read from the store.
        """
        values, deleted = self._session.behind()
        return [self._value(tuple(names), parts, detector) for names, parts in values], sorted(deleted)

    def shows_head(self) -> None:
        """Note that the namespace is a view of head now, apart from what is lost."""
        self._session.shows_head()

    def damage(self) -> list[str]:
        """Read the whole store and return what is wrong with it. Raises StoreError when it cannot be read."""
        return [] if self._file is None else self._file.damage(self._session)

    def _value(self, names: tuple[str, ...], parts: list[list[_Block]], detector: Detector) -> Value:
        chunks = [block for part in parts for block in part if isinstance(block, tuple)]

        def found(block: _Block, here: dict[str, Source]) -> Buffer | Source:
            if not isinstance(block, tuple):
                return block
            digest, size = block
            return here[digest] if digest in here else self._chunks.read(bytes.fromhex(digest), size)

        def read() -> list[Buffer | list[Any]]:
            here = detector.blocks(names) if chunks else {}
            pieces = [[found(block, here) for block in part] for part in parts]
            return [
                part[0] if len(part) == 1 and isinstance(part[0], bytearray) else joined_pieces(part) for part in pieces
            ]

        return Value(names, frozenset(digest for digest, size in chunks if size >= LARGE_BLOCK), read)

    def _write(self, step: _native.LocalStep) -> None:
        try:
            self._chunks.write(step)
            if self._file is not None and self._written and self._file.wants_snapshot():
                self._file.shorten(self._session)
        except Exception as error:
            # Nothing more is written to the file, because a log may have no gaps.
            self._say(f"{error}; from here on the history is in memory only and ends with this kernel")
            self._written = False
            self._chunks = MemoryStore(self._file)
            self._chunks.write(step)


def _parts(pickled: Pickled, known: set[str]) -> list[list[Buffer | tuple[str, int]]]:
    blocks = blocks_of(pickled)
    return [
        [
            (digest, size) if digest in known else bytes_of()
            for digest, size, bytes_of in itertools.islice(blocks, len(part))
        ]
        for part in pickled.parts
    ]


def _text(text: str) -> str:
    return text.encode(errors="replace").decode()
