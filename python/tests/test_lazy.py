"""Reading a value is no change of it, whatever the library keeps so as not to compute it twice."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from banyan.state.access import Accesses
from banyan.state.detect import DigestDetector
from banyan.state.serialise import bind_namespace, dump, load

_FRAME = "import pandas as pd\no = pd.DataFrame({'a': [1, 2, 2], 'b': [3.0, 4.0, 5.0]})"
_TRAITS = """
from traitlets import *
class Settings(HasTraits):
    size = Int(3)
    names = List(Unicode())
    table = Dict({'a': 1})
    place = Tuple()
    either = Union([Int(), List()])
o = Settings()
"""

READS = {
    "frame": (_FRAME, "o.a.unique(); o.groupby('a').sum(); o.index.is_unique; repr(o); o.loc[1]"),
    "groups": (_FRAME + ".groupby('a')", "o.groups; o.ngroups; o.sum(); list(o)"),
    "windows": (_FRAME + ".rolling(2)", "o.sum()"),
    "dates": ("import pandas as pd\no = pd.date_range('2026', periods=3)", "o.month; o.get_loc('2026-01-02')"),
    "categories": ("import pandas as pd\no = pd.Categorical(list('aba'))", "o.codes; o.describe()"),
    "traits": (_TRAITS, "o.size, o.names, o.table, o.place, o.either"),
    "sparse": ("import scipy.sparse as s\no = s.csr_matrix([[1, 0], [0, 2]])", "o.has_canonical_format; o @ o"),
    "symbols": (
        "import sympy\nx = sympy.Symbol('x', real=True)\no = (x + 1) ** 2",
        "hash(o); o.expand(); o.is_positive",
    ),
    "figure": (
        "import io\nfrom matplotlib.figure import Figure\no = Figure()\naxes = o.subplots()\n"
        "axes.plot([1, 2], label='a'); axes.legend(); axes.bar([1, 2], [3, 4])\n"
        "save = lambda: o.savefig(io.BytesIO(), bbox_inches='tight'); save()",
        "save(); axes.get_xlim(); o.axes; save()",
    ),
    "matrix": ("import sympy\no = sympy.Matrix([[1, 2], [3, 4]])", "o.det(); o.inv(); o.eigenvals()"),
    "model": (
        "from sklearn.linear_model import LinearRegression\no = LinearRegression().fit([[1], [2]], [1, 2])",
        "o.predict([[3]]); repr(o); o._repr_html_()",
    ),
}


@pytest.mark.parametrize("kind", READS)
def test_reading_is_no_change(kind: str) -> None:
    make, read = READS[kind]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    bind_namespace(namespace)
    exec(make, namespace)
    detector = DigestDetector(namespace, {**namespace, "o": None})
    assert detector.changes(Accesses(names={"o"})).changed
    exec(read, namespace)
    assert not detector.changes(Accesses(names={"o"})).changed
    dump({"o": namespace["o"]})
    load(dump({"o": namespace["o"]}).pickle, map(bytearray, dump({"o": namespace["o"]}).buffers))  # type: ignore[arg-type]


def test_writing_to_what_was_read_is_a_change() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(_TRAITS, namespace)
    settings = namespace["o"]
    before = dump({"o": settings}).fingerprint
    settings.names.append("a")
    changed = dump({"o": settings})
    assert changed.fingerprint != before
    copy = load(changed.pickle, changed.buffers)["o"]  # type: ignore[arg-type]
    assert (copy.names, copy.table, copy.size) == (["a"], {"a": 1}, 3)


def test_a_default_that_another_variable_has_stays_shared() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(_TRAITS + "names = o.names", namespace)
    pickled = dump({name: namespace[name] for name in ("o", "names")})
    copies = load(pickled.pickle, pickled.buffers)  # type: ignore[arg-type]
    assert copies["o"].names is copies["names"]


class Measured:
    """Of the user: what its property has found may be what nobody can find again."""

    draws = 0

    @functools.cached_property
    def draw(self) -> int:
        Measured.draws += 1
        return Measured.draws


def test_what_a_class_of_the_user_keeps_goes_along() -> None:
    measured = Measured()
    drawn = measured.draw
    pickled = dump({"o": measured})
    assert load(pickled.pickle, pickled.buffers)["o"].draw == drawn  # type: ignore[arg-type]
