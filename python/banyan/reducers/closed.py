"""How handles that were closed are pickled: nothing outside depends on them, so they are values.

What comes back is closed, too, and answers what a closed one answers: its name, the members of an archive. Compressed
files that are open for reading are opened anew at their position, as `handles.py` does for plain files.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import mmap
import os
import select
import socket
import sqlite3
import ssl
import stat
import sys
import tarfile
import tempfile
import threading
import types
import zipfile
from collections.abc import Mapping
from typing import Any

from banyan.reducers.reducer import Pickling, Reducer

# Attributes of open files only, by type: what reads, writes, compresses or guards them.
_NOT_KEPT = {
    gzip.GzipFile: frozenset({"fileobj", "myfileobj", "compress", "decompressor", "_buffer"}),
    zipfile.ZipFile: frozenset({"_lock", "fp"}),
    zipfile.ZipExtFile: frozenset({"_fileobj", "_decompressor", "_decrypter", "_readbuffer"}),
    zipfile._ZipWriteFile: frozenset({"_compressor", "_fileobj", "_zipfile"}),  # type: ignore[attr-defined]
    tarfile.TarFile: frozenset({"fileobj"}),
}
# By type: what these attributes hold in a closed file.
_INSTEAD: dict[type, dict[str, Any]] = {
    gzip.GzipFile: {"fileobj": None, "myfileobj": None},
    zipfile.ZipFile: {"fp": None},
    zipfile.ZipExtFile: {"_readbuffer": b""},
    tarfile.TarFile: {"fileobj": None},
}


def _reduce_archive(file: Any, _pickling: Pickling) -> Any:
    kind = type(file)
    if not _is_closed(file):
        return _reduce_open_gzip(file) if kind is gzip.GzipFile else NotImplemented
    kept = {name: value for name, value in vars(file).items() if name not in _NOT_KEPT[kind]}
    return closed_archive, (kind,), kept, None, None, set_closed_archive


def _is_closed(file: Any) -> bool:
    return file.fp is None if isinstance(file, zipfile.ZipFile) else bool(file.closed)


def closed_archive(kind: Any) -> Any:
    return kind.__new__(kind)


def set_closed_archive(file: Any, state: Mapping[str, Any]) -> None:
    vars(file).update(state, **_INSTEAD.get(type(file), {}))
    if isinstance(file, zipfile.ZipFile):
        file._lock = threading.RLock()  # type: ignore[attr-defined]


def _reduce_open_gzip(file: gzip.GzipFile) -> Any:
    raw: Any = file.fileobj
    path = _path_of(raw) if file.mode == gzip.READ and file.myfileobj is not None else None
    return NotImplemented if path is None else (open_compressed, ("gzip", path, file.name, file.tell()))


def _reduce_compressed(file: Any, _pickling: Pickling) -> Any:
    raw = file._fp
    if raw is None or not file._closefp or not file.readable():
        return NotImplemented
    path = _path_of(raw)
    return NotImplemented if path is None else (open_compressed, (type(file).__module__, path, None, file.tell()))


def _path_of(raw: Any) -> str | None:
    """The path of an open file, if that path still leads to the file; None otherwise."""
    try:
        opened = os.fstat(raw.fileno())
        path = os.readlink(f"/proc/self/fd/{raw.fileno()}")
        return path if stat.S_ISREG(opened.st_mode) and os.path.samestat(os.stat(path), opened) else None
    except (OSError, AttributeError, ValueError):
        return None


def open_compressed(module: str, path: str, name: str | None, position: int) -> Any:
    opener: Any = {"gzip": gzip.GzipFile, "bz2": bz2.BZ2File, "lzma": lzma.LZMAFile}[module]
    file = opener(path, "rb")
    if name is not None:
        file.name = name
    if file.seek(position) != position:
        raise ValueError(f"{path} is shorter than it was")
    return file


def _reduce_stream(stream: Any, _pickling: Pickling) -> Any:
    """For StringIO and BytesIO."""
    return (closed, (type(stream),)) if stream.closed else NotImplemented


def closed(kind: Any) -> Any:
    stream = kind()
    stream.close()
    return stream


def _reduce_member(file: Any, _pickling: Pickling) -> Any:
    """For what TarFile.extractfile returns."""
    return (closed_member, (file.name,)) if file.closed else NotImplemented


class _Named(io.BytesIO):
    name = ""


def closed_member(name: str) -> Any:
    archive: Any = types.SimpleNamespace(fileobj=_Named())
    archive.fileobj.name = name
    file = tarfile.ExFileObject(archive, tarfile.TarInfo(name))
    file.close()
    return file


def closed_text(name: str | None, encoding: str, errors: str) -> Any:
    """A closed text file without a mode, such as one over a compressed file."""
    raw: Any = io.BytesIO()
    if name is not None:
        raw = _Named()
        raw.name = name
    text = io.TextIOWrapper(raw, encoding, errors)
    text.close()
    return text


def _reduce_temporary(wrapper: Any, _pickling: Pickling) -> Any:
    file = vars(wrapper)["file"]
    if not file.closed:
        raise TypeError("cannot pickle an open file")
    return closed_temporary, (file, wrapper.name)


def closed_temporary(file: Any, name: str) -> Any:
    wrapper: Any = tempfile._TemporaryFileWrapper(file, name, False)
    if sys.version_info < (3, 12):  # From Python 3.12 on, only the closer has this attribute.
        wrapper.delete = True
    wrapper._closer.delete = False  # Another file may have the name now, which this object must not remove.
    wrapper._closer.close_called = True
    return wrapper


def removed_folder(name: str) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder that was cleaned up."""
    folder = tempfile.TemporaryDirectory()
    folder.cleanup()
    folder.name = name
    return folder


