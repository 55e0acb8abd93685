"""Reports, applied to another namespace, make it isomorphic: equal values and the same sharing, after any cells."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banyan.state import serialise
from banyan.state.access import analyse
from banyan.state.changes import Changes
from banyan.state.detect import DigestDetector

NAMES = ["a", "b", "c", "d"]


class Session:
    """A namespace with its detector, and a follower that knows only the reports."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {"__builtins__": __builtins__, "numpy": numpy}
        self.follower: dict[str, Any] = dict(self.namespace)
        self.detector = DigestDetector(self.namespace, dict(self.namespace))
        serialise.bind_namespace(self.namespace)

    def run(self, code: str) -> Changes:
        try:
            exec(code, self.namespace)
        except Exception as error:
            assert not isinstance(error, SyntaxError), code
        changes = self.detector.changes(analyse(code, str))
        for name in changes.deleted:
            self.follower.pop(name, None)
        for pickled in changes.changed:
            self.follower.update(serialise.load(bytes(pickled.pickle), [bytearray(bytes(b)) for b in pickled.buffers]))
        return changes

    def check(self) -> None:
        assert_isomorphic(self.namespace, self.follower)


def assert_isomorphic(left: Any, right: Any) -> None:
    """Walk both in step; mutable objects and the memory of arrays correspond one to one."""
    forward: dict[int, int] = {}
    backward: dict[int, int] = {}
    pending = [(left, right)]
    while pending:
        x, y = pending.pop()
        assert type(x) is type(y), (x, y)
        if isinstance(x, types.FunctionType):
            assert x.__code__ == y.__code__
            continue
        if type(type(x)) is type and type(x).__qualname__ in ("Odd", "C"):
            pending.append((vars(x), vars(y)))
            continue
        if not isinstance(x, (list, dict, set, tuple, numpy.ndarray)):
            assert x == y or isinstance(x, (functools.partial, types.GeneratorType, type))
            continue
        if not isinstance(x, tuple):
            seen = id(x) in forward
            assert forward.setdefault(id(x), id(y)) == id(y), "one object became two"
            assert backward.setdefault(id(y), id(x)) == id(x), "two objects became one"
            if seen:
                continue
        match x:
            case dict():
                assert list(x) == list(y) or x is left
                pending += [(x[key], y[key]) for key in x if key != "__builtins__"]
                assert x.keys() == y.keys()
            case set():
                assert x == y
            case numpy.ndarray():
                assert (x.shape, x.strides, x.dtype) == (y.shape, y.strides, y.dtype)
                pending += zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
                memory, twin = owner(x), owner(y)
                assert forward.setdefault(-id(memory), -id(twin)) == -id(twin), "memory is shared otherwise"
                assert backward.setdefault(-id(twin), -id(memory)) == -id(memory), "memory is shared otherwise"
            case _:
                assert len(x) == len(y)
                pending += zip(x, y, strict=True)


def owner(array: Any) -> Any:
    """The array at the end of a chain of views."""
    while array.base is not None and hasattr(array.base, "base"):
        array = array.base
    return array


name = st.sampled_from(NAMES)
atom = st.sampled_from(["1", "'t'", "None", "2.5", "(1, 2)"])
fresh = st.one_of(
    atom,
    st.builds("[{}, {}]".format, st.one_of(atom, name), st.one_of(atom, name)),
    st.builds("{{'k': {}}}".format, name),
    st.builds("({}, [{}])".format, name, atom),
    st.sampled_from(["numpy.arange(6)", "{1, 2}", "[]", "{}"]),
)
statement = st.one_of(
    st.builds("{} = {}".format, name, st.one_of(fresh, name)),
    st.builds("{}.append({})".format, name, st.one_of(atom, name)),
    st.builds("{}['k'] = {}".format, name, st.one_of(atom, name)),
    st.builds("{}[0] = {}".format, name, st.one_of(atom, name)),
    st.builds("{} = {}[1:]".format, name, name),
    st.builds("{} = {}[0]".format, name, name),
    st.builds("{} = {}['k']".format, name, name),
    st.builds("{} = list({})".format, name, name),
    st.builds("{0}, {1} = {1}, {0}".format, name, name),
    st.builds("{}.clear()".format, name),
    st.builds("del {}".format, name),
    st.builds("exec('{}.append(7)')".format, name),
    st.builds("f = lambda: {}.append(8)\nf()\ndel f".format, name),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(statement, min_size=1, max_size=3).map("\n".join), max_size=12))
def test_a_follower_of_the_reports_is_isomorphic(cells: list[str]) -> None:
    session = Session()
    for cell in cells:
        session.run(cell)
        session.check()


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.check()


def names(changes: Changes) -> list[tuple[str, ...]]:
    return sorted(pickled.names for pickled in changes.changed)


@pytest.mark.parametrize(
    "cell",
    [
        "pass",
        "a",
        "len(a)",
        "a = [1]",
        "a.append(2); a.pop()",
        "b = 0",
        "def g(): return a",
    ],
)
def test_what_ends_equal_has_not_changed(session: Session, cell: str) -> None:
    session.run("a = [1]\nb = 0\ndef g(): return a")
    assert ("a",) not in names(session.run(cell))
    assert ("b",) not in names(session.run(cell))


