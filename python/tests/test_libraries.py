"""Settings of libraries that no part knows: kept by their places, or named; nothing for cells that set none."""

from __future__ import annotations

import gc
import pickle
import sys
import types
from typing import Any

import pytest
from test_replication import Pair, pair

from banyan.state.access import analyse
from banyan.surroundings import Capture, Surroundings, machine
from banyan.surroundings.libraries import Libraries
from banyan.surroundings.part import Part

__all__ = ["pair"]


class Cells:
    """Cells of one namespace, as a worker runs them."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self.libraries = Libraries(self.namespace, lambda _module, _attribute: False)

    def run(self, *statements: str) -> dict[str, Any]:
        self.libraries.expect(analyse("\n".join(statements), str))
        for statement in statements:
            exec(statement, self.namespace)
            self.libraries.look()
        self.libraries.note()
        return self.libraries.read()


def _library(monkeypatch: pytest.MonkeyPatch, source: str, name: str = "odd_library") -> types.ModuleType:
    module = types.ModuleType(name)
    exec(source, vars(module))
    monkeypatch.setitem(sys.modules, name, module)
    return module


_SOURCE = """
__all__ = []
limit, words, table, flags = 1, ["a"], {"deep": {"x": [1]}, "lazy": object()}, {1}
count, _cache, initialized, drawn_id = 0, {}, False, 1
class Options:
    width = 1
    def __init__(self):
        self.mode, self.parts = "fast", {}
class Slots:
    __slots__ = ("height",)
    def __init__(self):
        self.height = 1
options, slots, handler = Options(), Slots(), None
def set_limit(value):
    global limit, count, initialized, drawn_id
    limit, initialized = value, True
    count += 1
    drawn_id += 1
    _cache[value] = object()
def set_handler(value):
    global handler
    handler = value
def use_words(*more): words.extend(more)
def set_deep(value): table["deep"]["x"][0] = value
def compute(value):
    global limit
    limit = value
def set_flag(value): flags.add(value)
"""


@pytest.mark.parametrize(
    ("change", "look"),
    [
        ("odd_library.set_limit(7)", "odd_library.limit"),
        ("odd_library.use_words('b')", "list(odd_library.words)"),
        ("odd_library.words.append('c')", "list(odd_library.words)"),
        ("odd_library.table['mine'] = 1", "odd_library.table.get('mine')"),
        ("odd_library.set_deep(5)", "odd_library.table['deep']['x'][0]"),
        ("del odd_library.table['deep']", "'deep' in odd_library.table"),
        ("odd_library.set_flag(2)", "set(odd_library.flags)"),
        ("odd_library.options.mode = 'slow'", "odd_library.options.mode"),
        ("options.mode = 'slow'", "odd_library.options.mode"),
        ("odd_library.options.parts['x'] = 1", "dict(odd_library.options.parts)"),
        ("odd_library.Options.width = 2", "odd_library.Options.width"),
        ("odd_library.slots.height = 2", "odd_library.slots.height"),
        ("odd_library.set_handler(len)", "odd_library.handler"),
        ("prepare()", "odd_library.limit"),
        ("[set_limit(n) for n in (3, 4)]", "odd_library.limit"),
    ],
)
def test_each_place_is_noticed_and_set_back(monkeypatch: pytest.MonkeyPatch, change: str, look: str) -> None:
    module = _library(monkeypatch, _SOURCE)
    lazy = module.table["lazy"]
    cells = Cells()
    cells.run("import odd_library", "from odd_library import options, set_limit", "def prepare(): inner()")
    cells.namespace["inner"] = eval("lambda: odd_library.set_limit(9)", cells.namespace)
    before = eval(look, cells.namespace)
    found = pickle.loads(pickle.dumps(cells.run(change)))
    after = eval(look, cells.namespace)
    assert after != before
    assert len(found) == 1, found
    kept = [module.words, module.table, module.flags, module.options]
    cells.libraries.write({})
    assert eval(look, cells.namespace) == before
    assert cells.libraries.read() == {}
    cells.libraries.write(found)
    assert eval(look, cells.namespace) == after
    assert module.table["lazy"] is lazy
    assert all(
        one is other
        for one, other in zip(kept, [module.words, module.table, module.flags, module.options], strict=True)
    )


def test_what_a_library_adds_to_a_dict_by_itself_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As PIL's plug-ins do when matplotlib imports them: they would never do it again."""
    parts = _library(monkeypatch, _SOURCE).options.parts
    cells = Cells()
    cells.run("import odd_library")
    found = pickle.loads(pickle.dumps(cells.run("odd_library.options.parts['mine'] = 1")))
    parts["png"] = "its own"
    assert [value.keys for _, _, value in cells.libraries.read().values()] == [{"mine"}]
    cells.libraries.write(found)
    assert parts == {"mine": 1, "png": "its own"}
    cells.libraries.write({})
    assert parts == {"png": "its own"}
    cells.run("odd_library.options.parts['png'] = 2")
    cells.libraries.write(found)
    assert parts == {"mine": 1, "png": "its own"}
    cells.libraries.write({})
    assert parts == {"png": "its own"}


