"""The names a cell may touch, and the cells that may touch any."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from banyan.state.access import analyse, global_names

transform = TransformerManager().transform_cell


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("x = y", "x y"),
        ("x += 1", "x"),
        ("%rerun always\nx = y", "always x y"),
        ("x[0].y = z", "x z"),
        ("del x, y[0]", "x y"),
        ("for i, (j, *k) in x: pass", "i j k x"),
        ("with open_ as f, g as (h, i): pass", "f g h i open_"),
        ("try: pass\nexcept E as e: pass", "E e"),
        ("import a.b.c, d as e\nfrom f import g as h, i", "a e h i"),
        ("def f(p=q, *r) -> s: return t", "f q s t"),
        ("class C(B, metaclass=M): x = y", "B C M x y"),
        ("@deco\nasync def f(): await g", "deco f g"),
        ("match x:\n case {'k': a, **b} | [a, *b] | P(a, q=b) as c: pass", "P a b c x"),
        ("if (n := m): pass", "m n"),
        ("def f():\n global g, h\n g = 1", "f g h"),
        ("[a for b in c if d]", "a b c d"),
        ("f'{x!r:>{y}}'", "x y"),
        ("x: T = y", "T x y"),
        ("try: import a\nexcept* E: import b", "E a b"),
        ("x = = 1", ""),
        ("%time x = y", "x y"),
        ("%%time\nx = y", "x y"),
        ("out = !ls $x", "ls out x"),
        ("%matplotlib inline", "inline"),
    ],
)
def test_names(cell: str, names: str) -> None:
    accesses = analyse(cell, transform)
    found = accesses.names - {"p", "r"}
    assert (sorted(found), accesses.dynamic) == (sorted(names.split()), False)


@pytest.mark.parametrize(
    "cell",
    [
        "exec('x = 1')",
        "globals()['x']",
        "getattr(f, '__globals__').x; f.__globals__",
        "import __main__",
        "from gc import get_objects",
        "_.append(1)",
        "Out[3].append(1)",
        "%run script.py",
        "%%mymagic\nx",
        "get_ipython().user_ns",
        "%time exec('1')",
        "!echo {eval('1')}",
    ],
)
def test_cells_that_may_touch_anything(cell: str) -> None:
    assert analyse(cell, transform).dynamic


def test_imports_of_submodules_are_known() -> None:
    assert analyse("import a.b.c, d\nfrom e.f import g\nfrom . import h", transform).imports == {"a.b.c", "d", "e.f"}


@pytest.mark.parametrize(
    ("cell", "reads"),
    [
        ("x = y; x.z", "y"),
        ("x = x + 1; x", "x"),
        ("x += 1; x", "x"),
        ("x = 1; x += 1; del x; x", "x"),
        ("a, (b, *c) = d; a, b, c", "d"),
        ("x[0] = 1; x", "x"),
        ("x: int; x", "int x"),
        ("x: int = 1; x", "int"),
        ("import a.b, c as d; a, d, c", "c"),
        ("from a import b; b", ""),
        ("f(x); x = 1", "f x"),
        ("def f(): return x\nx = 1; f()", "x"),
        ("x = 1\ndef f(): return x\nf()", ""),
        ("def f(): return f()", "f"),
        ("def f():\n  x = 1\n  return x\nx", "x"),
        ("class C:\n  x = 1\n  def f(self): return x", "x"),
        ("class C: pass\nC()", ""),
        ("if c: x = 1; x\nx", "c x"),
        ("if c: x = 1\nelse: x", "c x"),
        ("while c: x = 1\nx", "c x"),
        ("for i in i: i\ni", "i"),
        ("for i in y: i", "y"),
        ("for i in y: pass\nelse: i", "i y"),
        ("with a as b: b; c = 1\nb, c", "a c"),
        ("with a as (b, c), b: c", "a"),
        ("try: x = 1; x\nexcept E: x", "E x"),
        ("try: x = 1; x\nfinally: x", "x"),
        ("try: pass\nexcept E: x = 1\nelse: x", "E x"),
        ("match a:\n case 1: x = 1; x\n case 2: x", "a x"),
        ("lambda: x\nx = 1", "x"),
        ("x = 1\n%time x.y", "x y"),
        ("@x\ndef f(): x = 1", "x"),
        ("def f(a, *b, c=d, **e): return a, b, c, d, e, f", "d f"),
        ("class C(B, metaclass=M): x = y; z = x", "B M x y"),
    ],
)
def test_what_a_cell_binds_first_it_does_not_read(cell: str, reads: str) -> None:
    assert sorted(analyse(cell, transform).reads - {"self"}) == sorted(reads.split())


def test_global_names_are_those_that_code_reads_and_writes_not_its_attributes_or_locals() -> None:
    names = {f"name_{number}" for number in range(300)}  # more than an instruction's one byte can tell apart
    reads = "; ".join(f"local = {name}.attribute_of_{name}(local)" for name in sorted(names))
    scope: dict[str, Any] = {}
    exec(f"def outer(local):\n  def inner(local):\n    global written\n    {reads}; written = local", scope)
    assert global_names(scope["outer"].__code__) == names | {"written"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type aliases are of Python 3.12")
def test_global_names_of_what_a_class_works_out_later() -> None:
    code = compile("class Outer:\n  type Items = list[element]\n", "<cell>", "exec")
    assert {"element", "list"} <= global_names(code)
