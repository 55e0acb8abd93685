"""A worker's life: spawn, fence, reply, interrupt, input, and each way to end."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import time
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SESSION, Host, Worker, receive

from banyan.state.serialise import blocks_of, dump
from banyan.worker.replica import type_of

Spawn = Callable[..., Worker]


def test_a_worker_says_who_it_is_and_runs_where_it_was_told(spawn: Spawn) -> None:
    worker = spawn(GREETING="hello")
    assert worker.hello["pid"] == worker.pid
    assert os.getsid(worker.pid) == os.getpgid(worker.pid) == worker.pid
    assert worker.value("import os, sys; (os.environ['GREETING'], sys.argv, sys.stdin.read())") == "('hello', [''], '')"
    assert worker.value("os.getcwd()") == repr(str(Path(f"/proc/{worker.pid}/cwd").readlink()))
    execution = worker.client.kernel_info()
    reply = worker.client.get_shell_msg(timeout=5)
    assert reply["parent_header"]["msg_id"] == execution
    assert reply["header"]["session"] == SESSION
    assert "kernel subshells" not in reply["content"]["supported_features"]


def test_siblings_share_no_random_numbers_and_views_of_a_session_agree(spawn: Spawn) -> None:
    """Also of a library that is imported later, and after cells that draw nothing."""
    first, second, restarted = spawn(), spawn(), spawn(BANYAN_SEED="7")
    for worker in (first, second, restarted):
        worker.run("x = 1")
        worker.run("import numpy.random, uuid")
    draw = "(__import__('random').random(), numpy.random.random(), 'BANYAN_SEED' in __import__('os').environ)"
    a, b, c = (eval(worker.value(draw)) for worker in (first, second, restarted))
    assert a == b
    assert a[0] != c[0] and a[1] != c[1]
    assert not a[2]
    assert first.value("uuid.uuid4()") != second.value("uuid.uuid4()")


def test_a_cell_that_runs_again_elsewhere_draws_what_it_drew_first(spawn: Spawn) -> None:
    code = (
        "import random, threading, numpy as np\n"
        "lock, drawn = threading.Lock(), (random.random(), np.random.random(), np.random.random())"
    )
    first, second = spawn(), spawn()
    first.run(code)
    assert second.repeat(code)["error"] == ""
    assert second.value("drawn") == first.value("drawn")


@pytest.mark.parametrize(("factor", "sent"), [(4000, 1), (4001, 0)], ids=["as at first", "another value"])
def test_what_a_cell_makes_again_comes_with_the_blocks_that_are_wanted(worker: Worker, factor: int, sent: int) -> None:
    blocks = list(blocks_of(dump({"data": bytes(range(256)) * 4000})))
    makes = [{"names": ["data"], "blocks": [digest for digest, _, _ in blocks], "kept": False}]
    wanted, _, source = blocks[-1]
    code = f"data = bytes(range(256)) * {factor}"
    again = {"type": "repeat", "commit": 1, "code": code, "fails": False, "makes": makes, "wanted": [wanted]}
    worker.channel.send(again)
    repeated = receive(worker.channel, "repeated")
    assert [bytes(repeated.blob(block)) for block in repeated.body["blocks"]] == [bytes(source())] * sent


def test_a_worker_does_not_hold_what_only_completion_takes(worker: Worker) -> None:
    assert worker.value("import sys; [name for name in ('jedi', 'parso', 'psutil') if name in sys.modules]") == "[]"
    asked = worker.client.complete("worker_of_a_hos = 1; sys.getrecursionl", 38)
    reply = worker.client.get_shell_msg(timeout=10)
    assert reply["parent_header"]["msg_id"] == asked
    assert any("getrecursionlimit" in match for match in reply["content"]["matches"])


def test_a_cell_is_transformed_once(worker: Worker) -> None:
    worker.run(
        "seen = []\ndef note(lines):\n    seen.extend(lines)\n    return lines\n"
        "get_ipython().input_transformers_cleanup.append(note)"
    )
    worker.run("x = 1")
    assert worker.value("seen") == r"['x = 1\n', 'seen\n']"


def test_a_cell_is_transformed_by_what_is_registered_when_it_begins(worker: Worker) -> None:
    worker.run(
        "def two(lines): return ['x = 2\\n'] if lines == ['x = 1\\n'] else lines\n"
        "before = get_ipython().transform_cell('x = 1')\n"
        "get_ipython().input_transformers_cleanup.append(two)\n"
        "after = get_ipython().transform_cell('x = 1')"
    )
    worker.run("x = 1")
    assert worker.value("x, before, after") == r"(2, 'x = 1\n', 'x = 2\n')"


def test_what_a_transformer_draws_is_its_cells(worker: Worker) -> None:
    worker.run(
        "import random\ndef draws(lines):\n    random.random()\n    return lines\n"
        "get_ipython().input_transformers_cleanup.append(draws)"
    )
    assert ["<random>"] in worker.run("!true").changed
    assert ["<random>"] in worker.run("x = 1").changed


def test_a_part_of_the_process_that_cannot_be_looked_at_costs_no_cell(worker: Worker) -> None:
    worker.run("import random; del random._inst.gauss_next")
    assert worker.value("1 + 1") == "2"


def test_idle_is_said_once_for_each_cell(worker: Worker) -> None:
    first, second = worker.run("1"), worker.run("2")
    assert first.reply["status"] == second.reply["status"] == "ok"
    asked = worker.client.kernel_info()
    states = []
    while True:
        message = worker.client.get_iopub_msg(timeout=5)
        states.append((message["parent_header"].get("msg_id") == asked, message["content"].get("execution_state")))
        if states[-1] == (True, "idle"):
            break
    assert states == [(True, "busy"), (True, "idle")], "nothing is left of the cells"


def test_user_code_waits_for_go(worker: Worker) -> None:
    execution = worker.start("print('ran')")
    time.sleep(0.1)
    with pytest.raises(queue.Empty):
        worker.client.get_shell_msg(timeout=0.1)
    worker.go(execution)
    cell = worker.finish(execution)
    assert cell.stdout == "ran\n"
    assert cell.body["count"] == 1


def test_a_refused_cell_does_not_run_and_leaves_no_trace(worker: Worker) -> None:
    execution = worker.start("x = 1")
    worker.channel.send({"type": "refuse", "execution": execution, "reason": "another replica leads"})
    cell = worker.outcome(execution)
    assert cell.error == "NotStarted: another replica leads"
    assert [content["ename"] for kind, content in cell.output if kind == "error"] == ["NotStarted"]
    after = worker.run("'x' in globals(), In[1:]")
    assert (after.result, after.reply["execution_count"]) == ("(False, [\"'x' in globals(), In[1:]\"])", 1)


def test_an_answer_to_an_older_cell_is_no_answer(worker: Worker) -> None:
    execution = worker.start("1 + 1")
    worker.go("0-someone-elses")
    time.sleep(0.1)
    worker.go(execution)
    assert worker.finish(execution).result == "2"


@pytest.mark.parametrize("code", ["'value'", "1/0"])
def test_the_report_has_the_reply_that_follows(worker: Worker, code: str) -> None:
    cell = worker.run(code, allow_error=True)
    assert cell.report is not None
    assert json.loads(bytes(cell.report.blob(cell.body["reply"]["content"]))) == cell.reply
    metadata = json.loads(bytes(cell.report.blob(cell.body["reply"]["metadata"])))
    assert metadata["status"] == cell.reply["status"]


def test_how_long_what_a_cell_made_took_to_serialise_is_said_by_type(worker: Worker) -> None:
    cell = worker.run("a = bytearray(50_000_000); b = bytearray(9); text = 'x'")
    took = {each["type"]: each["us"] for each in cell.body["serialised"]}
    assert took["bytearray"] > 1_000
    assert worker.run("del text").body["serialised"] == []
    repeated = worker.repeat("a = bytearray(50_000_001)")
    assert [each["type"] for each in repeated["serialised"]] == ["bytearray"]
    assert repeated["serialised"][0]["us"] > 1_000


def test_all_output_comes_before_the_idle_that_precedes_the_report(worker: Worker) -> None:
    cell = worker.run("import sys; print('out'); print('err', file=sys.stderr); lock = __import__('threading').Lock()")
    text = "".join(content["text"] for kind, content in cell.output if kind == "stream")
    assert "out\n" in text
    assert "err\n" in text
    assert "'lock' (_thread.lock) cannot be saved" in text


@pytest.mark.parametrize(
    "code",
    [
        "class E(Exception):\n    def __str__(self): return 1 / 0\nraise E",
        "get_ipython().payload_manager.write_payload({'source': 'x', 'a': object()})",
    ],
)
def test_a_cell_whose_reply_cannot_be_made_ends_with_an_error(worker: Worker, code: str) -> None:
    cell = worker.run(code, allow_error=True)
    assert cell.report is not None
    assert json.loads(bytes(cell.report.blob(cell.body["reply"]["content"])))["status"] == "error"
    assert cell.reply["status"] == "error"


def test_a_closed_stderr_loses_no_report(worker: Worker) -> None:
    execution = worker.start(
        "import sys, threading\nwith open('log', 'w') as f: sys.stderr = f\nlock = threading.Lock()"
    )
    worker.go(execution)
    report = receive(worker.channel, "report")
    assert "reply" in report.body


def test_an_error_aborts_no_cell_that_is_here_already(worker: Worker) -> None:
    first = worker.start("1/0")
    second = worker.client.execute("'runs'")
    worker.go(first)
    assert worker.finish(first).error is not None
    assert receive(worker.channel, "fence").body["execution"] == second
    worker.go(second)
    assert worker.finish(second).result == "'runs'"


def test_an_empty_cell_and_other_requests_have_no_fence(worker: Worker) -> None:
    for send in (
        lambda: worker.client.execute("  \n"),
        lambda: worker.client.complete("pri"),
        worker.client.kernel_info,
    ):
        execution = send()
        assert worker.outcome(execution).reply["status"] == "ok"
    assert worker.run("'next'").reply["execution_count"] == 1


def test_silent_cells_and_failing_cells_are_fenced_and_reported(worker: Worker) -> None:
    assert worker.run("quiet = 1", silent=True).changed == [["quiet"]]
    cell = worker.run("loud = 1\n1 / 0", allow_error=True)
    assert (cell.error, cell.changed) == ("ZeroDivisionError: division by zero", [["loud"]])
    assert worker.run("x = = 1", allow_error=True).body["count"] == 2


def test_an_async_cell_is_one_cell(worker: Worker) -> None:
    cell = worker.run("import asyncio\nawait asyncio.sleep(0.05)\nslept = True")
    assert cell.changed == [["asyncio"], ["slept"]]


def signal_it(worker: Worker) -> None:
    os.kill(worker.pid, signal.SIGINT)


def ask_it(worker: Worker) -> None:
    worker.client.control_channel.send(worker.client.session.msg("interrupt_request"))
    assert worker.client.get_control_msg(timeout=5)["content"]["status"] == "ok"


@pytest.mark.parametrize("interrupt", [signal_it, ask_it])
@pytest.mark.parametrize("wait", ["import time; time.sleep(30)", "import asyncio; await asyncio.sleep(30)"])
def test_interrupt_ends_the_cell_and_keeps_the_report(
    worker: Worker, interrupt: Callable[[Worker], None], wait: str
) -> None:
    execution = worker.start(f"before = [1]\n{wait}")
    worker.go(execution)
    time.sleep(0.2)
    interrupt(worker)
    cell = worker.finish(execution, timeout_s=5)
    assert cell.reply["ename"] in ("KeyboardInterrupt", "CancelledError")
    assert ["before"] in cell.changed
    assert worker.value("before") == "[1]"


def test_interrupt_at_the_fence_waits_for_the_verdict(worker: Worker) -> None:
    execution = worker.start("x = 1")
    os.kill(worker.pid, signal.SIGINT)
    time.sleep(0.1)
    worker.go(execution)
    cell = worker.finish(execution)
    assert (cell.error, cell.changed, cell.body["count"]) == ("KeyboardInterrupt: ", [], 1)
    assert worker.value("'x' in globals()") == "False"


def test_interrupt_while_the_report_is_made_is_not_lost_work(worker: Worker) -> None:
    worker.run("import time\nclass Slow:\n    def __reduce__(self):\n        time.sleep(0.5)\n        return Slow, ()")
    execution = worker.start("slow = Slow()")
    worker.go(execution)
    time.sleep(0.3)
    os.kill(worker.pid, signal.SIGINT)
    cell = worker.finish(execution)
    assert (cell.error, ["slow"] in cell.changed) == (None, True)


def test_much_output_is_whole_and_in_order(worker: Worker) -> None:
    cell = worker.run("for i in range(2000):\n    print(i, flush=True)")
    assert cell.stdout.split() == [str(i) for i in range(2000)]


def test_the_debugger_answers(worker: Worker) -> None:
    content = {"type": "request", "seq": 1, "command": "debugInfo", "arguments": {}}
    worker.client.control_channel.send(worker.client.session.msg("debug_request", content))
    assert worker.client.get_control_msg(timeout=5)["content"]["success"]


def test_a_spawn_whose_folder_is_missing_ends_at_once(host: Host) -> None:
    ours, theirs = socket.socketpair()
    request = {
        "type": "spawn",
        "worker": 98,
        "session_id": SESSION,
        "connection_file": "",
        "cwd": "/nowhere",
        "env": {},
    }
    host.control.send({**request, "log": os.devnull}, fds=[theirs.fileno(), theirs.fileno()])
    assert receive(host.control, "spawned").body["worker"] == 98
    assert receive(host.control, "exited").body["code"] == 1
    ours.close()
    theirs.close()


def test_input_asks_the_client(worker: Worker) -> None:
    execution = worker.start("name = input('who? ')", allow_stdin=True)
    worker.go(execution)
    assert worker.client.get_stdin_msg(timeout=5)["content"]["prompt"] == "who? "
    worker.client.input("Ada")
    assert worker.finish(execution).changed == [["name"]]
    assert worker.value("name") == "'Ada'"


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os; os._exit(3)", {"code": 3}),
        ("import ctypes; ctypes.string_at(0)", {"signal": signal.SIGSEGV}),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {"signal": signal.SIGKILL}),
    ],
)
def test_the_zygote_says_how_a_worker_ended(host: Host, spawn: Spawn, code: str, how: dict[str, int]) -> None:
    worker = spawn()
    worker.go(worker.start(code))
    exited = host.exited(worker)
    assert {key: exited[key] for key in ("code", "signal") if key in exited} == how


def test_a_dead_worker_leaves_no_children(host: Host, spawn: Spawn) -> None:
    worker = spawn()
    child = int(worker.value("import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nchild.pid"))
    os.kill(worker.pid, signal.SIGKILL)
    host.exited(worker)
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_clean_shutdown(host: Host, spawn: Spawn) -> None:
    worker = spawn()
    worker.client.shutdown()
    assert host.exited(worker)["code"] == 0


def test_a_worker_ends_when_the_host_agent_closes_its_channel(host: Host, spawn: Spawn) -> None:
    worker = spawn()
    worker.channel.close()
    assert host.exited(worker)["code"] == 87


@pytest.mark.parametrize(
    "busy", ["import time; time.sleep(60)", "import numpy as n; a = n.ones((5000, 5000)); a @ a @ a @ a @ a @ a"]
)
def test_a_passed_lease_ends_a_busy_worker(host: Host, spawn: Spawn, busy: str) -> None:
    worker = spawn()
    worker.lease.set(0.3)
    start = time.monotonic()
    worker.go(worker.start(busy))
    assert host.exited(worker)["code"] == 86
    assert time.monotonic() - start < 1.0


def test_a_lease_that_moves_on_keeps_the_worker(worker: Worker) -> None:
    execution = worker.start("import time; time.sleep(0.6); 'done'")
    worker.lease.set(0.3)
    worker.go(execution)
    for _ in range(4):
        time.sleep(0.15)
        worker.lease.set(0.3)
    assert worker.finish(execution).result == "'done'"


def test_a_passed_lease_is_nothing_to_an_idle_worker(worker: Worker) -> None:
    worker.lease.set(-1)
    time.sleep(0.2)
    worker.lease.set(None)
    assert worker.value("1") == "1"


def test_no_subshells(worker: Worker) -> None:
    message = worker.client.session.msg("create_subshell_request")
    worker.client.control_channel.send(message)
    assert worker.client.get_control_msg(timeout=5)["content"]["status"] == "error"


def test_a_spawn_that_cannot_be_is_refused(host: Host) -> None:
    host.control.send({"type": "spawn", "worker": 99})
    failed = receive(host.control, "failed").body
    assert failed["worker"] == 99


def test_the_zygote_and_its_workers_end_with_the_host_agent(tmp_path: Path) -> None:
    host = Host(tmp_path, "")
    worker = host.spawn()
    host.control.close()
    assert host.zygote.wait(5) == 0
    worker.client.stop_channels()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{worker.pid}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_frame_that_breaks_the_protocol_ends_the_worker(host: Host, spawn: Spawn) -> None:
    worker = spawn()
    os.write(worker.channel.fileno(), b"\x05\0\0\0" + b"\0" * 12 + b"{bad}")
    assert host.exited(worker)["code"] == 88


class _Proxy:
    """Stands for another object, which cannot be made."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError


def test_a_type_says_of_which_library_a_value_is() -> None:
    import numpy

    class Mine:
        pass

    def function() -> None:
        pass

    function.__module__ = Mine.__module__ = "__main__"
    expected = {
        "numpy.ndarray": numpy.ones(1),
        "numpy.module": numpy.random,
        "json.function": json.dumps,
        "numpy.type": numpy.ndarray,
        "posixpath.module": os.path,
        "builtin_function_or_method": len,
        f"__main__.{Mine.__qualname__}": Mine(),
        "type": Mine,
        "function": function,
        "int": 1,
    }
    assert {type_of([value]): value for value in expected.values()} == expected
    assert type_of([1, 2]) == "int"
    assert type_of([_Proxy(), types.ModuleType.__new__(types.ModuleType)]) == "several"
    assert type_of([1, "a"]) == "several"