def test_items_that_no_cell_is_seen_to_set_go_along_where_they_were_there_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = _library(monkeypatch, _SOURCE)
    module.options.parts.update(a=1, b=2)
    cells = Cells()
    cells.run("import odd_library", "parts = odd_library.options.parts")
    cells.run("odd_library.options.parts['a'] = 9")
    module.options.parts["b"] = 8  # as a callback does
    found = pickle.loads(pickle.dumps(cells.libraries.read()))
    cells.libraries.write({})
    assert list(module.options.parts.items()) == [("a", 1), ("b", 2)]
    cells.libraries.write(found)
    assert module.options.parts == {"a": 9, "b": 8}


def test_a_dict_that_was_none_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _library(monkeypatch, _SOURCE)
    module.options.parts.update(a=1, b=2)
    cells = Cells()
    cells.run("import odd_library")
    for change in ("None", "{'a': 5, 'b': 6}", "{'a': 5, 'b': 7}"):
        found = pickle.loads(pickle.dumps(cells.run(f"odd_library.options.parts = {change}")))
    cells.libraries.write({})
    assert module.options.parts == {"a": 1, "b": 2}
    cells.libraries.write(found)
    assert module.options.parts == {"a": 5, "b": 7}


def test_what_a_cell_imports_and_sets_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _library(monkeypatch, _SOURCE)
    assert list(Cells().run("import odd_library", "odd_library.set_limit(3)")) == ["odd_library.limit"]


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1",
        "len([1, 2])",
        "import numpy as np; np.append([1], 2); np.random.seed(1); np.add(1, 2)",
        "import json; json.loads('1'); json.dumps({})",
        "import collections; d = collections.OrderedDict(); d.update(a=1); d.pop('a')",
        "import pandas as pd; f = pd.DataFrame({'a': [1]}); f.set_index('a'); f['b'] = 2; f.columns = ['c', 'd']",
        "import os; os.environ.setdefault('HOME', '/'); os.getcwd()",
        "rows = []; rows.append(1); rows.extend([2]); rows[0] = 3",
        "class A:\n    def set_it(self): self.it = 1\nA().set_it(); a = A(); a.set_it()",
    ],
)
def test_cells_that_set_nothing_of_a_library_look_at_none(cell: str) -> None:
    cells = Cells()
    for statement in cell.split("; ") if "class" not in cell else [cell]:
        cells.libraries.expect(analyse(statement, str))
        exec(statement, cells.namespace)
        cells.libraries.look()
        assert not cells.libraries._scans, statement


