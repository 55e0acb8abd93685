"""Widgets are values: an undo brings their state back, and what observes them, under the id that pages know."""

from __future__ import annotations

from test_standalone import Kernel, loaded, shared

__all__ = ["loaded", "shared"]

_SLIDER = """
import ipywidgets as widgets
seen = []
slider = widgets.IntSlider(value=3)
slider.observe(lambda change: seen.append(change['new']), names='value')
"""


def test_an_undo_brings_a_widget_back_with_its_observers_and_its_id(loaded: Kernel) -> None:
    loaded.run(_SLIDER)
    before = loaded.value("slider.model_id")
    assert "cannot be" not in loaded.run("slider.value = 8").stderr
    loaded.run("%undo")
    assert loaded.value("slider.value, seen") == "(3, [])"
    loaded.run("slider.value = 5")
    assert loaded.value("slider.value, seen, slider.comm is not None") == "(5, [5], True)"
    assert loaded.value("slider.model_id") == before


def test_widgets_in_widgets_and_what_links_them_come_back(loaded: Kernel) -> None:
    loaded.run(
        "import ipywidgets as widgets\na, b = widgets.IntText(), widgets.IntText()\n"
        "box = widgets.VBox([a, b]); button = widgets.Button(); clicks = []\n"
        "button.on_click(lambda _: clicks.append(1)); link = widgets.link((a, 'value'), (b, 'value'))"
    )
    loaded.run("a.value = 7")
    loaded.run("button.click()")
    loaded.run("%undo 2")
    assert loaded.value("a.value, b.value, clicks, box.children == (a, b)") == "(0, 0, [], True)"
    loaded.run("a.value = 2; button.click()")
    assert loaded.value("b.value, clicks") == "(2, [1])"


def test_the_widgets_of_a_cell_that_is_undone_are_gone(loaded: Kernel) -> None:
    loaded.run("import ipywidgets as widgets\nfrom ipywidgets import interact")
    count = "len(get_ipython().kernel.comm_manager.comms)"
    before = loaded.value(count)
    loaded.run("interact(lambda x: x, x=3);")
    assert loaded.value(count) != before
    loaded.run("%undo 2")
    assert loaded.value(count) == before
    loaded.run("%redo")
    assert loaded.value(count) != before


def test_a_widget_that_cannot_be_saved_is_made_again_and_is_not_there_twice(loaded: Kernel) -> None:
    loaded.run(_SLIDER)
    loaded.run("other = widgets.IntSlider(value=1); numbers = (n for n in range(3)); other.numbers = numbers")
    count = "len(get_ipython().kernel.comm_manager.comms)"
    before = loaded.value(count)
    loaded.run("next(numbers); other.value = 2")
    loaded.run("%undo")
    assert loaded.value("other.value, next(numbers)") == "(1, 0)"
    assert loaded.value(count) == before


def test_bars_of_tqdm_come_back_as_texts_and_as_widgets(loaded: Kernel) -> None:
    for module, variable in (("tqdm", "text"), ("tqdm.notebook", "shown")):
        loaded.run(f"from {module} import tqdm\n{variable} = tqdm(range(5))\nfor _ in tqdm(range(3)): pass")
        loaded.run(f"{variable}.update(1)")
        assert "cannot be" not in loaded.run("%undo").stderr
        assert loaded.value(f"{variable}.n, {variable}.update(2) or 0, {variable}.n").endswith(", 2)")
    # A bar shows what it has at most ten times a second, unless it is asked to.
    assert loaded.value("shown.refresh() and shown.container.children[1].value") == "2.0"
    loaded.run("shown.update(1); text.update(1)")  # they were loaded, and are saved and loaded once more
    assert "cannot be" not in loaded.run("%undo").stderr
    assert loaded.value("shown.n, text.n") == "(2, 2)"
