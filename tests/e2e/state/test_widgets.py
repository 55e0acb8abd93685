"""Widgets and comms on all ways that a session takes: a widget in a page works on, or the page is told that it
ended."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from harness.wire import Message
from notebook import Notebook
from ways import MOVES

_SLIDER = """
import ipywidgets as widgets
seen = []
def moved(change):
    seen.append(change['new'])
slider = widgets.IntSlider(value=3, description='mine')
slider.observe(moved, names='value')
"""


@dataclass
class Page:
    """The comms that a page knows from the messages it has received: the state of each open comm, by the comm's id."""

    notebook: Notebook
    open: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, message: Message) -> None:
        comm, data = message.content.get("comm_id", ""), message.content.get("data", {})
        if message.type == "comm_open":
            assert comm not in self.open, "a second model under one id would be another one"
            self.open[comm] = dict(data.get("state", {}))
        elif message.type == "comm_msg" and data.get("method") == "update":
            self.open[comm] |= data["state"]
        elif message.type == "comm_close":
            self.open.pop(comm, None)

    def run(self, code: str) -> None:
        self.notebook.ok(code)

    def value(self, expression: str) -> str:
        return self.notebook.ok(expression).result or "None"

    def only(self, model: str) -> str:
        """The id of the only open comm with this model."""
        (found,) = [comm for comm, state in self.open.items() if state.get("_model_name") == model]
        return found

    def move(self, comm: str, value: object) -> None:
        """Does to the platform what a page does when a person moves the slider."""
        self.open[comm]["value"] = value
        self.say(comm, {"method": "update", "state": {"value": value}, "buffer_paths": []})

    def say(self, comm: str, data: object) -> None:
        session = self.notebook.session
        sent = session.send("shell", "comm_msg", {"comm_id": comm, "data": data})
        session.wait_for(lambda m: m.parent == sent and m.content.get("execution_state") == "idle")

    def wait(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.notebook.session.receive(20.0)


@pytest.fixture
def page(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> Page:
    page = Page(notebook)
    receive = notebook.session.receive

    def receive_and_take(*timeout: float) -> Message:
        message = receive(*timeout)
        page.take(message)
        return message

    monkeypatch.setattr(notebook.session, "receive", receive_and_take)
    return page


@pytest.mark.parametrize("way", MOVES)
def test_a_widget_works_on_after_a_move(page: Page, way: str) -> None:
    page.run(_SLIDER)
    slider = page.only("IntSliderModel")
    page.move(slider, 5)
    assert page.value("slider.value, seen") == "(5, [5])"
    opened = set(page.open)
    assert MOVES[way](page.notebook) == []
    page.move(slider, 7)
    assert page.value("slider.value, seen, slider.model_id") == f"(7, [5, 7], {slider!r})"
    page.run("slider.description = 'said by the kernel'")
    assert page.open[slider]["description"] == "said by the kernel"
    assert set(page.open) == opened, "none was opened twice or closed"


def test_what_a_page_said_and_a_host_took_along_is_put_right_there(page: Page) -> None:
    page.run(_SLIDER)
    slider = page.only("IntSliderModel")
    page.move(slider, 5)
    page.notebook.fail_over()  # no cell has run since the move, so only the page and the worker know the 5
    assert page.value("slider.value") == str(page.open[slider]["value"])


def test_an_undo_puts_a_widget_back_also_where_it_is_shown(page: Page) -> None:
    page.run(_SLIDER)
    slider = page.only("IntSliderModel")
    page.run("slider.value = 8")
    assert page.open[slider]["value"] == 8
    page.run("%undo")
    page.wait(lambda: page.open[slider]["value"] == 3)  # the page shows it before the next cell runs
    assert page.value("slider.value") == "3"
    page.move(slider, 4)
    assert page.value("slider.value") == "4"


def test_the_undo_of_a_widgets_cell_closes_it_and_a_redo_opens_it_anew(page: Page) -> None:
    page.run("x = 1")
    page.run(_SLIDER)
    slider = page.only("IntSliderModel")
    page.run("%undo")
    page.wait(lambda: page.open == {})
    page.run("%redo")
    page.wait(lambda: slider in page.open)
    assert page.value("slider.value") == "3"
    assert page.only("IntSliderModel") == slider
    assert page.open[slider]["description"] == "mine"
    page.move(slider, 6)
    assert page.value("slider.value, seen") == "(6, [6])"


@pytest.mark.parametrize("way", MOVES)
def test_what_interact_shows_works_on(page: Page, way: str) -> None:
    page.run("from ipywidgets import interact\ncalls = []\ndef f(x):\n    calls.append(x)\ninteract(f, x=3);")
    slider = page.only("IntSliderModel")
    assert MOVES[way](page.notebook) == []
    page.move(slider, 7)
    assert page.value("calls") == "[3, 7]"


@pytest.mark.parametrize("way", MOVES)
def test_a_comm_that_cannot_be_kept_is_closed(page: Page, way: str) -> None:
    page.run("from comm import create_comm\nmine = create_comm(target_name='mine')")
    (mine,) = page.open
    MOVES[way](page.notebook)
    page.run("1 + 1")
    assert page.value("mine.comm_id") != f"{mine!r}"
    assert mine not in page.open
    (remade,) = page.open
    assert page.value("mine.comm_id") == repr(remade)


def test_what_a_page_says_to_a_comm_that_is_not_there_is_answered_by_its_end(page: Page) -> None:
    page.open["gone"] = {}
    page.say("gone", {})
    assert page.open == {}


def test_a_widget_whose_cell_runs_again_is_opened_anew(page: Page) -> None:
    """The widget holds a generator, which cannot be saved: its cell runs again and makes another widget, and the page
    is told that the first one ended."""
    page.run(
        "import ipywidgets as widgets\n"
        "slider = widgets.IntSlider(value=3)\n"
        "lines = (n for n in range(9))\n"
        "slider.observe(lambda change: next(lines), names='value')\n"
        "slider.lines = lines"
    )
    first = page.only("IntSliderModel")
    page.notebook.fail_over()
    assert page.value("slider.value") == "3"
    second = page.only("IntSliderModel")
    assert second != first
    page.move(second, 6)
    assert page.value("slider.value") == "6"


_MANY = """
import ipywidgets, traitlets
from tqdm.notebook import tqdm
log = []
class Model:
    def __init__(self):
        self.text = ipywidgets.Text(value='a')
        self.text.observe(self.changed, names='value')
        self.got = []
    def changed(self, change):
        self.got.append(change['new'])
model = Model()
button = ipywidgets.Button(description='press')
@button.on_click
def clicked(pressed):
    log.append(pressed.description)
out = ipywidgets.Output()
with out:
    print('inside')
image = ipywidgets.Image(value=b'\\x00\\xff')
tab = ipywidgets.Tab(children=[ipywidgets.IntText(1), ipywidgets.Dropdown(options=['x', 'y'])])
play, slider = ipywidgets.Play(), ipywidgets.IntSlider()
linked = ipywidgets.jslink((play, 'value'), (slider, 'value'))
one, two = ipywidgets.IntText(1), ipywidgets.IntText(2)
traitlets.dlink((one, 'value'), (two, 'value'))
shown = ipywidgets.interactive_output(lambda x: log.append(x), {'x': slider})
bar = tqdm(range(9))
for _ in tqdm(range(3)):
    bar.update(1)
"""


def test_widgets_of_all_sorts_work_on(page: Page) -> None:
    """Widgets that are nested, linked, pressed, have bytes or a class of the user's, and progress bars."""
    page.run(_MANY)
    ids = {name: ast.literal_eval(page.value(f"{name}.model_id")) for name in ("model.text", "button", "one", "slider")}
    opened = set(page.open)
    log = [0]
    for turn, way in enumerate(MOVES):
        assert MOVES[way](page.notebook) == []
        page.move(ids["model.text"], f"turn {turn}")
        page.say(ids["button"], {"method": "custom", "content": {"event": "click"}})
        page.move(ids["one"], 10 + turn)
        page.move(ids["slider"], 20 + turn)
        log += ["press", 20 + turn]
        assert page.value("log, model.got[-1], two.value") == f"({log}, 'turn {turn}', {10 + turn})"
        page.run("bar.update(1)")
        assert page.value("bar.n, image.value, tab.children[1].value") == f"({4 + turn}, b'\\x00\\xff', 'x')"
        assert set(page.open) == opened