def test_equal_immutables_link_nothing(session: Session) -> None:
    changes = session.run(
        "import datetime, enum, re\na = 'text'; b = 'text'; c = (1, 'x'); d = (c, numpy.dtype('int64'))\n"
        "e = datetime.date(2026, 1, 1); f = [e, numpy.float64]; g = {'day': e, 'type': numpy.float64}\n"
        "h = numpy.zeros(2); i = numpy.zeros(2); j = [numpy.mean, len]; k = [numpy.mean, len]"
    )
    assert all(len(group) == 1 for group in names(changes))


def test_cycles_and_objects_in_arrays(session: Session) -> None:
    session.run("a = []\na.append(a)\nb = {'a': a}\nc = numpy.array([b, None], dtype=object)\nd = c[:1]")
    assert names(session.run("b['x'] = 1")) == [("a", "b", "c", "d")]


def test_groups_merge_and_split(session: Session) -> None:
    assert names(session.run("a = [1]\nb = [1]")) == [("a",), ("b",)]
    assert names(session.run("b.append(a)")) == [("a", "b")]
    assert names(session.run("b.pop()")) == [("a",), ("b",)]


def _names(changes: Changes) -> list[tuple[str, ...]]:
    return sorted(pickled.names for pickled in changes.changed)


def test_new_variables_with_objects_in_common_are_one(session: Session) -> None:
    changes = session.run("b = [[n] for n in range(2000)]\na = b[7]\nc = {'b': b[8]}\nd = [[1]]")
    assert _names(changes) == [("a", "b", "c"), ("d",)]
    assert _names(session.run("b[7].append(1)")) == [("a", "b", "c")]
    assert _names(session.run("b.pop(7)")) == [("a",), ("b", "c")]
    session.check()


def test_what_hangs_together_by_a_third_one_only(session: Session) -> None:
    assert _names(session.run("x, y = [1], [2]\na, b, c = [x], [y], [x, y]\ndel x, y")) == [("a", "b", "c")]
    assert _names(session.run("c[0] = 0")) == [("a",), ("b", "c")]
    session.check()


def test_one_that_cannot_be_serialised_leaves_those_before_it_alone(session: Session) -> None:
    session.run("from threading import Lock")
    changes = session.run("a = [[1], [2]]\nb = [a[0], Lock()]\nc = [a[1]]")
    assert _names(changes) == [("a", "c")]
    assert [failure.name for failure in changes.failed] == ["b"]
    assert _names(session.run("b.pop()")) == [("a", "b", "c")]


def test_one_that_cannot_be_serialised_among_those_that_are_pickled_again(session: Session) -> None:
    session.run("from threading import Lock\nfrom functools import partial")
    changes = session.run("q = [1]\na = partial(print, q)\nb = [q]\nc = [q, (lambda: exec('1')), Lock()]\nd = [q]")
    assert _names(changes) == [("a", "b", "d", "q")]
    assert [failure.name for failure in changes.failed] == ["c"]
    assert _names(session.run("c = 0")) == [("c",)]
    assert _names(session.run("d.append(1)")) == [("a", "b", "d", "q")]
    assert not session.run("b").reads_all, "what c referred to is no business of its neighbours"
    session.check()


def test_a_value_that_can_be_pickled_once_costs_no_other_one(session: Session) -> None:
    session.run(
        "from threading import Lock\n"
        "class Flaky:\n"
        "    asked = 0\n"
        "    def __getstate__(self):\n"
        "        Flaky.asked += 1\n"
        "        if Flaky.asked == 2: raise OSError('gone')\n"
        "        return {}\n"
    )
    changes = session.run("q = [1]\na = [q]\nf = [q, Flaky()]\nl = [q, Lock()]\nz = [q]")
    assert {"a", "q", "z"} <= {name for names in _names(changes) for name in names}
    assert "l" in [failure.name for failure in changes.failed]
    session.run("del f, l, Flaky")
    session.check()


def test_a_deleted_objects_address_links_nothing(session: Session) -> None:
    for _ in range(50):
        session.run("a = [[] for _ in range(20)]")
        session.run("del a")
        assert names(session.run("b = [[] for _ in range(20)]")) in ([("b",)], [])
        session.run("del b")


def test_an_object_kept_outside_the_namespace_still_links(session: Session) -> None:
    session.run("import builtins\na = [1]\nbuiltins.kept = a")
    assert names(session.run("b = kept")) == [("a", "b")]
    session.run("del builtins.kept")


def test_functions_tell_what_they_touch(session: Session) -> None:
    session.run("a = []\nb = []\ndef direct(): a.append(1)\ndef indirect(): direct()\ntable = {'go': indirect}")
    assert names(session.run("table['go']()")) == [("a",)]
    assert names(session.run("(lambda f: f())(indirect)")) == [("a",)]
    session.run("class C:\n    def __add__(self, other): b.append(2)\nc = C()")
    assert names(session.run("c + 1")) == [("b",)]
    session.run("import functools\np = functools.partial(direct)")
    assert names(session.run("p()")) == [("a",)]


