"""Handles that were closed and work that is done are values: they come back as they were, closed and done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from banyan.state.serialise import Unserialisable, dump, load

IMPORTS = """
import asyncio, bz2, codecs, concurrent.futures, dbm.dumb, gzip, io, lzma, mmap, multiprocessing, os, select, selectors
import shelve, socket, sqlite3, ssl, subprocess, tarfile, tempfile, threading, time, zipfile
with open('text', 'w') as f: f.write('one\\ntwo\\n')
for opener in (gzip, bz2, lzma):
    with opener.open(opener.__name__, 'wt') as f: f.write('one\\ntwo\\n')
with zipfile.ZipFile('zip', 'w') as f: f.write('text')
with tarfile.open('tar', 'w') as f: f.add('text')
with tarfile.open('tgz', 'w:gz') as f: f.add('text')
del f
"""

# What makes `x`, and what is to be the same afterwards. Each of these expressions may raise.
CLOSED = {
    "gzip": ("with gzip.open('gzip') as x: x.read()", "x.closed, x.name, x.mode"),
    "gzip for writing": ("with gzip.open('new', 'wb') as x: x.write(b'x')", "x.closed, x.name, x.mode"),
    "gzip of text": ("with gzip.open('gzip', 'rt') as x: x.read()", "x.closed, x.name"),
    "bz2": ("with bz2.open('bz2') as x: x.read()", "x.closed"),
    "bz2 for writing": ("with bz2.open('new', 'wt') as x: x.write('x')", "x.closed"),
    "lzma": ("with lzma.open('lzma', 'rt') as x: x.read()", "x.closed"),
    "zip": ("with zipfile.ZipFile('zip') as x: x.read('text')", "x.namelist(), x.filename, x.mode, x.fp"),
    "zip for writing": ("with zipfile.ZipFile('new', 'w') as x: x.write('text')", "x.namelist(), x.filename, x.fp"),
    "member of a zip": ("with zipfile.ZipFile('zip') as z, z.open('text') as x: x.read()", "x.closed, x.name"),
    "tar": ("with tarfile.open('tar') as x: x.getnames()", "x.closed, x.name, x.getnames()"),
    "compressed tar": ("with tarfile.open('tgz', 'r:gz') as x: x.getnames()", "x.closed, x.name"),
    "tar for writing": ("with tarfile.open('new', 'w:gz') as x: x.add('text')", "x.closed, x.name"),
    "tar as a stream": ("with tarfile.open('tgz', 'r|gz') as x: list(x)", "x.closed, x.name"),
    "member of a tar": ("with tarfile.open('tar') as t, t.extractfile('text') as x: x.read()", "x.closed, x.name"),
    "named temporary file": ("with tempfile.NamedTemporaryFile() as x: x.write(b'x')", "x.closed, x.name, x.delete"),
    "temporary file": ("with tempfile.TemporaryFile('w') as x: x.write('x')", "x.closed"),
    "spooled file": ("with tempfile.SpooledTemporaryFile() as x: x.write(b'x')", "x.closed"),
    "temporary folder": ("x = tempfile.TemporaryDirectory(); x.cleanup()", "x.name, os.path.exists(x.name)"),
    "StringIO": ("x = io.StringIO('x'); x.close()", "x.closed"),
    "BytesIO": ("x = io.BytesIO(b'x'); x.close()", "x.closed"),
    "mmap": ("x = mmap.mmap(-1, 10); x.close()", "x.closed"),
    "socket": ("x = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); x.close()", "x.fileno(), x.family, x.type"),
    "socket with TLS": (
        "x = ssl.create_default_context().wrap_socket(socket.socket(), server_hostname='x'); x.close()",
        "x.fileno(), x.family",
    ),
    "database": ("x = sqlite3.connect(':memory:'); x.close()", "x.execute('select 1')"),
    "database in a file": ("x = sqlite3.connect('db'); x.close()", "x.cursor()"),
    "cursor": ("c = sqlite3.connect(':memory:'); x = c.execute('select 1'); c.close()", "x.fetchone()"),
    "shelf": ("x = shelve.open('shelf'); x['a'] = 1; x.close()", "x['a']"),
    "dbm": ("x = dbm.open('dbm', 'c'); x.close()", "x.keys()"),
    "dbm.dumb": ("x = dbm.dumb.open('dumb', 'c'); x.close()", "x.keys()"),
    "epoll": ("x = select.epoll(); x.close()", "x.closed"),
    "selector": ("x = selectors.DefaultSelector(); x.close()", "x.get_map()"),
    "codecs": ("with codecs.open('text', 'r', 'utf-8') as x: x.read()", "x.closed"),
    "process": ("x = subprocess.Popen(['false'], stdout=-1); x.communicate()", "x.returncode, x.poll(), x.pid, x.args"),
    "thread": (
        "x = threading.Thread(target=int, name='n', daemon=True); x.extra = 1; x.start(); x.join()",
        "x.is_alive(), x.name, x.daemon, x.extra, x.join()",
    ),
    "child of multiprocessing": (
        "x = multiprocessing.get_context('fork').Process(target=int, name='n'); x.start(); x.join()",
        "x.exitcode, x.is_alive(), x.name, x.pid, x.join()",
    ),
    "future": ("x = concurrent.futures.Future(); x.set_result([1])", "x.done(), x.result()"),
    "failed future": ("x = concurrent.futures.Future(); x.set_exception(KeyError(1))", "repr(x.exception())"),
    "cancelled future": ("x = concurrent.futures.Future(); x.cancel()", "x.cancelled(), x.done()"),
    "executor": ("x = concurrent.futures.ThreadPoolExecutor(3); x.submit(int); x.shutdown()", "x.submit(int)"),
    "executor without calls": (
        "x = concurrent.futures.ThreadPoolExecutor(3, 'p')",
        "x._max_workers, x.submit(int).result()",
    ),
    "executor that is idle": (
        "x = concurrent.futures.ThreadPoolExecutor(3, 'p'); x.submit(int).result(); x.submit(int).result()",
        "x._max_workers, x._thread_name_prefix, x.submit(int).result()",
    ),
    "generator": ("x = (i for i in 'ab'); list(x)", "list(x), x.__name__"),
    "gzip that is read": ("x = gzip.open('gzip'); x.readline()", "x.tell(), x.readline(), x.read(), x.name"),
    "bz2 that is read": ("x = bz2.open('bz2'); x.readline()", "x.tell(), x.readline(), x.read()"),
    "lzma that is read": ("x = lzma.open('lzma'); x.readline()", "x.tell(), x.readline(), x.read()"),
}

OPEN = {
    "gzip for writing": "x = gzip.open('new', 'wb')",
    "zip": "x = zipfile.ZipFile('zip')",
    "named temporary file": "x = tempfile.NamedTemporaryFile()",
    "mmap": "x = mmap.mmap(-1, 10)",
    "socket": "x = socket.socket()",
    "cursor": "x = sqlite3.connect(':memory:').cursor()",
    "process": "x = subprocess.Popen(['sleep', '1'])",
    "thread": "e = threading.Event(); x = threading.Thread(target=e.wait, args=(1,), daemon=True); x.start()",
    "future": "x = concurrent.futures.Future()",
    "executor that works": "x = concurrent.futures.ThreadPoolExecutor(1); x.submit(time.sleep, 1)",
    "executor with calls": "x = concurrent.futures.ThreadPoolExecutor(1); [x.submit(time.sleep, 1) for _ in 'ab']",
    "executor whose threads begin with a function": "x = concurrent.futures.ThreadPoolExecutor(1, initializer=int)",
    "executor whose threads begin with a lambda": "x = concurrent.futures.ThreadPoolExecutor(1, initializer=lambda: 1)",
    "generator": "x = (i for i in 'ab'); next(x)",
    "gzip over what was removed": "x = gzip.open('gzip'); os.remove('gzip')",
}


def made(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {}
    exec(IMPORTS + code, namespace)
    return namespace


def answers(expressions: str, namespace: dict[str, Any]) -> list[object]:
    found: list[object] = []
    for expression in expressions.split(", "):
        try:
            found.append(eval(expression, namespace))
        except Exception as error:
            found.append((type(error), str(error)))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("code", "expressions"), CLOSED.values(), ids=CLOSED)
def test_it_comes_back_as_it_was(code: str, expressions: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = made(code, tmp_path, monkeypatch)
    pickled = dump({"x": namespace["x"]})
    loaded = load(pickled.pickle, [bytearray(bytes(buffer)) for buffer in pickled.buffers])["x"]
    assert type(loaded) is type(namespace["x"])
    assert dump({"x": loaded}).fingerprint == pickled.fingerprint
    assert answers(expressions, {**namespace, "x": loaded}) == answers(expressions, namespace)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", OPEN.values(), ids=OPEN)
def test_one_that_is_open_is_none(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unserialisable):
        dump({"x": made(code, tmp_path, monkeypatch)["x"]})
