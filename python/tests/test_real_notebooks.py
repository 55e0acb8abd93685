"""What public notebooks showed when cells were undone, redone and checked out in a stock kernel."""

from __future__ import annotations

from pathlib import Path

from test_standalone import Kernel, loaded, restart, shared

__all__ = ["loaded", "shared"]


def test_an_undo_past_a_cell_that_runs_again_takes_its_settings_back(loaded: Kernel) -> None:
    loaded.run("import numpy as np\ng = (i for i in [1, 2, 3])")
    loaded.run("np.set_printoptions(precision=6); next(g)")
    loaded.run("y = 1")
    loaded.run("%undo 2")
    look = "np.get_printoptions()['precision'], next(g)"
    assert loaded.value("np.get_printoptions()['precision']") == "8"
    loaded.run("%redo")
    assert loaded.value(look) == "(6, 2)"


def test_a_library_that_a_checkout_imports_finds_a_notebook(loaded: Kernel, tmp_path: Path) -> None:
    (tmp_path / "shows.py").write_text("WIDE = 'zmq' in str(type(get_ipython()))\nclass Thing: pass\n")
    loaded.run("import shows; thing = shows.Thing()")
    loaded.run("!exit 4")
    restart(loaded, tmp_path)
    loaded.run("%load_ext banyan")
    loaded.run("%checkout HEAD~1")
    assert loaded.value("shows.WIDE, _exit_code") == "(True, 4)"


def test_reading_a_widget_is_no_change_of_it(loaded: Kernel) -> None:
    loaded.run("from ipywidgets import IntSlider\ns = IntSlider(value=3)")
    loaded.run("s.value = 7")
    loaded.run("s.value")
    loaded.run("%undo")
    assert loaded.value("s.value") == "3"
    loaded.run("%redo")
    assert loaded.value("s.value") == "7"


def test_a_reason_that_many_have_in_common_is_said_once(loaded: Kernel) -> None:
    cell = loaded.run("import threading\na, b, c = (threading.Lock() for _ in range(3))")
    (line,) = cell.stderr.splitlines()
    assert line.startswith("banyan: 'a' (_thread.lock), 'b' (_thread.lock), 'c' (_thread.lock) cannot be saved")


def test_figures_of_cells_that_run_again_are_not_shown_by_the_next_one(loaded: Kernel) -> None:
    loaded.run("import matplotlib.pyplot as plt")
    loaded.run("figure, axes = plt.subplots(); axes.plot([1, 2]); figure.live = (i for i in [1])")
    loaded.run("figure.live = None; axes = None; figure = 1; x = 1")
    loaded.run("%undo")
    assert loaded.value("type(figure).__name__") == "'Figure'"
    assert loaded.run("x = 2").result is None


def test_a_large_set_that_a_cell_looks_at_is_not_changed_and_can_be_undone(loaded: Kernel, tmp_path: Path) -> None:
    loaded.run("texts = {str(i) for i in range(100_000)}")
    loaded.run("texts.add('one more')")
    loaded.run("len(texts), '7' in texts")
    loaded.run("%undo")
    assert loaded.value("len(texts), '7' in texts, 'one more' in texts") == "(100000, True, False)"
    loaded.run("%redo")
    restart(loaded, tmp_path)
    loaded.run("%load_ext banyan")
    loaded.run("%checkout HEAD~1")
    assert loaded.value("len(texts), '7' in texts, 'one more' in texts") == "(100001, True, True)"
