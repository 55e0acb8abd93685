"""Descriptions of two namespaces are equal if, and only if, their values and the sharing between these are equal."""

import itertools
import sqlite3
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from _compare import difference, layout_difference
from _describe import describe, yields

Make = Callable[[], dict[str, Any]]


def _made(code: str) -> dict[str, Any]:
    """The namespace of a notebook after this cell."""
    namespace: dict[str, Any] = {"__name__": "__main__", "np": np, "pd": pd}
    exec(code, namespace)
    return namespace


def _same(left: dict[str, Any], right: dict[str, Any]) -> str:
    return difference(describe(left), describe(right))


_CELLS = (
    "a = [1, {'k': (2, 3)}]; b = a; a.append(a)",
    "x = np.arange(12.0).reshape(3, 4); y = x[1:]; z = x.T",
    "f = pd.DataFrame({'n': [1, 2], 's': ['a', None], 'c': pd.Categorical(['u', 'v'])}); s = f['n']",
    "class C:\n    held = []\n    def __init__(self): self.me = self\nc = C(); put = c.held.append",
    "def make():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up\n"
    "up = make(); up()",
    "g = (n * n for n in range(9)); next(g); i = iter([1, 2])",
    "r = np.random.default_rng(3); r.normal(); o = np.array([[], 1], dtype=object)",
    "d = pd.date_range('2024-01-01', periods=3, tz='UTC'); m = pd.MultiIndex.from_product([[1, 2], ['a', 'b']])",
    "import functools\n@functools.cache\ndef h(n): return n\nh(1); p = functools.partial(h, 2)",
)


@pytest.mark.parametrize("code", _CELLS)
def test_the_same_cell_gives_the_same_description(code: str) -> None:
    left, right = _made(code), _made(code)
    assert _same(left, right) == ""
    assert difference(yields(left), yields(right)) == ""


_PAIRS = {
    "a value": ("a = [1, 2]", "a = [1, 3]"),
    "a type": ("a = 1", "a = True"),
    "a type of a number": ("a = np.float64(1)", "a = 1.0"),
    "sharing": ("a = []; b = a", "a = []; b = []"),
    "sharing within": ("a = [[], []]", "a = [[]] * 2"),
    "a cycle": ("a = []; a.append(a)", "a = []; a.append([a])"),
    "order of a dict": ("a = {1: 2, 3: 4}", "a = {3: 4, 1: 2}"),
    "a view": ("a = np.zeros(9); b = a[2:]", "a = np.zeros(9); b = a[2:].copy()"),
    "where a view begins": ("a = np.zeros(9); b = a[2:4]", "a = np.zeros(9); b = a[3:5]"),
    "dtype": ("a = np.zeros(2)", "a = np.zeros(2, dtype='f4')"),
    "a column": ("a = pd.DataFrame({'x': [1, 2]})", "a = pd.DataFrame({'x': [1, 4]})"),
    "dtype of a column": ("a = pd.Series(['x'])", "a = pd.Series(['x'], dtype=object)"),
    "an index": ("a = pd.Series([1, 2])", "a = pd.Series([1, 2], index=[1, 0])"),
    "an array in a frame": (
        "x = np.zeros((2, 2)); f = pd.DataFrame(x, copy=False); v = f.to_numpy()",
        "x = np.zeros((2, 2)); f = pd.DataFrame(x, copy=True); v = f.to_numpy().copy()",
    ),
    "code": ("def f(): return 1", "def f(): return 2"),
    "a default": ("def f(a=[]): pass", "def f(a=[1]): pass"),
    "a closure's cell": (
        "def m():\n    n = []\n    return (lambda: n), (lambda: n)\na, b = m()",
        "def m():\n    n = []\n    return lambda: n\na, b = m(), m()",
    ),
    "state of an instance": ("class C: pass\nc = C(); c.x = 1", "class C: pass\nc = C(); c.x = 2"),
    "what a class holds": ("class C: x = []", "class C: x = [1]"),
    "two classes of one name": ("class C: pass\nc = C()\nclass C: pass", "class C: pass\nc = C()"),
    "a generator's position": ("g = (n for n in 'abc')", "g = (n for n in 'abc'); next(g)"),
    "a state of chance": ("r = np.random.default_rng(1)", "r = np.random.default_rng(1); r.random()"),
    "a cache": (
        "import functools\n@functools.cache\ndef f(n): return n",
        "import functools\n@functools.cache\ndef f(n): return n\nf(1)",
    ),
    "a name": ("a = 1; b = 2", "a = 1"),
}


@pytest.mark.parametrize("left, right", _PAIRS.values(), ids=_PAIRS)
def test_what_differs_is_told(left: str, right: str) -> None:
    assert _same(_made(left), _made(right)) != ""


def test_the_globals_of_a_function() -> None:
    left, right = _made("n = 1\ndef f(): return n"), _made("n = 1\ndef f(): return n")
    right["f"] = types.FunctionType(right["f"].__code__, dict(right))
    assert "globals" in _same(left, right)


def test_iterators_give_what_is_left() -> None:
    one, other = iter("abcd"), iter("abcd")
    next(other)
    assert "the end" in str(yields({"i": itertools.islice(one, 2)}))
    assert difference(yields({"i": one}), yields({"i": other})) != ""


def test_a_layout_alone_is_told_apart() -> None:
    left, right = {"a": np.asfortranarray(np.eye(3))}, {"a": np.eye(3)}
    assert _same(left, right) == ""
    assert "strides" in layout_difference(describe(left), describe(right))


def test_things_of_the_process() -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (n)")
    lock = threading.Lock()
    before = describe({"db": db, "lock": lock})
    with lock:
        assert "lock" in difference(before, describe({"db": db, "lock": lock}))
    db.execute("INSERT INTO t VALUES (1)")
    assert "db" in difference(before, describe({"db": db, "lock": lock}))
    db.close()
    assert "closed" in str(describe({"db": db})).lower()


def test_names_of_the_shell_and_outputs_are_none() -> None:
    assert describe({"_": 1, "_12": 2, "In": [], "__name__": "x", "_own": 3}, hidden=["In"]) == [("_own", "3")]
