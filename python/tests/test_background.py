"""Work that goes on between cells is named as long as it goes on, and no cell that began it runs again by itself."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest
from conftest import Worker

from banyan.background.threads import Threads
from banyan.state import serialise

SETUP = """
import _thread, asyncio, concurrent.futures, functools, multiprocessing, multiprocessing.pool, os, subprocess, threading
import time
stop = []
def work():
    while not stop: time.sleep(0.01)
async def waits():
    while not stop: await asyncio.sleep(0.01)
class Works:
    def __call__(self): work()
    def method(self): work()
class W(threading.Thread):
    def run(self): work()
fork = multiprocessing.get_context('fork')
"""

# How each begins, and what it is called.
ENDS_WITH_STOP = {
    "thread": ("threading.Thread(target=work, name='w').start()", "thread w runs work"),
    "daemon": ("threading.Thread(target=work, name='w', daemon=True).start()", "thread w runs work"),
    "variable": ("t = threading.Thread(target=work, name='w'); t.start()", "thread w runs work"),
    "partial": ("threading.Thread(target=functools.partial(work), name='w').start()", "thread w runs work"),
    "method": ("threading.Thread(target=Works().method, name='w').start()", "thread w runs Works.method"),
    "called object": ("threading.Thread(target=Works(), name='w').start()", "thread w runs Works"),
    "subclass": ("W(name='w').start()", "thread w runs W.run"),
    "of a method of a library": (
        "threading.Thread(target=concurrent.futures.ThreadPoolExecutor(1, 'p').submit(work).result, name='w').start()",
        "thread w runs Future.result",
    ),
    "bare": ("i = _thread.start_new_thread(work, ()); time.sleep(0.05)", "thread {i} runs work"),
    "loop of its own": (
        "threading.Thread(target=asyncio.run, args=(waits(),), name='w').start()",
        "thread w runs run",
    ),
    "pool": (
        "pool = concurrent.futures.ThreadPoolExecutor(1, 'p'); pool.submit(work) and None",
        "thread p_0 runs work",
    ),
    "pool of multiprocessing": (
        "pool = multiprocessing.pool.ThreadPool(1); pool.apply_async(work) and None",
        "pool of multiprocessing has a call to make",
    ),
    "executor of the loop": (
        "_ = asyncio.get_running_loop().run_in_executor(None, work)",
        "thread asyncio_0 runs work",
    ),
    "task": ("_ = asyncio.create_task(waits(), name='t')", "task t runs waits"),
    "task around another": ("_ = asyncio.create_task(asyncio.wait_for(waits(), 600), name='t')", " runs waits"),
    "loop in a thread of a library": (
        "pool = concurrent.futures.ThreadPoolExecutor(1, 'p'); pool.submit(asyncio.run, waits()); time.sleep(0.1)",
        " runs waits",
    ),
}


@pytest.mark.parametrize("kind", ENDS_WITH_STOP)
def test_it_is_named_until_it_ends(worker: Worker, kind: str) -> None:
    begin, name = ENDS_WITH_STOP[kind]
    worker.run(SETUP)
    cell = worker.run(begin)
    name = name.replace("{i}", worker.value("str(globals().get('i'))").strip("'"))
    assert any(work.endswith(name) for work in cell.body["work"])
    assert cell.body["begun"] == cell.body["work"]
    assert f"banyan: goes on after this cell: {cell.body['work'][0]}" in cell.stderr
    worker.run("await asyncio.sleep(0.01)")
    later = worker.run("x = 1")
    assert any(work.endswith(name) for work in later.body["work"])
    assert (later.body["begun"], later.stderr) == ([], "")
    worker.run("stop.append(1); await asyncio.sleep(0.3)")
    assert worker.run("y = 1").body["work"] == []


ENDS_OTHERWISE = {
    "timer": ("t = threading.Timer(600, work); t.name = 'T'; t.start()", "t.cancel(); t.join()", "timer T runs work"),
    "call of the loop": (
        "h = asyncio.get_running_loop().call_later(600, work)",
        "h.cancel()",
        "timer of the event loop calls work",
    ),
    "wrapped call of the loop": (
        "h = asyncio.get_running_loop().call_later(600, functools.partial(int, 0), functools.partial(work))",
        "h.cancel()",
        "timer of the event loop calls work",
    ),
    "periodic call of tornado": (
        "import tornado.ioloop; h = tornado.ioloop.PeriodicCallback(work, 600000); h.start()",
        "h.stop()",
        "timer of the event loop calls work",
    ),
    "thread of a library's function": (
        "e = threading.Event(); threading.Thread(target=e.wait, name='w').start()",
        "e.set()",
        "thread w runs Event.wait",
    ),
    "pool with a function of Python": (
        "e = threading.Event(); p = concurrent.futures.ThreadPoolExecutor(1, 'p'); p.submit(e.wait) and None",
        "e.set()",
        "thread p_0 runs Event.wait",
    ),
    "process": ("p = fork.Process(target=time.sleep, args=(600,), name='P'); p.start()", "p.kill(); p.join()",
                "process P"),
    "process without a variable": (
        "def begin():\n    p = fork.Process(target=work, name='P'); p.start(); return p.pid\npid = begin()",
        "os.kill(pid, 9)",
        "process P",
    ),
    "executor with processes": (
        "e = concurrent.futures.ProcessPoolExecutor(1, fork); f = e.submit(time.sleep, 1)",
        "e.shutdown()",
        "pool of processes has a call to make",
    ),
    "pool with processes": (
        "e = fork.Pool(1); f = e.apply_async(time.sleep, (1,))",
        "f.get(); e.terminate()",
        "pool of multiprocessing has a call to make",
    ),
    "command": ("p = subprocess.Popen(['sleep', '600']); pid = p.pid", "p.kill(); p.wait()",
                "process {pid} runs sleep 600"),
    "command without a variable": (
        "def begin(): return subprocess.Popen(['sleep', '600']).pid\npid = begin()",
        "os.kill(pid, 9)",
        "process {pid} runs sleep 600",
    ),
    "command of asyncio": (
        "p = await asyncio.create_subprocess_exec('sleep', '600'); pid = p.pid",
        "p.kill(); await p.wait()",
        "process {pid} runs sleep 600",
    ),
    "spawned": ("pid = os.posix_spawn('/bin/sleep', ['sleep', '600'], os.environ)", "os.kill(pid, 9)",
                "process {pid} runs sleep 600"),
    "forked": (
        "pid = os.fork()\nif pid == 0:\n    time.sleep(600); os._exit(0)",
        "os.kill(pid, 9); os.waitpid(pid, 0)",
        "process {pid}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDS_OTHERWISE)
def test_so_are_timers_pools_and_processes(worker: Worker, kind: str) -> None:
    begin, end, name = ENDS_OTHERWISE[kind]
    worker.run(SETUP)
    cell = worker.run(begin)
    name = name.replace("{pid}", worker.value("str(globals().get('pid'))").strip("'"))
    assert cell.body["work"] == [name]
    assert cell.body["begun"] == [name]
    worker.run(end + "\ntime.sleep(0.2)")
    assert worker.run("y = 1").body["work"] == []


def test_what_is_idle_or_a_librarys_or_the_kernels_is_no_work(worker: Worker) -> None:
    worker.run(SETUP)
    cell = worker.run(
        "pool = concurrent.futures.ThreadPoolExecutor(1); pool.submit(work.__class__) and None\n"
        "threads = multiprocessing.pool.ThreadPool(1); threads.apply(int)\n"
        "forked = fork.Pool(1); forked.apply(int)\n"
        "executor = concurrent.futures.ProcessPoolExecutor(1, fork); executor.submit(int).result()\n"
        "spawned = multiprocessing.get_context('forkserver').Process(target=int); spawned.start(); spawned.join()\n"
        "from tqdm.auto import tqdm\nlist(tqdm(range(3), disable=False)) and None\n"
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.close('all')\n"
        "threading.Thread(target=time.sleep, args=(0.01,)).start(); await asyncio.sleep(0.1)"
    )
    assert (cell.error, cell.body["work"]) == (None, [])
    cell = worker.run("%%bash --bg\ntrue")
    cell = worker.run("time.sleep(0.2); subprocess.run(['true']); await asyncio.sleep(0.01)")
    assert cell.body["work"] == []
    worker.run("forked.terminate(); executor.shutdown()")


def test_a_thread_of_the_users_own_module_is_work(worker: Worker) -> None:
    worker.run("import sys, time, tempfile, pathlib; folder = tempfile.mkdtemp(); sys.path.insert(0, folder)")
    source = "import threading, time\\ndef poll(): time.sleep(1)\\ndef begin(): threading.Thread(target=poll).start()"
    worker.run(f"_ = pathlib.Path(folder, 'polls.py').write_text('{source}')")
    cell = worker.run("import polls; polls.begin()")
    assert [work.rpartition(" ")[2] for work in cell.body["work"]] == ["poll"]
    time.sleep(1.2)
    assert worker.run("x = 1").body["work"] == []


def test_two_alike_are_two(worker: Worker) -> None:
    worker.run(SETUP)
    cell = worker.run("for _ in range(2): threading.Thread(target=work, name='w').start()")
    assert cell.body["work"] == ["thread w runs work", "thread w runs work (2)"]
    worker.run("stop.append(1)")


def test_a_cell_whose_author_says_so_may_run_again(worker: Worker) -> None:
    worker.run(SETUP)
    cell = worker.run("%%rerun always\nthreading.Thread(target=work).start()")
    assert (cell.body["begun"], len(cell.body["work"])) == ([], 1)
    worker.run("stop.append(1)")


@pytest.mark.parametrize(
    "begin",
    [
        "pool = concurrent.futures.ThreadPoolExecutor(1); future = pool.submit(work)",
        "handle = asyncio.get_running_loop().call_later(600, work)",
        "e = threading.Event(); threading.Thread(target=e.wait).start()",
    ],
)
def test_a_cell_whose_work_cannot_be_ended_does_not_run_again(worker: Worker, begin: str) -> None:
    worker.run(SETUP)
    code = f"runs.append(1); g = (i for i in range(3)); {begin}"
    worker.run("runs = []")
    worker.run(code)
    repeated = worker.repeat(code)
    assert "its cell began what still goes on" in repeated["error"]
    assert worker.value("runs") == "[1]"
    worker.run("stop.append(1); [each.set() for each in [globals().get('e')] if each]")


def test_what_a_cell_begins_that_runs_again_is_not_the_next_ones(worker: Worker) -> None:
    worker.run(SETUP)
    assert worker.repeat("threading.Thread(target=work, name='w').start()")["error"] == ""
    cell = worker.run("x = 1")
    assert (cell.body["begun"], cell.body["work"]) == ([], ["thread w runs work"])
    worker.run("stop.append(1)")


def test_a_thread_that_has_just_begun_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """`start` returns before the thread is among the active ones."""
    until = threading.Event()

    class Started(threading.Event):
        def set(self) -> None:
            super().set()
            until.wait()

    threads = Threads()
    monkeypatch.setattr(serialise, "_namespace", globals())  # what is started here is the user's
    started = threading.Thread(target=until.wait, name="w")
    started._started = Started()  # type: ignore[attr-defined]
    started.start()
    found = threads.at_work()
    until.set()
    assert found == ["thread w runs Event.wait"]


def test_a_thread_with_the_identifier_of_one_that_was_there_before_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python gives a thread's identifier to the next one when the first has ended."""
    until = threading.Event()
    before = [threading.Thread(target=until.wait) for _ in range(20)]
    for thread in before:
        thread.start()
    threads = Threads()
    until.set()
    for thread in before:
        thread.join()
    again = threading.Event()
    monkeypatch.setattr(serialise, "_namespace", globals())  # what is started here is the user's
    started = threading.Thread(target=again.wait, name="w")
    started.start()
    found = threads.at_work()
    again.set()
    assert started.ident in [thread.ident for thread in before]
    assert found == ["thread w runs Event.wait"]


def test_a_look_keeps_nothing_of_its_callers_alive() -> None:
    """It would keep a bytearray from growing as long as the garbage collector does not come."""

    class Value:
        pass

    def look_with_a_value() -> weakref.ref[Value]:
        value = Value()
        threads.at_work()
        return weakref.ref(value)

    threads, stop = Threads(), threading.Event()
    gc.disable()
    try:
        assert look_with_a_value()() is None, "nothing is at work"
        threading.Thread(target=stop.wait, name="waits").start()
        assert look_with_a_value()() is None, "something is"
    finally:
        stop.set()
        gc.enable()
