"""`%load_ext banyan` in a stock ipykernel and in plain IPython: undo, restart, and leaving as if it had never been."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import time
from ast import literal_eval
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from banyan.standalone.history import LocalHistory
from banyan.state.detect import DigestDetector
from banyan.state.serialise import load

pytestmark = pytest.mark.by_turns
PACKAGE = Path(__file__).parent.parent
TIMEOUT_S = 60.0


@dataclass
class Cell:
    """What a cell did."""

    status: str
    stdout: str
    stderr: str
    result: str | None
    error: str


class Kernel:
    """A stock ipykernel and a client of it."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        # A port that is free when it is chosen may be another program's when the kernel binds it.
        self._sockets = tempfile.TemporaryDirectory()
        self._manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/kernel")
        self._manager.start_kernel(
            cwd=str(folder),
            env={**os.environ, "PYTHONPATH": str(PACKAGE), "IPYTHONDIR": str(folder / "ipython"), **env},
        )
        self._client = self._connect()

    def _connect(self) -> BlockingKernelClient:
        client = self._manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=TIMEOUT_S)
        return client

    @property
    def pid(self) -> int:
        return int(self._manager.provisioner.pid)

    def start(self, code: str, **options: Any) -> str:
        return str(self._client.execute(code, **options))

    def run(self, code: str, **options: Any) -> Cell:
        return self.finish(self.start(code, **options))

    def finish(self, request: str) -> Cell:
        cell = Cell("", "", "", None, "")
        while True:
            message = self._client.get_iopub_msg(timeout=TIMEOUT_S)
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream" and content["name"] == "stdout":
                cell.stdout += content["text"]
            elif kind == "stream":
                cell.stderr += content["text"]
            elif kind in ("execute_result", "display_data"):
                cell.result = content["data"]["text/plain"]
            elif kind == "status" and content["execution_state"] == "idle":
                break
        while True:
            reply = self._client.get_shell_msg(timeout=TIMEOUT_S)
            if reply["parent_header"].get("msg_id") == request:
                cell.status = reply["content"]["status"]
                cell.error = reply["content"].get("evalue", "")
                return cell

    def value(self, expression: str) -> str:
        cell = self.run(expression)
        assert cell.result is not None, cell
        return cell.result

    def send(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """A message about a comm; what the kernel says on a comm meanwhile."""
        message = self._client.session.msg(kind, content)
        self._client.shell_channel.send(message)
        said: dict[str, Any] = {}
        while True:
            answer = self._client.get_iopub_msg(timeout=TIMEOUT_S)
            if answer["msg_type"] == "comm_msg":
                said = answer["content"]
            of_it = answer["parent_header"].get("msg_id") == message["header"]["msg_id"]
            if of_it and answer["content"].get("execution_state") == "idle":
                return said

    def read_output(self, until: Callable[[str], bool]) -> str:
        """What it prints, until that is so, or the kernel has ended."""
        text = ""
        with contextlib.suppress(queue.Empty):
            while not until(text):
                message = self._client.get_iopub_msg(timeout=10)
                if message["msg_type"] == "stream":
                    text += message["content"]["text"]
        return text

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        self._client.stop_channels()
        self._manager.restart_kernel(now=False)
        self._client = self._connect()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._sockets.cleanup()


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Callable[..., Kernel]]:
    """Starts kernels that end with the test."""
    kernels: list[Kernel] = []

    def start(**env: str) -> Kernel:
        kernels.append(Kernel(tmp_path, env))
        return kernels[-1]

    yield start
    for one in kernels:
        one.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    one = Kernel(tmp_path_factory.mktemp("shared"), {})
    yield one
    one.close()


@pytest.fixture
def loaded(shared: Kernel, tmp_path: Path) -> Iterator[Kernel]:
    """A kernel that begins a history in a folder of its own."""
    shared.run(f"%cd -q {tmp_path}")
    assert "each cell is a commit" in shared.run("%load_ext banyan").stdout
    yield shared
    shared.run("%unload_ext banyan\n%reset -f")


def restart(kernel: Kernel, folder: Path) -> None:
    """As Jupyter does, and back into the notebook's folder."""
    kernel.restart()
    kernel.run(f"%cd -q {folder}")


def store_of(folder: Path) -> Path:
    return folder / ".banyan" / "history.db"


def test_undo_brings_back_what_inplace_took(loaded: Kernel) -> None:
    loaded.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})")
    loaded.run("df.drop(columns='a', inplace=True)")
    assert loaded.value("list(df)") == "['b']"
    undone = loaded.run("%undo")
    assert "restored: df" in undone.stdout
    assert loaded.value("list(df)") == "['a', 'b']"
    assert loaded.run("%redo").status == "ok"
    assert loaded.value("list(df)") == "['b']"


