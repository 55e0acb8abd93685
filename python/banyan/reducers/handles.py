"""How handles are pickled for which a path or a copy can stand: files that are read or closed, databases in memory.

All others are refused, because what they write is no part of a commit.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import io
import os
import pickle
import sqlite3
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from banyan.reducers import closed, finished
from banyan.reducers.context_vars import reduce_context_var
from banyan.reducers.reducer import Pickling, Reducer

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The bits of what tell() of a text file returns that are the position. The others are its decoder's state.
_POSITION_BITS = 64


def _reduce_file(file: Any, _pickling: Pickling) -> Any:
    text = isinstance(file, io.TextIOWrapper)
    mode = getattr(file, "mode", None)
    # A closed text file without a mode is one over a compressed file, for example.
    if text and file.closed and not isinstance(mode, str):
        return closed.closed_text, (_name_of_closed(file), file.encoding, file.errors)
    if not isinstance(mode, str):  # A library has wrapped it.
        raise TypeError("cannot pickle an open file")
    buffering = 0 if isinstance(file, io.FileIO) else -1
    coding = (file.encoding, file.errors) if text else (None, None)
    if file.closed:
        return closed_file, (file.name, mode.replace("x", "w"), buffering, *coding)
    if "+" in mode or "r" not in mode or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise TypeError("cannot pickle an open file")
    if text and not any(isinstance(part, io.IncrementalNewlineDecoder) for part in gc.get_referents(file)):
        raise TypeError("cannot pickle an open file with line ends of its own")
    path = os.readlink(f"/proc/self/fd/{file.fileno()}")
    if not os.path.exists(path) or not os.path.samestat(os.stat(path), os.fstat(file.fileno())):
        raise TypeError("cannot pickle an open file that was removed")
    return open_file, (path, file.name, mode, buffering, *coding, file.tell())


def _name_of_closed(file: Any) -> Any:
    """The name of a closed file; None if it tells none, as those of bz2 and lzma from Python 3.13 on."""
    try:
        return file.name
    except (AttributeError, ValueError):
        return None


def open_file(
    path: str, name: Any, mode: str, buffering: int, encoding: str | None, errors: str | None, position: int
) -> Any:
    r"""The file, open for reading at `position`.

    Raises ValueError when it is shorter now, or has lines that end in '\r': whether the original read those as ends of
    lines cannot be known.
    """
    file: Any = open(path, mode, buffering, encoding, errors)  # noqa: SIM115
    _raw(file).name = name
    if os.fstat(file.fileno()).st_size < position & ((1 << _POSITION_BITS) - 1):
        raise ValueError(f"{path} is shorter than it was")
    if encoding is not None:
        with open(path, "rb") as whole:
            if any(b"\r" in part for part in iter(lambda: whole.read(1 << 20), b"")):
                raise ValueError(f"{path} has lines that end in \\r")
    file.seek(position)
    return file


def closed_file(name: Any, mode: str, buffering: int, encoding: str | None, errors: str | None) -> Any:
    file: Any = open(os.devnull, mode, buffering, encoding, errors)  # noqa: SIM115
    _raw(file).name = name
    file.close()
    return file


def _raw(file: Any) -> Any:
    while not isinstance(file, io.FileIO):
        file = file.buffer if isinstance(file, io.TextIOWrapper) else file.raw
    return file


# Settings of a connection that are not in its database.
_PRAGMAS = ("foreign_keys", "recursive_triggers")


def _reduce_connection(connection: sqlite3.Connection, _pickling: Pickling) -> Any:
    if type(connection) is not sqlite3.Connection:
        return NotImplemented
    if closed.is_closed_database(connection):
        return closed.closed_database, ()
    if connection.in_transaction:
        raise TypeError("cannot pickle a database with an open transaction")
    ask = _asker(connection)
    databases = ask("pragma database_list")
    if any(file or number > 1 for number, _, file in databases):
        raise TypeError("cannot pickle a connection to a database in a file")
    with contextlib.closing(sqlite3.connect(":memory:")) as plain:
        if _peculiarities(ask) != _peculiarities(_asker(plain)):
            raise TypeError("cannot pickle a database with functions, collations or temporary tables")
    if any(_converted(type_name) for (type_name,) in ask(_COLUMN_TYPES)):
        raise TypeError("cannot pickle a database with columns that may be converted")
    image, rest = _image(connection) if ask("pragma page_count")[0][0] else (b"", b"")
    settings = tuple(ask(f"pragma {name}")[0][0] for name in _PRAGMAS)
    parsed = len(_parsed_names(connection)) == 1
    factories = connection.row_factory, connection.text_factory
    made_of = (image, connection.isolation_level, parsed, settings, pickle.PickleBuffer(rest))
    return open_database, made_of, factories, None, None, set_factories


# The image of a database has a counter of changes of its schema at this place. A copy begins it anew, with this value.
_COUNTER, _FIRST = slice(40, 44), (1).to_bytes(4, "big")


def _image(connection: sqlite3.Connection) -> tuple[bytes, Buffer]:
    """The image of a database in two parts. It is the same for a database and for one that was loaded from it."""
    image = connection.serialize()
    return image[: _COUNTER.start] + _FIRST, memoryview(image)[_COUNTER.stop :]


_COLUMN_TYPES = "select c.type from sqlite_master as t, pragma_table_info(t.name) as c"


def _asker(connection: sqlite3.Connection) -> Callable[[str], list[Any]]:
    """A function that runs a query and returns plain rows, whatever kind of rows the user has set."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return lambda query: cursor.execute(query).fetchall()


