"""Cells that run again leave what their first run left, and an undo says what it cannot take back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from test_standalone import Kernel, kernel, loaded, shared

__all__ = ["kernel", "loaded", "shared"]


def test_an_object_that_took_a_stream_keeps_the_real_one(loaded: Kernel) -> None:
    loaded.run(
        "import sys, threading\n"
        "class Says:\n    def __init__(self):\n"
        "        self.lock, self.out, self.err = threading.Lock(), sys.stdout, sys.stderr\n"
        "        self.write = sys.stdout.write\n"
        "    def say(self, text):\n"
        "        print(text, file=self.out); print(text, file=self.err); self.write(text)\n"
    )
    loaded.run("print('heard once'); says = Says(); g = (i for i in range(3))")
    loaded.run("says.say('first'); next(g)")
    undone = loaded.run("%undo")
    assert "heard once" not in undone.stdout
    said = loaded.run("says.say('second')")
    assert said.stdout.split() == ["second", "second"] and "second" in said.stderr
    assert loaded.value("says.out is sys.stdout, next(g)") == "(True, 0)"
    assert loaded.value("type(vars(sys.stdout).get('write')).__name__") != "_Mute"


def test_nothing_is_displayed_and_the_publisher_stays(loaded: Kernel) -> None:
    loaded.run("from IPython.display import display")
    loaded.run("pub = get_ipython().display_pub; display(1); g = (i for i in range(3)); 7")
    loaded.run("next(g)")
    assert loaded.run("%undo").result is None
    assert loaded.run("pub.publish({'text/plain': 'seen'})").result == "seen"
    assert loaded.value("pub is get_ipython().display_pub, next(g)") == "(True, 0)"


def test_unseeded_numbers_are_those_of_the_first_run_also_of_a_library_that_the_cell_imports(loaded: Kernel) -> None:
    loaded.run(
        "import random, numpy as np\nclass Stays:\n    def __init__(self):\n"
        "        self.drawn = [random.random(), float(np.random.rand()), float(np.random.normal())]\n"
        "    def __reduce__(self): raise TypeError\n"
        "numbers = Stays()"
    )
    drawn = loaded.value("numbers.drawn")
    loaded.run("numbers.drawn.append(random.random() + np.random.rand())")
    undone = loaded.run("%undo")
    assert loaded.value("numbers.drawn") == drawn, undone


@pytest.mark.parametrize(
    ("bases", "change", "look"),
    [
        pytest.param("", "x.has.append(2)", "x.has", id="in an attribute"),
        pytest.param("", "x.has = x", "x.has is x", id="that then holds itself"),
        pytest.param("Slots", "x.slot = 5", "x.slot", id="a slot"),
        pytest.param("dict", "x['a'] = 5", "len(x)", id="an item"),
        pytest.param("list", "x.append(5)", "len(x)", id="an element"),
        pytest.param("bytearray", "x.extend(b'5')", "len(x)", id="a byte"),
        pytest.param("Pair", "x[0].append(2)", "x[0]", id="an item that stays where it is"),
        pytest.param("Thread", "x.has.append(2)", "x.has", id="that derives from a library's class"),
    ],
)
def test_a_change_of_an_object_that_refuses_to_be_saved_is_seen(
    loaded: Kernel, bases: str, change: str, look: str
) -> None:
    loaded.run(
        "from threading import Thread\nclass Pair(tuple):\n    def __new__(cls): return tuple.__new__(cls, ([],))\n"
        "    def __init__(self): pass\nclass Slots:\n    __slots__ = ('slot',)\n    slot: object\n"
        f"class Refuses({bases}):\n    def __init__(self):\n        super().__init__(); self.has = [1]; self.slot = 0\n"
        "    def __reduce_ex__(self, protocol): raise TypeError('not to be saved')\nx = Refuses()"
    )
    before = loaded.value(look)
    loaded.run(change)
    after = loaded.value(look)
    assert after != before
    undone = loaded.run("%undo")
    assert loaded.value(look) == before, undone


def test_an_object_that_raises_whatever_it_is_asked_is_none_that_changes(loaded: Kernel) -> None:
    loaded.run(
        "class Proxy:\n    __slots__ = ('unset',)\n    __class__ = property(lambda self: dict)\n"
        "    def __getattr__(self, name): raise RuntimeError(name)\n"
        "    def __reduce_ex__(self, protocol): raise TypeError\nproxy, seen = Proxy(), []"
    )
    loaded.run("seen.append(proxy is None)")
    undone = loaded.run("%undo")
    assert undone.stdout.splitlines()[1:] == ["  restored: seen (16 B)"]


def test_unseeded_numbers_of_torch_are_those_of_the_first_run(loaded: Kernel) -> None:
    pytest.importorskip("torch")
    loaded.run(
        "import torch\nclass Stays:\n    def __init__(self): self.drawn = torch.rand(2).tolist()\n"
        "    def __reduce__(self): raise TypeError\nnumbers = Stays()"
    )
    drawn = loaded.value("numbers.drawn")
    loaded.run("numbers.drawn.append(torch.rand(1).item())")
    loaded.run("%undo")
    assert loaded.value("numbers.drawn") == drawn


def test_the_use_of_a_librarys_handle_is_no_change_of_it(loaded: Kernel) -> None:
    """After a move the cell that made it runs again, and not one that sent something with it."""
    loaded.run(
        "made = {'__name__': 'some_library'}\n"
        "exec('class Pool:\\n used = 0\\n def __reduce__(self): raise TypeError', made)\n"
        "pool, sent = made['Pool'](), []"
    )
    loaded.run("pool.used += 1; sent.append(1)")
    undone = loaded.run("%undo")
    assert undone.stdout.splitlines()[1:] == ["  restored: sent (16 B)"]


def test_handlers_and_hooks_are_not_doubled(loaded: Kernel) -> None:
    loaded.run(
        "import logging, atexit, gc, sys\nlog = logging.getLogger('mine')\nlog.propagate = False\n"
        "heard = []\nclass Keeps(logging.Handler):\n    def emit(self, record): heard.append(record.getMessage())\n"
    )
    loaded.run(
        "keeps, g = Keeps(), (i for i in range(3))\n"
        "log.addHandler(keeps); log.addHandler(logging.StreamHandler(sys.stdout))\n"
        "def after(): heard.append('after')\n"
        "get_ipython().events.register('post_run_cell', lambda _: heard.append('cell'))\natexit.register(after)"
    )
    count = loaded.value("atexit._ncallbacks()")
    loaded.run("next(g)")
    loaded.run("%undo")
    assert loaded.value("len(log.handlers), keeps in log.handlers, next(g)") == "(2, True, 0)"
    assert loaded.value("atexit._ncallbacks()") == count
    assert loaded.run("heard.clear(); log.error('once')").stdout == "once\n"
    assert loaded.value("heard") == "['once', 'cell']"
    loaded.run("del get_ipython().events.callbacks['post_run_cell'][-1]; atexit.unregister(after)")


def test_the_thread_of_the_first_run_ends(loaded: Kernel) -> None:
    loaded.run("import threading, time\nbeats = []")
    loaded.run(
        "def beat():\n    while True:\n        beats.append(threading.get_ident()); time.sleep(0.02)\n"
        "t = threading.Thread(target=beat, daemon=True); t.start(); g = (i for i in range(3))"
    )
    loaded.run("next(g)")
    loaded.run("%undo")
    loaded.run("beats.clear()")
    time.sleep(0.3)
    assert loaded.value("len(set(beats)), t.ident in beats, next(g)") == "(1, True, 0)"


def test_a_thread_that_does_not_end_is_named_and_not_doubled(loaded: Kernel) -> None:
    loaded.run("import threading, time")
    loaded.run(
        "def sleep(): time.sleep(600)\n"
        "t = threading.Thread(target=sleep, daemon=True, name='sleeper'); t.start(); g = (i for i in range(3))"
    )
    loaded.run("next(g)")
    assert "the thread 'sleeper' that its cell began still runs" in loaded.run("%undo").stderr
    assert loaded.value("sum(each.name == 'sleeper' for each in threading.enumerate())") == "1"


def test_the_task_of_the_first_run_ends(loaded: Kernel) -> None:
    loaded.run("import asyncio\nbeats = []")
    loaded.run(
        "async def beat(me):\n    while True:\n        beats.append(me); await asyncio.sleep(0.02)\n"
        "me = object(); g = (i for i in range(3)); task = asyncio.get_running_loop().create_task(beat(id(me)))"
    )
    loaded.run("next(g)")
    loaded.run("%undo")
    loaded.run("beats.clear()")
    time.sleep(0.3)
    assert loaded.value("len(set(beats)), next(g)") == "(1, 0)"


def test_an_undo_says_what_goes_from_the_disk_and_what_stays(loaded: Kernel, tmp_path: Path) -> None:
    loaded.run("import tempfile")
    loaded.run("kept = [tempfile.TemporaryDirectory()]; folder = kept[0].name")
    undone = loaded.run("%undo").stdout
    assert "removes from the disk: /tmp" in undone and "stays" not in undone
    loaded.run(f"y = 1; open({str(tmp_path / 'log')!r}, 'w').close()")
    assert f"stays, outside of the session: wrote {tmp_path / 'log'}" in loaded.run("%undo").stdout
    loaded.run("z = 1")
    loaded.run(f"open({str(tmp_path / 'log')!r}, 'w').close()")
    loaded.run("print(z)")
    refused = loaded.run("%undo")
    assert "cannot be undone" in refused.stderr and "%undo 2" in refused.stderr
    loaded.run("%undo 2")
    assert loaded.value("'z' in globals()") == "False"


def test_one_redo_takes_a_whole_undo_back(loaded: Kernel) -> None:
    for code in ("a = 1", "b = 2", "import numpy as np; np.set_printoptions(precision=3)"):
        loaded.run(code)
    assert "np.set_printoptions" in loaded.run("%undo").stdout + loaded.run("%redo").stdout
    loaded.run("%undo 3")
    assert loaded.value("'a' in globals()") == "False"
    loaded.run("%redo")
    assert loaded.value("a, b, np.get_printoptions()['precision']") == "(1, 2, 3)"


def test_a_cell_finds_the_context_variables_that_it_had_and_the_next_one_what_it_sets(loaded: Kernel) -> None:
    loaded.run(
        "import contextvars\nasked, told = contextvars.ContextVar('asked', default=0), contextvars.ContextVar('told')"
    )
    loaded.run("_ = asked.set(7)")
    loaded.run("seen = asked.get(); told.set(seen + 1); g = (i for i in range(3))")
    loaded.run("next(g)")
    assert loaded.run("%undo").status == "ok"
    assert loaded.value("seen, asked.get(), told.get(), next(g)") == "(7, 7, 8, 0)"