def _reduce_map(memory: mmap.mmap, _pickling: Pickling) -> Any:
    return (closed_map, ()) if memory.closed else NotImplemented


def closed_map() -> mmap.mmap:
    memory = mmap.mmap(-1, 1)
    memory.close()
    return memory


def _reduce_socket(end: socket.socket, _pickling: Pickling) -> Any:
    kind = type(end)
    return (closed_socket, (kind, int(end.family), int(end.type), end.proto)) if end.fileno() < 0 else NotImplemented


def closed_socket(cls: Any, family: int, kind: int, protocol: int) -> Any:
    end = cls.__new__(cls, family, kind, protocol)
    socket.socket.__init__(end, family, kind, protocol)
    end.close()
    return end


def _reduce_cursor(cursor: sqlite3.Cursor, _pickling: Pickling) -> Any:
    return (closed_cursor, (cursor.connection,)) if is_closed_database(cursor.connection) else NotImplemented


def is_closed_database(connection: sqlite3.Connection) -> bool:
    try:
        _ = connection.total_changes
    except sqlite3.ProgrammingError as error:
        return "closed" in str(error)
    return False


def closed_database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.close()
    return connection


def closed_cursor(connection: sqlite3.Connection) -> sqlite3.Cursor:
    return sqlite3.Cursor(connection)


def _reduce_poll(poll: Any, _pickling: Pickling) -> Any:
    return (closed, (type(poll),)) if poll.closed else NotImplemented


def _reduce_dbm(database: Any, _pickling: Pickling) -> Any:
    try:
        database.keys()
    except Exception:
        return closed_dbm, (type(database).__module__,)
    return NotImplemented


def closed_dbm(module: str) -> Any:
    name = {"_dbm": "dbm.ndbm", "_gdbm": "dbm.gnu"}[module]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        __import__(name)
        database = sys.modules[name].open(f"{folder}/closed", "n")
        database.close()
    return database


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for types of modules that must not be imported in order to ask. None for others."""
    if kind.__module__ in ("_dbm", "_gdbm"):
        return _reduce_dbm
    if issubclass(kind, (codecs.StreamReaderWriter, codecs.StreamReader, codecs.StreamWriter)):
        return _reduce_codec
    h5py: Any = sys.modules.get("h5py")
    if h5py is not None and kind.__module__.startswith("h5py.") and kind in _of_h5py(h5py):
        return _reduce_h5py
    return None


def _reduce_codec(stream: Any, _pickling: Pickling) -> Any:
    """For what codecs.open returns. It passes what it lacks on to the file under it, and can be pickled
    if that file can.
    """
    return closed_archive, (type(stream),), dict(vars(stream)), None, None, set_closed_archive


def _of_h5py(h5py: Any) -> tuple[type, ...]:
    return h5py.File, h5py.Group, h5py.Dataset


def _reduce_h5py(handle: Any, _pickling: Pickling) -> Any:
    return NotImplemented if handle else (closed_h5py, (type(handle).__name__,))


def closed_h5py(kind: str) -> Any:
    import h5py  # type: ignore[import-not-found]

    with h5py.File("closed", "w", driver="core", backing_store=False) as file:
        if kind == "Group":
            return file.create_group("g")
        return file if kind == "File" else file.create_dataset("d", (1,))


REDUCERS: dict[type, Reducer] = {
    **dict.fromkeys(_NOT_KEPT, _reduce_archive),
    **dict.fromkeys((bz2.BZ2File, lzma.LZMAFile), _reduce_compressed),
    **dict.fromkeys((io.StringIO, io.BytesIO), _reduce_stream),
    **dict.fromkeys((socket.socket, ssl.SSLSocket), _reduce_socket),
    tarfile.ExFileObject: _reduce_member,
    tempfile._TemporaryFileWrapper: _reduce_temporary,
    mmap.mmap: _reduce_map,
    sqlite3.Cursor: _reduce_cursor,
    select.epoll: _reduce_poll,
}