def test_undo_takes_effect_after_its_cell(loaded: Kernel) -> None:
    loaded.run("x = 1")
    loaded.run("x = 2")
    assert "2 at the end" in loaded.run("%undo\nprint(x, 'at the end')").stdout
    assert loaded.value("x") == "1"


def test_what_a_cell_does_besides_undo_is_a_commit_aside(loaded: Kernel) -> None:
    loaded.run("x = 1")
    loaded.run("x = 2")
    loaded.run("x = 3\nnew = 1\n%undo")
    assert loaded.value("x, 'new' in globals()") == "(1, False)"
    loaded.run("%checkout main")
    assert loaded.value("x, new") == "(3, 1)"


def test_what_a_failed_cell_asked_for_does_not_happen(loaded: Kernel) -> None:
    loaded.run("x = 1")
    loaded.run("x = 2")
    assert loaded.run("%undo\n1 / 0").status == "error"
    assert loaded.value("x") == "2"


def test_a_failed_cell_is_a_commit_and_can_be_undone(loaded: Kernel) -> None:
    loaded.run("x = [1]")
    loaded.run("x.append(2)\n1 / 0")
    assert "(error)" in str(loaded.run("%log").result)
    loaded.run("%undo")
    assert loaded.value("x") == "[1]"


def test_work_on_an_old_commit_is_a_branch(loaded: Kernel) -> None:
    loaded.run("x = 1")
    loaded.run("%tag one")
    loaded.run("x = 2")
    loaded.run("%checkout one")
    loaded.run("x = x * 10")
    assert loaded.value("x") == "10"
    assert {"main", "branch-2"} <= set(str(loaded.run("%branch").result).split())
    loaded.run("%checkout main")
    assert loaded.value("x") == "2"
    loaded.run("%checkout branch-2")
    assert loaded.value("x") == "10"


def test_memory_stays_shared(loaded: Kernel) -> None:
    loaded.run("import numpy as np\na = np.zeros(10)\nv = a[2:5]\nb = a")
    loaded.run("a[:] = 1")
    loaded.run("%undo")
    loaded.run("v[0] = 7")
    assert loaded.value("float(a[2]), b is a") == "(7.0, True)"


def test_values_larger_than_a_piece_come_back_and_are_stored_once(loaded: Kernel, tmp_path: Path) -> None:
    loaded.run("import numpy as np\nbig = np.arange(6_000_000.0)")
    loaded.run("same = big.copy()")
    loaded.run("big[3] = -1")
    loaded.run("%undo")
    assert loaded.value("float(big[3]), float(big.sum()) == float(same.sum()), big.flags.writeable") == (
        "(3.0, True, True)"
    )
    assert "intact" in loaded.run("%banyan check").stdout
    loaded.run("%unload_ext banyan")
    assert store_of(tmp_path).stat().st_size < 110e6


def test_variables_from_before_are_the_first_commit(kernel: Callable[..., Kernel]) -> None:
    one = kernel()
    one.run("x = [1]\nalias = x")
    assert "each cell is a commit" in one.run("%load_ext banyan").stdout
    one.run("x.append(2)")
    one.run("%undo")
    assert one.value("x, alias is x") == "([1], True)"
    assert "nothing to undo" not in one.run("%undo").error
    assert one.value("'x' in globals()") == "False"


def test_what_the_loading_cell_does_next_is_a_commit(kernel: Callable[..., Kernel]) -> None:
    one = kernel()
    one.run("%load_ext banyan\nx = 1")
    one.run("x = 2")
    one.run("%undo")
    assert one.value("x") == "1"


def test_history_survives_a_restart(loaded: Kernel, tmp_path: Path) -> None:
    loaded.run("import numpy as np\nx = np.arange(20_000)\nwords = ['a']")
    loaded.run("words.append('b')")
    restart(loaded, tmp_path)
    greeting = loaded.run("%load_ext banyan").stdout
    assert "brings back np, words, x" in greeting
    commit = greeting.partition("%checkout ")[2].split()[0]
    loaded.run(f"%checkout {commit}")
    assert loaded.value("int(x.sum()), words") == "(199990000, ['a', 'b'])"
    loaded.run("%undo")
    assert loaded.value("words") == "['a']"


