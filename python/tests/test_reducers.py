"""Values that need more than their own way of pickling: what is loaded is what was there, or the refusal says why."""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import functools
import http.client
import importlib
import io
import sqlite3
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy
import pytest
from test_pickler import again, parts

from banyan.reducers import corrections, handles
from banyan.state import functions, serialise


def refused(value: object) -> str:
    with pytest.raises(serialise.Unserialisable) as refusal:
        serialise.dump({"x": value})
    return str(refusal.value)


def of_a_cell(code: str) -> dict[str, Any]:
    """The names that a cell binds."""
    module = types.ModuleType("__main__")
    exec(code, module.__dict__)
    return module.__dict__


@pytest.mark.parametrize("mode", ["r", "rb"])
def test_a_file_that_is_read_is_open_again_at_its_position(tmp_path: Path, mode: str) -> None:
    name = str(tmp_path / "data")
    Path(name).write_text("ein\nzwei\ndrei\n")
    with open(name, mode) as file:
        file.readline()
        with again(file) as copy:
            assert (copy.name, copy.mode, copy.tell(), copy.read()) == (name, mode, 4, file.read())
    assert again(file).closed
    assert (again(file).name, again(file).mode) == (name, mode)


def test_a_file_that_is_written_removed_or_shorter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with path.open("w+") as file:
        assert refused(file) == "cannot pickle an open file"
        file.write("text")
    with path.open() as file:
        file.read()
        pickled = serialise.dump({"x": file})
        path.write_text("t")
        with pytest.raises(ValueError, match="shorter"):
            serialise.load(pickled.pickle, pickled.buffers)
        path.write_text("one\rtwo")
        with pytest.raises(ValueError, match="lines"):
            serialise.load(pickled.pickle, pickled.buffers)
        path.unlink()
        assert "removed" in refused(file)


def test_a_database_that_was_loaded_pickles_as_it_did() -> None:
    base = sqlite3.connect(":memory:")
    for name in "abc":
        base.execute(f"create table {name} (n integer)")
    base.commit()
    copy = again(base)
    for each in (base, copy):
        with each:
            each.executemany("insert into a values (?)", [(n,) for n in range(1000)])
            each.execute("create index i on a (n)")
            each.execute("drop table b")
    assert copy.execute("select count(*), sum(n) from a").fetchall() == [(1000, 499500)]
    assert serialise.dump({"x": copy}).parts == serialise.dump({"x": base}).parts


def test_a_database_of_several_blocks_and_one_that_an_earlier_version_pickled() -> None:
    base = sqlite3.connect(":memory:")
    base.execute("create table t (v)")
    base.executemany("insert into t values (?)", [(str(number) * 20,) for number in range(10_000)])
    base.commit()
    pickled = serialise.dump({"x": base})
    assert max(map(len, pickled.parts)) > 1
    assert parts(again(base)) == pickled.parts
    earlier = handles.open_database(base.serialize(), "", False, (0, 0))
    assert parts(earlier) == pickled.parts


def test_a_database_in_memory(tmp_path: Path) -> None:
    base = sqlite3.connect(":memory:", isolation_level=None)
    assert again(base).execute("select count(*) from sqlite_master").fetchall() == [(0,)]
    base.execute("create table t (v)")
    base.execute("insert into t values (7)")
    base.execute("pragma foreign_keys = 1")
    base.row_factory = sqlite3.Row
    assert parts(base) == parts(base) == parts(again(base))
    copy = again(base)
    assert (copy.isolation_level, copy.row_factory) == (None, sqlite3.Row)
    assert [tuple(row) for row in copy.execute("select v, foreign_keys from t, pragma_foreign_keys")] == [(7, 1)]
    base.execute("begin")
    base.execute("insert into t values (8)")
    assert "transaction" in refused(base)


@pytest.mark.parametrize(
    "change",
    [
        lambda base: base.execute("create temporary table u (v)"),
        lambda base: base.execute("create table u (v timestamp)"),
        lambda base: base.create_function("double", 1, abs),
        lambda base: base.execute("attach ':memory:' as other"),
    ],
)
def test_what_a_database_in_memory_cannot_take_along_is_refused(change: Callable[[sqlite3.Connection], Any]) -> None:
    base = sqlite3.connect(":memory:")
    change(base)
    assert "cannot pickle a" in refused(base)


def test_a_connection_to_a_file_is_refused(tmp_path: Path) -> None:
    assert "in a file" in refused(sqlite3.connect(tmp_path / "base"))


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("maxsize", [None, 3])
def test_a_cache_holds_what_it_held(maxsize: int | None, typed: bool) -> None:
    scope = of_a_cell("def plain(*args, **keywords): return [args, keywords]")
    cached = functools.lru_cache(maxsize, typed)(scope["plain"])
    for arguments, keywords in [((1,), {}), (("x",), {}), ((1, 2), {"b": 3, "c": 4}), ((), {"b": 1}), ((), {})]:
        cached(*arguments, **keywords)
    copy, result = again([cached, cached(1, 2, b=3, c=4)])
    held = copy.cache_info().currsize
    assert held == cached.cache_info().currsize
    assert copy(1, 2, b=3, c=4) is result
    assert (copy(), copy(b=1)) == (cached(), cached(b=1))
    assert copy.cache_info().currsize == held
    assert copy("new") == [("new",), {}]
    assert (copy.cache_parameters(), copy.__name__) == (cached.cache_parameters(), "plain")


