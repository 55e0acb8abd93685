"""What random notebooks have found, one short history each."""

from __future__ import annotations

import pytest
from programs import Cell, Checkout
from travels import Session, travel

_CLASSES = (
    "class C:\n    held = []\n    def hold(self, v): self.held.append(v)\n"
    "class D(C):\n    held = C.held\n    def put(self, v): self.x = v\n"
)


@pytest.mark.parametrize("anew", [False, True], ids=["here", "in a new process"])
@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(["c = C()", "c.hold(1)"], id="an instance changes its class"),
        pytest.param(["alias = D", "alias.held.append(1)"], id="a class changes its base, by another name"),
        pytest.param(["c, d = C(), C(); del C", "c.hold(1)", "d.hold(2)"], id="instances alone have their class"),
        pytest.param(["c, d = C(), C()", "class C: pass", "c.hold(1)", "c = 0", "d.hold(2)"], id="an old class"),
        pytest.param(["C.limit = D.limit = 1", "C.limit = 2", "del D.limit"], id="an attribute as the base has it"),
        pytest.param(["class S:\n    __slots__ = ('x', '__y')\ns = S()", "s.x = 1", "s.z = 1"], id="slots"),
    ],
)
def test_classes(cells: list[str], anew: bool) -> None:
    _there_and_back([_CLASSES, *cells], anew)


@pytest.mark.parametrize("anew", [False, True], ids=["here", "in a new process"])
@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(["a = numpy.array(['t', None])", "a.flags.writeable = False"], id="a read-only one of objects"),
        pytest.param(["a = numpy.array(['2026-01-01'], 'M8[D]')", "a.flags.writeable = False"], id="read-only times"),
        pytest.param(["a = numpy.arange(900).view('m8[s]'); v = a[::2]", "v[:9] = 7"], id="many times"),
        pytest.param(["a = numpy.array([1, None])", "a[0] = a[::-1]", "a[1] = 2"], id="an array within itself"),
        pytest.param(
            ["a = numpy.arange(6); v = a[1:]", "a.flags.writeable = False", "v[0] = 7"],
            id="a view may write where its array may not",
        ),
        pytest.param(
            ["a = numpy.arange(6000); v = a[1:]", "a.flags.writeable = False", "v[0] = 7"], id="the same of a large one"
        ),
        pytest.param(
            ["b = bytearray(b'abc'); v = numpy.frombuffer(b, 'u1')", "b.append(1)"], id="bytes lent to an array"
        ),
    ],
)
def test_arrays(cells: list[str], anew: bool) -> None:
    _there_and_back(["import numpy", *cells], anew)


def test_a_class_that_was_restored_changes_none_that_derive_from_it() -> None:
    for change in ("alias = C", "C.held = numpy.zeros(9000)", "C().hold(numpy.zeros(9000))"):
        travel([Cell("import numpy\n" + _CLASSES), Cell("d = D()"), Cell(change), Checkout(1, looks=True)])


def test_a_method_that_is_kept_is_the_same_when_its_class_was_loaded_again() -> None:
    cells = [Cell(_CLASSES + "\nkind = C\nkept = C(1).hold"), Cell("kind.held.append(1)")]
    travel([*cells, Checkout(0), Checkout(0, looks=True)])


def test_a_class_may_hold_a_method_of_its_own_instance() -> None:
    for held in ("C.held.append(C(1).hold)", "C.held.append(C.made)", "D.held.append(C(1).hold)"):
        classes = _CLASSES.replace("class D(C)", "    @classmethod\n    def made(cls): pass\nclass D(C)")
        program = classes.replace("held = []\n", "held = []\n    def __init__(self, x): self.x = x\n")
        travel([Cell(program), Cell(held), Checkout(1, anew=True), Checkout(0), Checkout(1), Checkout(1, looks=True)])


def test_what_a_class_has_is_no_part_of_its_instances() -> None:
    session = Session()
    session.run("class C:\n    held = []\n    def hold(self, v): self.held.append(v)\nc, d = C(), C()")
    assert _changed(session, "C.limit = 1") == [("C",)]
    assert _changed(session, "c.hold(d)") == [("C", "d")]
    assert _changed(session, "C.limit = 2") == [("C", "d")]
    assert _changed(session, "C.held.pop()") == [("C",), ("d",)]
    assert _changed(session, "del C") == [("c", "d")]


def _changed(session: Session, code: str) -> list[tuple[str, ...]]:
    return sorted(pickled.names for pickled in session.run(code).changed)


def _there_and_back(cells: list[str], anew: bool) -> None:
    travels = [Checkout(cell, anew=anew) for cell in (*range(len(cells)), *reversed(range(len(cells))))]
    travel([*(Cell(code) for code in cells), *travels])
