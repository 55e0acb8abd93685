"""Processes that user code forks from a worker: nothing that they do reaches it, and they are no kernels."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

import pytest
from conftest import TIMEOUT_S, Host, Worker

TIMES = int(os.environ.get("BANYAN_FORKS", "3"))

# What a child does, and the status with which it ends.
CHILDREN = {
    "returns": ("pass", 0),
    "raises": ("1/0", 1),
    "exits": ("raise SystemExit(7)", 7),
    "leaves": ("os._exit(5)", 5),
    "prints": ("print('from the child', flush=True)", 0),
    "asks": ("input()", 1),
    "undoes": ("%undo", 1),
    "shows": ("from IPython.display import display; display(1)", 0),
    "collects": ("import gc; gc.collect()", 0),
    "has a loop": ("t = threading.Thread(target=lambda: asyncio.run(asyncio.sleep(0.01))); t.start(); t.join()", 0),
    "forks": ("os.fork()", 0),
    "waits": ("import time; time.sleep(0.05)", 0),
    "makes what cannot be kept": ("import threading; lock = threading.Lock(); z = 1", 0),
}

IN_A_THREAD = "t = threading.Thread(target=work); t.start(); t.join()"


def all_is_well(worker: Worker, number: int) -> None:
    cell = worker.run(f"kept = {number}; print('parent', kept)")
    assert cell.stdout == f"parent {number}\n"
    assert ["kept"] in cell.changed
    assert worker.value("kept") == str(number)


def ended(worker: Worker, status: int) -> None:
    cell = worker.run("(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 'z' in globals())")
    assert cell.result == f"({status}, False)"


@pytest.mark.parametrize(("code", "status"), CHILDREN.values(), ids=CHILDREN)
def test_a_child_ends_with_its_cell(worker: Worker, code: str, status: int) -> None:
    worker.run("import os, asyncio, threading")
    for number in range(TIMES):
        cell = worker.run(f"pid = os.fork()\nif pid == 0:\n    {code}")
        assert cell.changed == [["pid"]]
        ended(worker, status)
        all_is_well(worker, number)


def test_what_a_child_prints_and_raises_is_seen(worker: Worker) -> None:
    cell = worker.run(
        """
        import os, sys
        print('before')
        pid = os.fork()
        if pid == 0:
            print('printed')
            raise KeyError('of the child')
        os.waitpid(pid, 0)
        import time; time.sleep(0.3)
        """
    )
    assert sorted(cell.stdout.split()) == ["before", "printed"]
    assert "KeyError" in cell.stderr
    assert "of the child" in cell.stderr
    assert not [kind for kind, _ in cell.output if kind == "error"]


@pytest.mark.parametrize(
    "code",
    [
        "def work():\n    if os.fork() == 0: print('child')\n" + IN_A_THREAD,
        "def work():\n    if os.fork() == 0: 1/0\n" + IN_A_THREAD,
        "def work():\n    if os.fork() == 0: raise SystemExit(3)\n" + IN_A_THREAD,
        "if os.fork() == 0:\n    if os.fork() == 0:\n        os.setsid()\nx = 1",
        "if os.fork() == 0:\n    await asyncio.sleep(0.01)\nawait asyncio.sleep(0.05)",
        "async def work():\n    if os.fork() == 0: await asyncio.sleep(0.01)\nawait asyncio.create_task(work())",
        "async def work():\n    os.fork()\ntask = asyncio.create_task(work())",
        "asyncio.get_running_loop().call_later(0.01, os.fork)",
        "signal.signal(signal.SIGALRM, lambda *_: os.fork()); _ = signal.setitimer(signal.ITIMER_REAL, 0.06)",
        "get_ipython().run_cell('os.fork()'); x = 1",
        "import subprocess; subprocess.run(['true'], preexec_fn=os.setsid, check=True)",
        "import subprocess; subprocess.run(['true'], preexec_fn=lambda: print('child'), check=True)",
        "import pty\npid, fd = pty.fork()\nif pid: os.close(fd)",
    ],
)
def test_other_ways_to_fork(worker: Worker, code: str) -> None:
    worker.run("import os, threading, asyncio, signal")
    for number in range(TIMES):
        worker.run(code, allow_error=True)
        time.sleep(0.1)
        all_is_well(worker, number)
    worker.run(
        "def all_ended():\n    try:\n        while True: os.waitpid(-1, 0)\n    except ChildProcessError: return True"
    )
    assert worker.value("all_ended()") == "True"


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(worker: Worker, method: str) -> None:
    worker.run(f"import multiprocessing, concurrent.futures, math; context = multiprocessing.get_context({method!r})")
    for number in range(TIMES):
        cell = worker.run("with context.Pool(2) as pool: print(pool.map(math.sqrt, [1, 4]))")
        assert cell.stdout == "[1.0, 2.0]\n"
        cell = worker.run(
            "with concurrent.futures.ProcessPoolExecutor(2, context) as pool: print(list(pool.map(math.sqrt, [9])))"
        )
        assert cell.stdout == "[3.0]\n"
        all_is_well(worker, number)


def test_a_comm_callback_that_forks(worker: Worker) -> None:
    worker.run(
        "import os\npids = []\n"
        "def opened(comm, message):\n    pids.append(os.fork())\n"
        "get_ipython().kernel.comm_manager.register_target('forks', opened)"
    )
    for number in range(TIMES):
        client = worker.client
        message = client.session.msg("comm_open", {"comm_id": f"c{number}", "target_name": "forks", "data": {}})
        client.shell_channel.send(message)
        all_is_well(worker, number)
        assert worker.value("os.waitpid(pids.pop(), 0)[1], pids") == "(0, [])"


def test_a_child_that_outlives_the_worker_holds_nothing_of_it(host: Host, tmp_path: Path) -> None:
    worker = host.spawn()
    done = tmp_path / "done"
    cell = worker.run(
        f"""
        import os, time
        pid = os.fork()
        if pid == 0:
            os.setsid()
            for _ in range(15):
                print('still here', flush=True)
                time.sleep(0.1)
            open({str(done)!r}, 'w').close()
        print('pid', pid)
        """
    )
    pid = int(cell.stdout.split("pid ")[1].split()[0])
    os.kill(worker.pid, signal.SIGKILL)
    host.exited(worker)
    ready, _, _ = select.select([worker.channel], [], [], 2)
    assert ready
    assert worker.channel._socket.recv(1) == b""
    os.kill(pid, 0)
    held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    deadline = time.monotonic() + TIMEOUT_S
    while not done.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert done.exists(), held
    worker.client.stop_channels()


def test_a_cell_that_runs_again_and_forks(worker: Worker) -> None:
    for number in range(TIMES):
        worker.repeat("import os\npid = os.fork()")
        ended(worker, 0)
        all_is_well(worker, number)
