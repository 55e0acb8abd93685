"""What a library made once for all travels by name: the session has the very object that the library uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_replication import Pair, pair

__all__ = ["pair"]


@pytest.mark.parametrize(
    ("imports", "same"),
    [
        ("from scipy.stats import norm", "norm is scipy.stats.norm"),
        ("from random import randint, choice", "randint.__self__ is choice.__self__ is random._inst"),
        ("from pandas import options, IndexSlice", "options is pandas.options and IndexSlice is pandas.IndexSlice"),
        ("from sympy import doctest, test, S", "doctest is sympy.doctest and test is sympy.test and S is sympy.S"),
        ("from mpmath import mp", "mp is mpmath.mp"),
        ("from matplotlib import rcParams", "rcParams is matplotlib.rcParams"),
    ],
)
def test_it_is_the_same_object(pair: Pair, imports: str, same: str) -> None:
    library = imports.split()[1].partition(".")[0]
    pair.run(f"{imports}\nimport {library}")
    assert pair.executor.value(same) == pair.standby.value(same) == "True"


def test_a_function_of_the_global_generator_draws_from_it(pair: Pair) -> None:
    pair.run("import random, numpy.random\nfrom random import randint\nfrom numpy.random import rand")
    draws = "random.seed(3), numpy.random.seed(3), randint(0, 10**9), float(rand())"
    assert pair.standby.value(draws) == pair.executor.value(draws)


def test_numbers_of_sympys_fields_and_of_mpmath(pair: Pair) -> None:
    pair.run("from sympy import RR, CC, QQ, RealField\nimport mpmath\nx, z, q = RR(2) * 3, CC(1, 2), QQ(1, 3)")
    pair.run("fine = RealField(100)\nthird = fine(1) / 3\nmpmath.mp.dps = 40\nhalf = mpmath.mpf(1) / 3")
    look = "x, z, q, RR, CC, str(third), str(half), x + RR(1), third + fine(1), mpmath.mp.dps, fine.precision"
    assert pair.standby.value(look) == pair.executor.value(look)
    assert pair.standby.value("type(x) is type(RR(1)), type(half) is mpmath.mpf") == "(True, True)"
    assert pair.standby.follow(deleted=["<mpmath>"]) == []
    assert pair.standby.value("mpmath.mp.dps") == "15"


def test_all_that_a_library_exports_loads(pair: Pair) -> None:
    cell = pair.run("from sympy import *")
    assert cell.failed == []
    assert pair.standby.run("x = Symbol('x'); integrate(cos(x), x)").result == "sin(x)"


_LIBRARY = """
class Registry:
    def __init__(self):
        self.level = 1
        self.lock = __import__("threading").Lock()
registry = Registry()
def decorated(function):
    def wrapper(*arguments):
        return registry, function(*arguments)
    return wrapper
@decorated
def double(x):
    return 2 * x
"""


def test_of_any_library_with_what_was_set_of_it(pair: Pair, tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "registers.py").write_text(_LIBRARY)
    pair.run(f"import sys; sys.path.append({str(folder)!r})")
    cell = pair.run("import registers\nfrom registers import registry, double")
    assert cell.failed == [] and ["registry"] in cell.changed and ["double"] in cell.changed, "they are no link"
    pair.run("registry.level = 5")
    look = "registry is registers.registry, registry.level, double(2)[0] is registry, double is registers.double"
    assert pair.standby.value(look) == "(True, 5, True, True)"