def _peculiarities(ask: Callable[[str], list[Any]]) -> list[Any]:
    sources = ("pragma_function_list where builtin = 0", "pragma_collation_list", "sqlite_temp_master")
    return [ask(f"select count(*) from {source}") for source in sources]


def _converted(type_name: str | bytes) -> bool:
    """Whether a converter exists for columns of this declared type. Whether the connection uses it cannot be known."""
    words = type_name.decode() if isinstance(type_name, bytes) else type_name
    return words.split("(")[0].split(" ")[0].upper() in sqlite3.converters


def _parsed_names(connection: sqlite3.Connection) -> str:
    """The name of the column "c [t]". It is "c" if the connection takes types from the names of columns."""
    name: str = connection.execute('select null as "c [t]"').description[0][0]
    return name


def open_database(
    image: bytes, isolation_level: str | None, parsed: bool, settings: tuple[Any, ...], rest: Buffer = b""
) -> Any:
    """Make the database. rest: the second part of the image, which pickles of earlier versions do not have."""
    detect = sqlite3.PARSE_COLNAMES if parsed else 0
    connection = sqlite3.connect(":memory:", detect_types=detect, isolation_level=isolation_level)  # type: ignore[arg-type]
    if image:
        with contextlib.closing(
            sqlite3.connect(":memory:")
        ) as other:  # A database that was deserialised counts as one in a file.
            other.deserialize(b"".join((image, rest)))
            other.backup(connection)
    for name, value in zip(_PRAGMAS, settings, strict=True):
        connection.execute(f"pragma {name} = {value}")
    return connection


def set_factories(connection: sqlite3.Connection, factories: tuple[Any, Any]) -> None:
    connection.row_factory, connection.text_factory = factories


REDUCERS: dict[type, Reducer] = {
    **closed.REDUCERS,
    **finished.REDUCERS,
    sqlite3.Connection: _reduce_connection,
    contextvars.ContextVar: reduce_context_var,
    **dict.fromkeys(
        (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO), _reduce_file
    ),
}


def position_of(file: io.IOBase) -> tuple[object, ...]:
    """What reading from a file, or writing to it, changes, as far as it can be told."""
    try:
        return file.closed, file.tell()
    except (OSError, ValueError):  # The file is closed, or it has no position at this time.
        return (file.closed,)
