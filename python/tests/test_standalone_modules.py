"""Without the platform: the user's own modules, and processes that cells fork."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_standalone import Kernel, kernel, loaded, restart, shared


def test_undo_of_what_cells_made_of_a_module_of_their_own(loaded: Kernel, tmp_path: Path) -> None:
    text = "n = 0\\ncfg = {}\\ndef init(k):\\n    global n\\n    n = k; cfg[k] = 1\\n"
    text += "def version(): return 1\\nclass Some: pass\\n"
    loaded.run(f"import sys; sys.path.insert(0, '')\n_ = open('mine.py', 'w').write('{text}')")
    loaded.run("import mine; from mine import cfg, init; some = mine.Some()")
    look = "mine.n, cfg, mine.cfg is cfg, init is mine.init, mine.version()"
    loaded.run("init(5)")
    assert loaded.value(look) == "(5, {5: 1}, True, True, 1)"
    loaded.run("%undo")
    assert loaded.value(look) == "(0, {}, True, True, 1)"
    loaded.run("%redo")
    assert loaded.value(look) == "(5, {5: 1}, True, True, 1)"
    loaded.run(f"_ = open('mine.py', 'w').write('{text.replace('return 1', 'return 22')}')")
    loaded.run("import importlib; importlib.reload(mine); from mine import cfg, init; a = 1")
    assert loaded.value(look) == "(0, {}, True, True, 22)"
    loaded.run("%undo")
    assert loaded.value(look) == "(5, {5: 1}, True, True, 1)"
    assert loaded.value("isinstance(some, mine.Some)") == "True"
    loaded.run("%undo 3")  # the file that was written again, init(5), and the import
    assert loaded.value("'mine' in globals(), 'mine' in sys.modules") == "(False, False)"
    loaded.run("import mine")
    assert loaded.value("mine.n, mine.cfg, mine.version()") == "(0, {}, 22)"


def test_a_session_of_before_brings_its_modules_back(kernel: Callable[..., Kernel], tmp_path: Path) -> None:
    one = kernel()
    one.run("%load_ext banyan")
    one.run("import sys; sys.path.insert(0, '')\n_ = open('mine.py', 'w').write('cfg = {}')")
    one.run("import mine; mine.cfg['a'] = 1; mine.late = [2]")
    one.close()
    (tmp_path / "mine.py").unlink()
    two = kernel()
    said = two.run("%load_ext banyan").stdout
    two.run("%checkout " + said.partition("%checkout ")[2].split()[0])
    assert two.value("mine.cfg, mine.late") == "({'a': 1}, [2])"


@pytest.mark.parametrize(("code", "status"), [("y = 1", 0), ("1/0", 1), ("print('child', flush=True)", 0)])
def test_a_child_that_a_cell_has_forked_ends_with_it(loaded: Kernel, code: str, status: int) -> None:
    loaded.run("import os; x = 1")
    for number in range(5):
        loaded.run(f"x = {number}\npid = os.fork()\nif pid == 0:\n    {code}")
        ended = loaded.value("(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), x, 'y' in globals())")
        assert ended == f"({status}, {number}, False)"
    loaded.run("%undo 2")
    assert "intact" in loaded.run("%banyan check").stdout


__all__ = ["kernel", "loaded", "restart", "shared"]