def test_a_function_that_is_gone_still_told(session: Session) -> None:
    session.run("a = []\ndef f(): a.append(1)")
    assert names(session.run("f()\ndel f")) == [("a",)]
    session.run("def f(): a.append(1)")
    assert ("a",) in names(session.run("f()\nf = None"))


def test_an_unserialisable_value_may_touch_anything(session: Session) -> None:
    session.run("a = []\ndef steps():\n    while True:\n        yield a.append(1)\ng = steps()")
    assert names(session.run("next(g)")) == [("a",)]
    session.run("del g")


def test_a_generator_changes_when_it_moves_or_what_it_holds_does(session: Session) -> None:
    session.run("data, other = [1, 2, 3], []\ng = (item for item in data)")

    def failed(code: str) -> list[str]:
        return [failure.name for failure in session.run(code).failed]

    assert failed("g.gi_running") == []
    assert failed("next(g)") == ["g"]
    assert failed("other.append(1)") == []
    assert failed("data.append(4)") == ["g"]
    assert failed("data = []") == []
    assert failed("data.append(5)") == []
    session.run("del g")


def test_what_cannot_be_serialised_is_alone_when_it_shares_no_objects(session: Session) -> None:
    def alone(code: str) -> dict[str, bool]:
        return {failure.name: failure.alone for failure in session.run(code).failed}

    assert alone("data = [1]\ng, h = (item for item in data), (item for item in range(3))") == {"g": False, "h": True}
    assert alone("both = [h]") == {"both": False}
    assert alone("del both\nnext(h)") == {"h": True}
    session.run("del g, h")


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("g", True),
        ("uses()", True),
        ("calls()", True),
        ("x = [g]", True),
        ("del g", True),
        ("g += 1", True),
        ("globals()", True),
        ("eval(text)", True),
        ("lambda: g", True),
        ("if a: g = 1\ng", True),
        ("a", False),
        ("g = 1; g", False),
        ("other()", False),
        ("g.x = 1 = 2", False),  # it does not run
    ],
)
def test_what_a_cell_may_read_of_what_is_not_there(session: Session, cell: str, found: bool) -> None:
    session.run("a, text = 1, ''\ndef uses(): return g\ndef calls(): return uses()\ndef other(): return a")
    assert ("g" in session.detector.reads_of(analyse(cell, str), ["g", "h"])) == found


def test_what_a_cell_reads(session: Session) -> None:
    session.run("a, b, c, unused = [1], 2, 3, 4\ndef uses(): return b")

    def reads(code: str) -> list[str]:
        return session.run(code).reads

    assert reads("a = 1") == []
    assert reads("c += 1") == ["c"]
    assert reads("d = uses()") == ["b", "uses"]
    assert reads("del c") == ["c"]
    assert session.run("exec('pass')").reads_all


def test_objects_made_while_pickling_link_nothing(session: Session) -> None:
    session.run(
        "class Odd:\n    def __init__(self): self.x = 1\n"
        "    def __getstate__(self): return {'fresh': [1], 'deep': {'more': [2]}}\n"
        "    def __setstate__(self, state): self.x = 1\na = Odd(); b = Odd()"
    )
    assert names(session.run("c = a")) == [("a", "c")]


def test_objects_beside_the_namespace_are_told_apart_when_an_address_comes_back() -> None:
    """What a process holds is read anew after each cell, and a commit that others make is followed in between."""
    session = Session()

    def changes(beside: dict[str, Any]) -> list[tuple[str, ...]]:
        accesses = analyse("pass", str)
        accesses.names.add("<two>")
        return [pickled.names for pickled in session.detector.changes(accesses, beside).changed]

    held: list[dict[str, Any]] = [{"<one>": ([1], "one"), "<two>": ([2], "two")}]
    assert len(changes(held[0])) == 2
    one, part = id(held[0]["<one>"]), id(held[0]["<one>"][0])
    session.detector.adopt([], [], {"<one>": ([1], "one"), "<two>": ([2], "two")})
    held.clear()
    first = _at(part, lambda: [2])
    second = _at(one, lambda: ([1], "one"))
    assert changes({"<one>": second, "<two>": (first, "two")}) == []


def _at(address: int, make: Callable[[], Any]) -> Any:
    """A new object at the address of an old one, if nothing is there any more."""
    made = [make() for _ in range(1000)]
    return next((each for each in made if id(each) == address), made[0])


def test_keys_of_the_namespace_that_are_variables() -> None:
    session = Session()
    changes = session.run("globals()[numpy.str_('a')] = [1]; globals()[3] = [2]; globals()['_i'] = 'shell'; b = 1")
    assert names(changes) == [("a",), ("b",)]
    assert names(session.run("a.append(b)")) == [("a",)]


def test_what_the_shell_bound_is_a_variable_while_a_cell_has_bound_it_anew() -> None:
    session = Session()
    kept = session.namespace["numpy"]
    assert names(session.run("numpy = [1]")) == [("numpy",)]
    assert names(session.run("numpy.append(2)")) == [("numpy",)]
    session.namespace["numpy"] = kept
    assert session.run("pass").deleted == ["numpy"]