def test_a_cache_that_cannot_be_pickled_is_empty() -> None:
    cached = functools.cache(of_a_cell("def number(n): return (i for i in range(n))")["number"])
    cached(3)
    assert again(cached).cache_info().currsize == 0
    assert list(again(cached)(3)) == [0, 1, 2]


class Owned(list[Any]):
    """As a library's: taking in items needs an attribute."""

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def append(self, item: Any) -> None:
        super().append((self.owner, item))

    def extend(self, items: Any) -> None:
        for item in items:
            self.append(item)


def test_a_container_with_ways_of_its_own_to_take_in_items() -> None:
    owned = Owned("me")
    owned.append(1)
    assert (again(owned), again(owned).owner) == ([("me", 1)], "me")


def test_sentinels_are_themselves() -> None:
    assert again(http.client.HTTPConnection("a")).timeout is http.client.HTTPConnection("a").timeout
    assert again(dataclasses.MISSING) is dataclasses.MISSING
    assert type(again(object())) is object
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=argparse.SUPPRESS)
    assert vars(again(parser).parse_args([])) == {}


def test_attributes_that_pickling_loses() -> None:
    class Tagged(numpy.ndarray[Any, Any]):
        tag = ""

    array = numpy.zeros(3).view(Tagged)
    array.tag = "a"
    assert (again(array).tag, again(array).tolist()) == ("a", [0, 0, 0])
    function: Any = staticmethod(len)
    function.note = 1
    assert (again(function).note, again(function)("ab")) == (1, 2)
    assert list(again((ctypes.c_int * 3)(1, 2, 3))) == [1, 2, 3]


def test_a_property_that_is_worked_out_once() -> None:
    scope = of_a_cell(
        "import functools\nclass Once:\n    @functools.cached_property\n    def value(self): return [1]\nonce = Once()"
    )
    assert again(scope["once"]).value == [1]


def test_a_folder_that_goes_with_its_owner_is_refused() -> None:
    folder = tempfile.TemporaryDirectory()
    assert refused(folder) == "cannot pickle a temporary directory"
    folder.cleanup()


def test_a_class_that_brings_back_another_value_is_refused() -> None:
    code = "class Wrong:\n    def __init__(self, v): self.v = v\n    def __reduce__(self): return Wrong, (%s,)"
    wrong = of_a_cell(code % "0")["Wrong"](5)
    assert refused([wrong]).startswith("comes back with another v")
    right = of_a_cell(code % "self.v")["Wrong"](5)
    assert again(right).v == 5


def test_attributes_of_the_members_of_an_enum() -> None:
    scope = of_a_cell("import enum\nclass Colour(enum.Enum):\n    RED = 1\nColour.RED.note = 'a'")
    colour = scope["Colour"]
    pickled = serialise.dump({"Colour": colour})
    colour.RED.note, colour.RED.other = "b", 1
    assert parts(colour) != pickled.parts
    serialise.load(pickled.pickle, pickled.buffers)
    assert (colour.RED.note, hasattr(colour.RED, "other")) == ("a", False)


def test_sentinel_is_no_name_of_a_cell() -> None:
    mine = object()
    assert corrections.sentinel(mine) is None


def test_sentinels_of_modules_that_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    assert corrections.sentinel(object()) is None
    late: Any = types.ModuleType("late")
    late.NOTHING = object()
    monkeypatch.setitem(sys.modules, "late", late)
    assert corrections.sentinel(late.NOTHING) == ("late", "NOTHING")


def test_the_order_of_imports_is_no_part_of_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = of_a_cell("import email\ndef parse(text): return email.message, email.mime.text, text.absent")
    monkeypatch.setattr(serialise, "_namespace", scope)
    for name in ("email.message", "email.mime.text"):
        importlib.import_module(name)
    first = parts(scope["parse"])
    monkeypatch.setattr(sys, "modules", dict(reversed(sys.modules.items())))
    assert parts(scope["parse"]) == first
    _, own = functions.state_of(scope["parse"], {"email"})
    assert [module.__name__ for module in own["_cloudpickle_submodules"]] == [
        *("email.message", "email.mime", "email.mime.text"),
    ]


def test_a_function_holds_what_cloudpickle_says_it_holds() -> None:
    scope = of_a_cell(
        "import email\ndef outer(package):\n    def inner(a, b=[1], *, c: int = 2):\n"
        "        'says'\n        return package.message, missing\n    return inner\n    missing = 0\n"
        "inner = outer(email)\ninner.note = 'a'"
    )
    attributes, own = functions.state_of(scope["inner"], {"inner"})
    expected, slots = cloudpickle.cloudpickle._function_getstate(scope["inner"])
    slots |= {"__closure__": None, "__globals__": None}
    assert (attributes, list(own), own) == (expected, list(slots), slots)


def test_standard_streams_and_buffers_stay_as_they_are() -> None:
    text = io.StringIO("one\ntwo")
    text.readline()
    assert again(text).read() == "two"


@pytest.mark.parametrize("kind", [object, float, "M8[s]"])
def test_an_empty_view_that_cannot_be_written(kind: Any) -> None:
    view = numpy.broadcast_to(numpy.empty((2, 0), kind), (3, 2, 0))
    copy = again(view)
    assert (copy.shape, copy.dtype, copy.flags.writeable) == ((3, 2, 0), view.dtype, False)