def test_a_restart_can_be_undone(loaded: Kernel, tmp_path: Path) -> None:
    loaded.run("x = 1")
    restart(loaded, tmp_path)
    loaded.run("%load_ext banyan")
    assert "the kernel was restarted" in str(loaded.run("%log").result)
    loaded.run("%undo")
    assert loaded.value("x") == "1"


def test_work_done_before_loading_again_is_kept_beside_the_old(loaded: Kernel, tmp_path: Path) -> None:
    loaded.run("x = 1\ny = 2")
    restart(loaded, tmp_path)
    loaded.run("y = 'new'")
    greeting = loaded.run("%load_ext banyan").stdout
    assert "brings back x" in greeting
    assert loaded.value("y") == "'new'"
    loaded.run("%undo")
    assert loaded.value("x, y") == "(1, 2)"


def test_a_killed_kernel_loses_nothing_that_was_done(kernel: Callable[..., Kernel]) -> None:
    first = kernel()
    first.run("%load_ext banyan")
    first.run("x = 'kept'")
    first.kill()
    second = kernel()
    greeting = second.run("%load_ext banyan").stdout
    second.run("%checkout " + greeting.partition("%checkout ")[2].split()[0])
    assert second.value("x") == "'kept'"


_COMMITS = """
import itertools, os
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import numpy")
shell.run_cell("%load_ext banyan")
for i in itertools.count():
    shell.run_cell(f"x = numpy.full(100_000, {i}); n = {i}; words = 'small {i}'")
    os.write(1, b"done %d\\n" % i)
"""


