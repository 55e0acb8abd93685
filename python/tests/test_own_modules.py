"""The user's own modules are namespaces of the session: noticed, kept, undone, with what they share."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cell, Worker

HELPERS = """
import threading

VERSION = 1
N = 0
cfg = {"a": 0}
registry = {}
lock = threading.Lock()

def init(n):
    global N, table
    N = n
    table = list(range(n))

def register(function):
    registry[function.__name__] = function
    return function

def get(): return N, cfg["a"], sorted(registry)

class Config:
    debug = False
    items = []
    def answer(self): return VERSION

def counted():
    counted.calls += 1
    return counted.calls
counted.calls = 0
"""

Session = tuple[Worker, Callable[[str], Cell], Callable[[], Worker]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text(HELPERS)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("state = {}\n")
    (package / "sub.py").write_text(
        "from pkg import state\nimport helpers\ndef put(k, v): state[k] = v; helpers.cfg[k] = v\n"
    )
    return tmp_path


class Story:
    """A session's cells, and workers that follow all of them."""

    def __init__(self, spawn: Callable[..., Worker], folder: Path) -> None:
        self._spawn = spawn
        self._cells: list[Cell] = []
        self.worker = spawn()
        self.run(f"import os, sys; os.chdir({str(folder)!r}); sys.path.insert(0, {str(folder)!r})")

    def run(self, code: str) -> Cell:
        self._cells.append(self.worker.run(textwrap.dedent(code)))
        return self._cells[-1]

    def moved(self) -> Worker:
        other = self._spawn()
        for cell in self._cells:
            assert other.apply(cell) == []
        return other

    def both(self, expression: str) -> tuple[str, str]:
        return self.worker.value(expression), self.moved().value(expression)


@pytest.fixture
def story(spawn: Callable[..., Worker], folder: Path) -> Story:
    return Story(spawn, folder)


@pytest.mark.parametrize(
    ("cells", "expression", "value"),
    [
        (["import helpers; helpers.init(5)"], "helpers.get(), helpers.table[-1]", "((5, 0, []), 4)"),
        (["import helpers", "helpers.init(5)"], "helpers.get(), helpers.table[-1]", "((5, 0, []), 4)"),
        (["from helpers import init", "init(7)"], "__import__('helpers').get()", "(7, 0, [])"),
        (["from helpers import cfg", "cfg['a'] = 1"], "cfg, __import__('helpers').cfg is cfg", "({'a': 1}, True)"),
        (["import helpers as h", "h.cfg['a'] = 2"], "h.get()", "(0, 2, [])"),
        (["import helpers", "@helpers.register\ndef f(): return 3"], "helpers.registry['f'] is f, f()", "(True, 3)"),
        (["import helpers", "def g(): helpers.cfg['a'] += 1", "g()", "g()"], "helpers.cfg", "{'a': 2}"),
        (["def g():\n import helpers\n helpers.cfg['a'] += 1\ng()", "g()"], "__import__('helpers').cfg", "{'a': 2}"),
        (["import helpers; calls = [helpers.init]", "calls[0](4)"], "helpers.N", "4"),
        (["import helpers; c = helpers.Config()", "type(c).debug = 1; c.items.append(1)"], "c.debug, c.items",
         "(1, [1])"),
        (["import helpers", "helpers.counted(); helpers.counted()"], "helpers.counted()", "3"),
        (["import helpers", "helpers.get = lambda: 'mine'"], "helpers.get()", "'mine'"),
        (["import helpers", "x = [1]; helpers.x = x", "x.append(2)"], "helpers.x is x, x", "(True, [1, 2])"),
        (["import helpers", "del helpers.cfg"], "hasattr(helpers, 'cfg')", "False"),
        (["import helpers", "sys.modules['helpers'].cfg['a'] = 9"], "helpers.cfg", "{'a': 9}"),
        (["import pkg.sub", "pkg.sub.put('k', 1)"], "pkg.state, sys.modules['helpers'].cfg['k']", "({'k': 1}, 1)"),
        (["from pkg.sub import put", "put('k', 2)"], "sys.modules['pkg'].state", "{'k': 2}"),
        (["import helpers", "helpers.lock.acquire()"], "helpers.lock.locked() in (True, False)", "True"),
        (["import helpers", "with open('helpers.py', 'a') as f: f.write('VERSION = 2\\n')", "import importlib",
          "_ = importlib.reload(helpers)"], "helpers.VERSION, helpers.Config().answer()", "(2, 2)"),
        (["%%writefile late.py\nstate = []\ndef add(x): state.append(x)\n", "import late", "late.add(1)"],
         "late.state", "[1]"),
    ],
)  # fmt: skip
def test_what_cells_made_of_a_module_comes_along(story: Story, cells: list[str], expression: str, value: str) -> None:
    for code in cells:
        assert story.run(code).failed == []
    assert story.both(expression) == (value, value)


def test_a_cell_that_reaches_no_module_says_nothing_of_it(story: Story) -> None:
    story.run("import helpers; x = 1")
    assert story.run("x += 1").changed == [["x"]]
    assert story.run("helpers.get()").changed == []
    assert story.run("helpers.cfg['a'] = 5").changed == [["<globals: helpers.cfg>"]]


def test_a_module_that_only_its_source_made_costs_its_names_only(story: Story) -> None:
    cell = story.run("import helpers")
    names = sorted(name for names in cell.changed for name in names)
    assert names == ["<globals: helpers.Config.items>", "<globals: helpers.cfg>", "<globals: helpers.registry>",
                     "<own modules>", "helpers"]  # fmt: skip


def test_what_cannot_be_kept_is_named(story: Story) -> None:
    story.run("import helpers, threading")
    assert story.run("helpers.mine = threading.Lock()").failed == ["<globals: helpers.mine>"]


def test_a_file_that_is_gone_or_another_where_the_session_goes(story: Story, folder: Path) -> None:
    story.run("import helpers, pkg.sub; helpers.cfg['a'] = 1; c = helpers.Config()")
    (folder / "helpers.py").unlink()
    (folder / "pkg" / "sub.py").write_text("def put(k, v): raise OSError\n")
    other = story.moved()
    cell = other.run("pkg.sub.put('k', 3); (helpers.cfg, c.answer())")
    assert cell.result == "({'a': 1, 'k': 3}, 1)"
    assert "helpers.py is not here" in cell.stderr
    assert "sub.py is not what this session imported" in cell.stderr
    assert other.run("1").stderr == ""


def test_a_file_that_changes_is_said_once(story: Story, folder: Path) -> None:
    story.run("import helpers")
    with (folder / "helpers.py").open("a") as file:
        file.write("VERSION = 2\n")
    assert "importlib.reload(helpers) takes the new one" in story.run("x = 1").stderr
    assert story.run("x = 2").stderr == ""
    assert story.run("helpers.VERSION").result == "1"
    story.run("import importlib; _ = importlib.reload(helpers)")
    assert story.run("helpers.VERSION").result == "2"


def test_modules_of_libraries_are_nobodys_own(story: Story) -> None:
    cell = story.run("import json, wsgiref.util, xml.dom, numpy, colorsys")
    assert not [names for names in cell.changed if names[0].startswith("<own")]