@pytest.mark.parametrize(
    "cell",
    [
        "import PIL.Image; PIL.Image.preinit(); i = PIL.Image.new('L', (2, 2)); i.putpixel((0, 0), 3)",
        "import sympy; sympy.init_printing(pretty_print=False); x = sympy.symbols('x'); sympy.expand((x + 1) ** 9)",
        "import scipy.stats, scipy.optimize; scipy.stats.norm.rvs(3); scipy.optimize.minimize(lambda x: x @ x, [1.0])",
        "import seaborn as sns; sns.set_theme(); sns.set_palette('deep'); sns.color_palette('husl')",
        "import joblib; joblib.Parallel(2, prefer='threads')(joblib.delayed(len)('a') for _ in range(4))",
        "import tqdm; tqdm.tqdm.set_lock(tqdm.tqdm.get_lock()); list(tqdm.tqdm(range(3)))",
    ],
)
def test_what_libraries_do_by_themselves_is_no_setting(pair: Pair, cell: str) -> None:
    first = pair.run("\n".join(cell.split("; ")))
    again = pair.run("\n".join(cell.split("; ")))
    for one in (first, again):
        assert [name for name in one.failed if name.startswith("<libraries")] == []
    assert [name for (name, *_) in again.changed if name.startswith("<libraries")] == []


def test_an_attribute_that_another_part_keeps_is_kept_once(pair: Pair) -> None:
    pair.run("import string; string.banyan = [1]")
    cell = pair.run("string.banyan.append(2)")
    assert [name for (name, *_) in cell.changed if name.startswith("<")] == ["<modules>"]
    assert pair.standby.value("string.banyan") == "[1, 2]"


def test_what_nobody_can_see_is_named_once_and_costs_no_other(pair: Pair) -> None:
    pair.run("import atexit, codecs")
    cell = pair.executor.run("x = 1; _ = atexit.register(print); codecs.register(lambda name: None)")
    assert sorted(cell.failed) == ["<libraries: _codecs.register()>", "<libraries: atexit.register()>"]
    assert ["x"] in cell.changed
    assert "atexit.register()" in cell.stderr and "cannot be saved" in cell.stderr and "Unkept" not in cell.stderr
    cell = pair.executor.run("x = 2")
    assert (cell.failed, cell.stderr) == ([], "")


def test_a_setting_that_no_bytes_can_hold_is_named(pair: Pair) -> None:
    pair.run("import ssl, urllib.request")
    cell = pair.executor.run(
        "urllib.request.install_opener(urllib.request.build_opener("
        "urllib.request.HTTPSHandler(context=ssl.create_default_context())))"
    )
    assert cell.failed == ["<libraries: urllib.request._opener>"]
    assert "SSLContext" in cell.stderr


def _raise(*_: object) -> Any:
    raise OSError("this part is broken")


def test_a_part_that_raises_costs_no_other_and_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: dict[str, Any] = {"read": _raise, "write": _raise}
    broken = [
        Part("<broken>", "", **ways),
        Part("<broken.restless>", "", **ways, restless=True),
        Part("<broken.drawn>", "", **ways, drawn=True),
        Part("<broken.glance>", "", **ways, glance=_raise, first={}),
        Part("<broken.holds>", "", **ways, holds=True, named=_raise),
        Part("<broken.tells>", "", **ways, first={}, tell=_raise),
    ]
    broken_file = types.SimpleNamespace(__name__="broken", parts=_raise)
    files = (types.SimpleNamespace(parts=lambda: broken), broken_file, *machine._FILES)
    monkeypatch.setattr(machine, "_FILES", files)
    thresholds = gc.get_threshold()
    surroundings = Surroundings(Capture(), {})
    try:
        for _ in range(2):
            surroundings.begin(analyse("x = 1", str))
            surroundings.between()
            surroundings.held(analyse("x = 1", str))
            surroundings.changes()
        gc.set_threshold(12345)
        assert [one.names for one in surroundings.changes()] == [("<interpreter>",)]
        surroundings.begin_again(analyse("x = 1", str))
        surroundings.end_again()
        with surroundings.loading():
            pass
        failed = surroundings.follow({"<broken>": 1, "<broken.holds: x>": 2}, ["<interpreter>"])
        assert sorted(failure.name for failure in failed) == ["<broken.holds: x>", "<broken>"]
        assert gc.get_threshold() == thresholds
    finally:
        gc.set_threshold(*thresholds)
