"""Notebook files are read as their comments say, and the bench names what a way of moving a session has lost."""

from pathlib import Path

import pytest
from _corpus_run import Bench
from _notebook_files import Notebook, Unexpected, read

_FILE = '''"""Lists under two names."""

# order: 1 2 1

# %%
a = []
b = [a]
# %time a.append(1)

# %% raises ZeroDivisionError
1 / 0
'''


@pytest.fixture
def notebook(tmp_path: Path) -> Notebook:
    path = tmp_path / "lists.py"
    path.write_text(_FILE)
    return read(path)


def test_a_file_is_read(notebook: Notebook) -> None:
    first, second, again = notebook.cells
    assert notebook.about == "Lists under two names."
    assert first is again
    assert first.code == "a = []\nb = [a]\n%time a.append(1)"
    assert second.raises == {"ZeroDivisionError"}
    assert second.tags == first.tags == frozenset()
    assert not notebook.differs


def test_tags_of_cells(tmp_path: Path) -> None:
    path = tmp_path / "tagged.py"
    path.write_text('"""One."""\n\n# %% tagged rerun-always copy-always\na = 1\n')
    given = []
    read(path).run(lambda _code, tags: given.append(tags))
    assert given == [["copy-always", "rerun-always"]]


def test_an_error_that_is_not_announced_is_told(notebook: Notebook) -> None:
    with pytest.raises(Unexpected, match="lists, cell 1: NameError: no"):
        notebook.run(lambda code, _tags: "NameError: no" if "a =" in code else "ZeroDivisionError: x")


def test_an_announced_error_has_to_come(notebook: Notebook) -> None:
    with pytest.raises(Unexpected, match="cell 2: raised nothing"):
        notebook.run(lambda _code, _tags: None)


def test_ways_are_judged(notebook: Notebook, tmp_path: Path) -> None:
    rows = Bench(["re-run all", "%store", "load all"]).measure([notebook], 1, tmp_path)
    assert {row["way"]: row["correct"] for row in rows} == {"re-run all": True, "%store": False, "load all": True}
    assert rows[1]["reason"] == "b[0]: is a, now list"
    assert all(row["bytes"] > 0 and row["restore_s"] >= 0 for row in rows)
