"""Which modules an installer has put where they are; and that what their import does to the process is no cell's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from test_own_modules import Story
from test_replication import Spawn

from banyan.process import importing, installed
from banyan.state import own

LIBRARY = """
import logging
log = logging.getLogger("odd")
log.addHandler(logging.StreamHandler())
log.addHandler(logging.Handler())
log.addFilter(lambda record: True)
cache = {}
def more():
    log.addHandler(logging.Handler(9))
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A folder into which an installer has put the package `odd` and the module `single`, as
    `pip install --target` does; `helpers` beside them is the user's.
    """
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "__init__.py").write_text(LIBRARY)
    (tmp_path / "odd" / "part.py").write_text(
        "import logging; logging.getLogger('odd.part').addHandler(logging.Handler())"
    )
    (tmp_path / "single.py").write_text("cache = {}\n")
    (tmp_path / "helpers.py").write_text("cfg = {}\n")
    record = tmp_path / "odd-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text(
        'odd/__init__.py,sha256=x,9\n"odd/a,b.txt",,\nsingle.py,,\n../bin/odd,,\nodd-1.0.dist-info/RECORD,,\n'
    )
    return tmp_path


@pytest.fixture
def story(spawn: Spawn, target: Path) -> Story:
    return Story(spawn, target)


def test_what_an_installer_has_recorded_is_of_a_package(target: Path) -> None:
    for name, path in (("odd", "odd/__init__.py"), ("odd.part", "odd/part.py"), ("single", "single.py")):
        assert installed.is_of_package(name, str(target / path)), name
    (target / "work" / "odd").mkdir(parents=True)
    for name, path in (("helpers", "helpers.py"), ("bin", "bin/odd.py"), ("odd", "work/odd/__init__.py")):
        assert not installed.is_of_package(name, str(target / path)), name


def test_what_is_installed_later_is_seen(target: Path) -> None:
    assert not installed.is_of_package("late", str(target / "late.py"))
    (target / "late-2.dist-info").mkdir()
    (target / "late-2.dist-info" / "RECORD").write_text("late.py,,\n")
    assert installed.is_of_package("late", str(target / "late.py"))


def test_what_python_and_this_package_have_is_nobodys_own() -> None:
    import json

    for module in (json, pytest, importing, own):
        assert not own.is_own(module), module
    assert installed.is_of_python(json.__file__)
    assert installed.is_of_package("pytest", pytest.__file__)
    assert not installed.is_of_package("json", json.__file__)


def test_a_library_beside_the_users_modules_is_no_namespace_of_the_session(story: Story) -> None:
    story.run("import odd.part, single, helpers")
    assert story.run("odd.cache['a'] = single.cache['a'] = 1").changed == []
    assert story.run("helpers.cfg['a'] = 1").changed == [["<globals: helpers.cfg>"]]


HANDLERS = "[(type(each).__name__, each.level) for each in __import__('logging').getLogger('odd').handlers]"


def test_handlers_that_a_library_attaches_when_it_is_imported_are_no_cells(story: Story) -> None:
    for code in ("import odd", "import odd.part", "x = 1"):
        assert not [names for names in story.run(code).changed if names[0].startswith("<loggers")], code
    assert story.both(HANDLERS) == ("[('StreamHandler', 0), ('Handler', 0)]",) * 2


def test_neither_are_those_of_an_import_within_a_call(story: Story) -> None:
    cell = story.run("def begin():\n    import odd\nbegin()")
    assert not [names for names in cell.changed if names[0].startswith("<loggers")]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["import odd; odd.more()"], "[('StreamHandler', 0), ('Handler', 0), ('Handler', 9)]"),
        (["import odd", "odd.more()"], "[('StreamHandler', 0), ('Handler', 0), ('Handler', 9)]"),
        (["import odd", "del odd.log.handlers[0]"], "[('Handler', 0)]"),
        (["import odd", "odd.log.handlers.clear(); odd.more()"], "[('Handler', 9)]"),
        (["import logging; logging.getLogger('odd').addHandler(logging.Handler(5))", "import odd"],
         "[('Handler', 5), ('StreamHandler', 0), ('Handler', 0)]"),
    ],
)  # fmt: skip
def test_what_a_cell_does_to_a_librarys_loggers_goes_along(story: Story, cells: list[str], expected: str) -> None:
    for code in cells:
        assert story.run(code).failed == []
    assert story.both(HANDLERS) == (expected, expected)


def test_modules_that_lead_to_each_other_are_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(own, "known", {})
    for name, other in (("ring_a", "ring_b"), ("ring_b", "ring_a")):
        (tmp_path / f"{name}.py").write_text(f"import {other}\n")
    import ring_a  # type: ignore[import-not-found]

    for name in ("ring_a", "ring_b"):
        own.take_in(sys.modules[name])
    own.set_names({name: [own.name_of(name, "x")] for name in ("ring_a", "ring_b")})
    seen: set[str] = set()
    try:
        assert len(own.expanded(own.marks([ring_a.__name__]), seen)) == 2
        assert seen == {"ring_a", "ring_b"}
        assert own.expanded(own.marks(["ring_b"]), seen) == set()
    finally:
        own.set_names({})


def test_an_import_warns_and_fails_as_python_has_it(story: Story, target: Path) -> None:
    """The frames of those who watch an import are none that a warning or a traceback names."""
    (target / "odd" / "old.py").write_text("import warnings\nwarnings.warn('odd.old goes', DeprecationWarning, 2)\n")
    (target / "odd" / "broken.py").write_text("1 / 0\n")
    assert "odd.old goes" in story.run("import odd.old").stderr
    failed = story.worker.run("import odd.broken", allow_error=True)
    assert "importing.py" not in str(failed.reply) and "_exec_module" not in str(failed.reply)


def test_what_an_import_attaches_to_the_root_logger_is_the_sessions(story: Story, target: Path) -> None:
    (target / "odd" / "loud.py").write_text("import logging\nlogging.root.addHandler(logging.Handler(7))\n")
    story.run("def begin():\n    import odd.loud\nbegin()")
    found = "[each.level for each in __import__('logging').root.handlers if each.level]"
    assert story.both(found) == ("[7]", "[7]")