def test_a_process_killed_while_it_commits_leaves_the_commit_before_or_after(tmp_path: Path) -> None:
    store = tmp_path / "history.db"
    rng = random.Random(7)
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMITS],
            env={**os.environ, "PYTHONPATH": str(PACKAGE), "BANYAN_STORE": str(store), "IPYTHONDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        last = rng.randrange(3, 12)
        assert any(line == f"done {last}\n" for line in process.stdout)
        time.sleep(rng.uniform(0, 0.02))
        process.kill()
        done = max([last, *(int(line.split()[1]) for line in process.stdout if line.startswith("done"))])
        process.wait()
        process.stdout.close()
        history = LocalHistory(store, pytest.fail)
        assert history.damage() == []
        values, _ = history.behind(DigestDetector({}, {}))
        found = {}
        for one in values:
            data, *buffers = one.read()
            found.update(load(data, buffers))
        assert found["n"] in (done, done + 1)
        assert set(found["x"].tolist()) == {found["n"]}
        assert found["words"] == f"small {found['n']}"
        history.close()


def test_a_second_kernel_is_told_that_the_store_is_in_use(loaded: Kernel, kernel: Callable[..., Kernel]) -> None:
    loaded.run("x = 1")
    other = kernel()
    refused = other.run("%load_ext banyan")
    assert "open in another kernel" in refused.stderr + refused.error
    assert other.value("1 + 1") == "2"
    other.run("%env BANYAN_STORE=other.db")
    assert "other.db" in other.run("%load_ext banyan").stdout
    assert loaded.value("x") == "1"


def test_unloading_leaves_no_trace(kernel: Callable[..., Kernel]) -> None:
    one = kernel()
    one.run("ip = get_ipython()\nip.register_magic_function(lambda line: print('mine'), 'line', 'log')")
    look = (
        "sorted(ip.magics_manager.magics['line']), sorted(ip.magics_manager.registry), "
        "{k: len(v) for k, v in ip.events.callbacks.items()}, sorted(k for k in globals() if k[:1] != '_')"
    )
    one.run("%unload_ext nothing")  # IPython registers its own magics when they are needed
    before = one.value(look)
    one.run("%load_ext banyan")
    assert one.value(look) != before
    one.run("%unload_ext banyan")
    assert literal_eval(one.value(look)) == literal_eval(before)
    assert one.run("%log").stdout == "mine\n"
    assert "not found" in one.run("%undo").error
    assert "brings back" not in one.run("%load_ext banyan").stdout


def test_nested_cells_and_empty_cells_are_no_commits_of_their_own(loaded: Kernel) -> None:
    loaded.run("x = 1")
    loaded.run("get_ipython().run_cell('x = 2')\nget_ipython().run_cell('')\nx = x + 1")
    loaded.run("   ")
    assert loaded.value("x") == "3"
    loaded.run("%undo")
    assert loaded.value("x") == "1"


def test_async_cells(loaded: Kernel) -> None:
    loaded.run("import asyncio\nx = 1")
    loaded.run("await asyncio.sleep(0.01)\nx = 2")
    loaded.run("%undo")
    assert loaded.value("x") == "1"
    request = loaded.start("x = 3\nprint('sleeps', flush=True)\nwhile True: await asyncio.sleep(0.01)")
    loaded.read_output(lambda text: "sleeps" in text)
    loaded.interrupt()
    assert loaded.finish(request).status == "error"
    assert loaded.value("x") == "3"
    loaded.run("%undo")
    assert loaded.value("x") == "1"


def test_what_a_task_changes_after_a_cell_that_it_ran_itself_is_the_next_ones(loaded: Kernel) -> None:
    """The task that runs when that cell ends is the user's, and not the kernel's."""
    loaded.run(
        "import asyncio\ndata = [1]\nasync def work():\n"
        "    await asyncio.sleep(0.1); get_ipython().run_cell('y = 1'); data.append(2)\n"
        "task = asyncio.create_task(work())"
    )
    time.sleep(0.5)
    loaded.run("z = 1")
    log = str(loaded.run("%log").result).splitlines()
    assert any("z = 1" in line and "data" in line for line in log), log


def test_what_a_silent_request_changes_is_a_commit_of_its_own(loaded: Kernel) -> None:
    loaded.run("x = [1]")
    loaded.run("x.append(2)", silent=True)
    loaded.run("y = 1")
    loaded.run("%undo 2")
    assert loaded.value("x") == "[1]"
    assert "outside of cells" in str(loaded.run("%log").result)


def test_what_cannot_be_saved_is_made_again_by_its_cells(loaded: Kernel) -> None:
    cell = loaded.run("source = [1, 2, 3]; g = (i for i in source); x = 1")
    assert cell.stderr.splitlines()[0].startswith("banyan: 'g' (generator) cannot be saved")
    assert loaded.run("taken = next(g); x = 2").stderr == ""
    loaded.run("source.append(4); rest = list(g)")
    undone = loaded.run("%undo")
    assert "made again by running cells again: g" in undone.stdout and undone.stderr == ""
    assert loaded.value("x, source, next(g)") == "(2, [1, 2, 3], 2)"
    loaded.run("%undo 2")
    loaded.run("source.append(5)")  # what its cell bound with it is still what it goes over
    assert loaded.value("'taken' in globals(), x, list(g)") == "(False, 1, [1, 2, 3, 5])"


def test_a_front_end_asks_by_comm(loaded: Kernel) -> None:
    loaded.run("value = [1]")
    loaded.run("value.append(2)")
    loaded.send("comm_open", {"comm_id": "h", "target_name": "banyan.history", "data": {}})
    answer = loaded.send("comm_msg", {"comm_id": "h", "data": {"id": 1, "question": {"do": "undo"}}})
    assert answer["data"]["answer"]["restores"] == ["value"]
    assert answer["data"]["answer"]["removes"] == []
    assert loaded.value("value") == "[1]"


def test_side_effects_are_not_repeated_unasked(loaded: Kernel, tmp_path: Path) -> None:
    log = tmp_path / "log"
    loaded.run(f"g = (i for i in range(3)); print('once', file=open({str(log)!r}, 'a'))")
    loaded.run("taken = next(g)")
    told = loaded.run("%undo").stdout
    assert "cannot be restored: g" in told and f"side effects (wrote {log})" in told
    assert log.read_text() == "once\n"
    assert loaded.value("next(g)") == "1", "what is there is left as it is"
    loaded.run("%undo; pass")
    assert "side effects that happen again" in loaded.run("%undo --repeat").stdout
    assert (loaded.value("next(g)"), log.read_text()) == ("0", "once\nonce\n")


def test_a_cell_that_does_not_end_as_it_did_brings_nothing_back(loaded: Kernel) -> None:
    flag = "logging.getLogger('banyan.test').fails"  # which no commit holds
    loaded.run(f"import logging; {flag} = False")
    loaded.run(f"if {flag}: raise RuntimeError('no')\ng = (i for i in range(3))")
    loaded.run(f"{flag} = True; del g")
    loaded.run("%undo")
    cell = loaded.run("'g' in globals()")
    assert "'g' cannot be restored: running its cell again failed: RuntimeError: no" in cell.stderr
    assert cell.result == "False"


def test_a_fork_leaves_the_store_alone(loaded: Kernel) -> None:
    loaded.run("import os, sys, gc\nx = 1")
    loaded.run("if os.fork() == 0:\n    gc.collect(); os._exit(0)")
    loaded.run(
        "import multiprocessing as mp\np = mp.get_context('fork').Process(target=print); p.start(); p.join(); del p"
    )
    loaded.run("x = 2")
    loaded.run("%undo")
    assert loaded.value("x") == "1"
    assert "intact" in loaded.run("%banyan check").stdout


def test_a_place_that_cannot_be_written_is_said_once_and_undo_works(kernel: Callable[..., Kernel]) -> None:
    one = kernel(BANYAN_STORE="/proc/nothing/history.db")
    cell = one.run("%load_ext banyan")
    assert cell.stderr.startswith("banyan: cannot write /proc/nothing/history.db")
    assert "kept in memory" in cell.stdout
    one.run("import numpy as np; x = np.zeros(100_000)")
    assert one.run("x[0] = 1").stderr == ""
    one.run("%undo")
    assert one.value("float(x[0])") == "0.0"


def test_a_damaged_store_is_refused_and_left_as_it_is(kernel: Callable[..., Kernel], tmp_path: Path) -> None:
    store = store_of(tmp_path)
    store.parent.mkdir()
    store.write_bytes(b"no database" * 1000)
    cell = kernel().run("%load_ext banyan")
    assert "is damaged" in cell.stderr + cell.error
    assert "move it away" in cell.stderr + cell.error
    assert store.read_bytes() == b"no database" * 1000


def test_each_notebook_has_its_own_store(kernel: Callable[..., Kernel], tmp_path: Path) -> None:
    notebook = tmp_path / "deep" / "work.ipynb"
    notebook.parent.mkdir()
    notebook.write_text("{}")
    one = kernel(JPY_SESSION_NAME=str(notebook))
    assert "work.ipynb.history.db" in one.run("%load_ext banyan").stdout
    assert (notebook.parent / ".banyan" / "work.ipynb.history.db").exists()
    assert (notebook.parent / ".banyan" / ".gitignore").read_text() == "*\n"
    code = one.run(f"%unload_ext banyan\n__vsc_ipynb_file__ = {str(tmp_path / 'vs.ipynb')!r}")
    (tmp_path / "vs.ipynb").write_text("{}")
    assert "vs.ipynb.history.db" in one.run("%load_ext banyan").stdout, code
    one.run("%checkout ROOT")
    assert one.value("'__vsc_ipynb_file__' in globals()") == "True"


def test_another_store_is_another_history(loaded: Kernel, tmp_path: Path) -> None:
    loaded.run("x = 1")
    assert "each cell is a commit" in loaded.run("%banyan store elsewhere.db").stdout
    loaded.run("x = 2")
    assert "elsewhere.db" in loaded.run("%banyan").stdout
    assert "1 commit of before" not in loaded.run("%undo").stdout
    assert loaded.value("x") == "1"
    loaded.run("%banyan store .banyan/history.db")
    assert "x = 1" in str(loaded.run("%log").result)
    assert "UsageError" in loaded.run("%banyan store .banyan/history.db").stderr
    assert (tmp_path / "elsewhere.db").exists()


def test_what_undoes_the_move_to_another_store_keeps_the_magics(loaded: Kernel) -> None:
    loaded.run("%banyan store elsewhere.db")
    assert "magic" not in loaded.run("%undo").stdout
    loaded.run("x = 1")
    assert "Undone" in loaded.run("%undo").stdout
    assert loaded.run("%log").status == "ok"


def test_a_hook_that_fails_costs_the_user_nothing(loaded: Kernel) -> None:
    loaded.run("x = 1")
    loaded.run("from banyan.state import detect\nsaved = detect.DigestDetector.changes")
    loaded.run("def broken(self, accesses): raise ZeroDivisionError\ndetect.DigestDetector.changes = broken; x = 2")
    cell = loaded.run("x = 3\nx")
    assert (cell.status, cell.result) == ("ok", "3")
    assert len(cell.stderr.splitlines()) <= 3 and "Traceback" not in cell.stderr
    loaded.run("detect.DigestDetector.changes = saved")
    loaded.run("x = 4")
    loaded.run("%undo")
    assert loaded.value("x") == "3"


def test_a_session_of_the_platform_has_it_already(worker: Any) -> None:
    assert "by the platform already" in worker.run("%load_ext banyan").stdout
    worker.run("%unload_ext banyan")


def test_plain_ipython(tmp_path: Path) -> None:
    cells = ["x = [1]", "%load_ext banyan", "x.append(2)", "%undo", "print('now', x)", "%log", "exit"]
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        input="\n".join(cells) + "\n",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert "now [1]" in done.stdout
    assert "variables from before" in done.stdout
    assert "banyan:" not in done.stderr
