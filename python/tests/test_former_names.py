"""Modules of the package have moved; pickles name them as they did before, and are read as they were."""

from __future__ import annotations

import base64
import importlib
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import run_apart

from banyan.reducers import live
from banyan.state import serialise
from banyan.state.former_names import FORMER

# By the version before they moved: the functions and classes that its pickles can name, and pickles of single values,
# whose variable is `v`.
_BEFORE: dict[str, Any] = json.loads((Path(__file__).parent / "former_pickles.json").read_text())
_SEEN = {
    "small": lambda v: v.tolist() == [1.5, 2.5],
    "bytes": lambda v: v[1].tolist() == list(b"abcdef") and v[1].base is not None,
    "objects": lambda v: v.tolist() == [{"a": 1}, "b"],
    "closed_text": lambda v: v.closed,
    "closed_socket": lambda v: v.fileno() == -1,
    "closed_cursor": lambda v: type(v).__name__ == "Cursor",
    "spent": lambda v: list(v) == [] and v.__name__ == "spent",
    "future": lambda v: v.result() == 7,
    "thread": lambda v: v.name == "done" and not v.is_alive(),
    "cached": lambda v: v(-3) == 3 and v.cache_info().hits == 1,
    "variable": lambda v: v.name == "colour" and v.get() == "red",
    "handler": lambda v: v.level == 30,
    "live": lambda v: v is sys.path,
    "module": lambda v: v is json,
    "dead": lambda v: v() is None,
    "cell": lambda v: v.cell_contents == 5,
}


def _stored(kind: str) -> bytes:
    return base64.b64decode(_BEFORE["values"][kind]["pickle"])


@pytest.mark.parametrize("kind", _BEFORE["values"])
def test_a_pickle_of_before_is_read_and_written_as_it_was(kind: str) -> None:
    live.begin()
    values = serialise.load(_stored(kind), [])
    assert _SEEN[kind](values["v"])
    again = bytes(serialise.dump(values).pickle)
    assert {name for name in FORMER if name.encode() in again} == {
        name for name in FORMER if name.encode() in _stored(kind)
    }
    assert not any(today.encode() in again for today in FORMER.values())


def test_equal_values_have_equal_bytes_in_both_versions() -> None:
    for kind in ("small", "objects", "closed_text", "closed_socket", "spent", "variable", "module", "dead", "cell"):
        assert bytes(serialise.dump(serialise.load(_stored(kind), [])).pickle) == _stored(kind), kind


@pytest.mark.parametrize(("module", "names"), _BEFORE["names"].items())
def test_all_that_a_pickle_of_before_can_name_is_found(module: str, names: list[str]) -> None:
    for name in names:
        found = pickle.loads(f"c{module}\n{name}\n.".encode())
        assert found is getattr(importlib.import_module(FORMER[module]), name)


def test_each_former_name_is_that_of_a_module_of_today() -> None:
    for former, today in FORMER.items():
        assert importlib.import_module(former) is importlib.import_module(today)


def test_a_former_name_leaves_the_module_as_it_is_and_imports_nothing_before_it_is_asked_for() -> None:
    program = (
        "import sys; from banyan.state import serialise\n"
        "assert 'banyan.notebook.history' not in sys.modules\n"
        "import banyan.history as found\n"
        "print(found.__name__, found.__spec__.name, found is sys.modules['banyan.notebook.history'])\n"
    )
    assert run_apart(program) == b"banyan.notebook.history banyan.notebook.history True\n"
