"""Cells through the gateway's WebSocket, as a notebook sees them, over both sub-protocols."""

import time

import pytest
from harness.client import Connection, Gateway


def test_a_cell_prints_and_returns_a_value(either: Connection) -> None:
    cell = either.run("print('hello'); 6 * 7")
    assert cell.status == "ok"
    assert cell.stdout == "hello\n"
    assert cell.result == "42"
    assert cell.states == ["busy", "idle"]


def test_variables_stay_and_counts_rise(either: Connection) -> None:
    first = either.run("x = [1, 2]")
    second = either.run("x.append(3); x")
    assert second.result == "[1, 2, 3]"
    assert second.reply["execution_count"] == first.reply["execution_count"] + 1


def test_an_exception_is_an_error_with_its_traceback(session: Connection) -> None:
    cell = session.run("def broken(): return 1 / 0\nbroken()")
    assert (cell.status, cell.reply["ename"]) == ("error", "ZeroDivisionError")
    (error,) = cell.of_type("error")
    assert any("broken()" in line for line in error.content["traceback"])
    assert session.run("'still here'").status == "ok"


def test_names_bound_before_an_exception_stay(session: Connection) -> None:
    session.run("kept = 1; raise ValueError('after')")
    assert session.run("kept").result == "1"


def test_rich_display_and_its_update(session: Connection) -> None:
    cell = session.run(
        "from IPython.display import HTML, display\n"
        "handle = display(HTML('<b>one</b>'), display_id=True)\n"
        "handle.update(HTML('<b>two</b>'))"
    )
    (shown,) = cell.of_type("display_data")
    (updated,) = cell.of_type("update_display_data")
    assert shown.content["data"]["text/html"] == "<b>one</b>"
    assert updated.content["data"]["text/html"] == "<b>two</b>"
    assert shown.content["transient"]["display_id"] == updated.content["transient"]["display_id"]


def test_a_figure_is_a_png(session: Connection) -> None:
    cell = session.run(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]); plt.show()", timeout=90
    )
    assert any("image/png" in shown.content["data"] for shown in cell.of_type("display_data")), cell.reply


def test_clear_output_arrives(session: Connection) -> None:
    cell = session.run("from IPython.display import clear_output\nprint(1); clear_output(wait=True); print(2)")
    assert [m.content["wait"] for m in cell.of_type("clear_output")] == [True]


def test_input_is_asked_of_the_client_and_answered(either: Connection) -> None:
    cell = either.start("name = input('Who? '); print('Hello', name)", stdin=True)
    asked = either.wait_for(lambda m: m.type == "input_request")
    assert (asked.content["prompt"], asked.parent) == ("Who? ", cell)
    either.send("stdin", "input_reply", {"value": "Ada"}, parent=asked)
    assert either.finish(cell).stdout == "Hello Ada\n"


def test_input_goes_to_the_client_that_asked_only(gateway: Gateway, kernel: str, session: Connection) -> None:
    with Connection(gateway, kernel) as other:
        cell = session.start("input('mine? ')", stdin=True)
        asked = session.wait_for(lambda m: m.type == "input_request")
        session.send("stdin", "input_reply", {"value": "yes"}, parent=asked)
        session.finish(cell)
        other.wait_for(lambda m: m.type == "execute_result" and m.parent == cell)
        assert not [m for m in other.inbox if m.type in ("input_request", "execute_reply")]


def test_input_is_asked_again_after_a_reconnect(session: Connection) -> None:
    cell = session.start("print('got', input('still there? '))", stdin=True)
    session.wait_for(lambda m: m.type == "input_request")
    session.cut()
    with session.reconnect() as back:
        asked = back.wait_for(lambda m: m.type == "input_request")
        back.send("stdin", "input_reply", {"value": "yes"}, parent=asked)
        assert back.finish(cell).stdout == "got yes\n"


def test_input_without_a_client_that_allows_it_is_an_error(session: Connection) -> None:
    assert session.run("input('?')").reply["ename"] == "StdinNotImplementedError"


@pytest.mark.parametrize("way", ["rest", "control"])
def test_an_interrupt_ends_the_cell_and_nothing_else(
    gateway: Gateway, kernel: str, session: Connection, way: str
) -> None:
    session.run("import time; before = 1")
    cell = session.start("print('go', flush=True)\nfor _ in range(600): time.sleep(0.1)")
    session.wait_for(lambda m: m.type == "stream" and m.parent == cell)
    if way == "rest":
        assert gateway.call("POST", f"/api/kernels/{kernel}/interrupt").status_code == 204
    else:
        assert session.ask("control", "interrupt_request", {})["status"] == "ok"
    assert session.finish(cell, 15).reply["ename"] == "KeyboardInterrupt"
    assert session.run("before").result == "1"


def test_an_interrupt_of_an_idle_kernel_does_no_harm(gateway: Gateway, kernel: str, session: Connection) -> None:
    session.run("a = 1")
    assert gateway.call("POST", f"/api/kernels/{kernel}/interrupt").status_code == 204
    assert session.run("a").result == "1"


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_a_restart_clears_variables_and_keeps_the_kernel(
    gateway: Gateway, kernel: str, session: Connection, body: bytes
) -> None:
    session.run("a = 1")
    response = gateway.call("POST", f"/api/kernels/{kernel}/restart", data=body)
    assert (response.status_code, response.json()["id"]) == (200, kernel)
    cell = session.run("a")
    assert cell.reply["ename"] == "NameError"
    assert cell.reply["execution_count"] == 1


def test_a_restart_ends_a_running_cell_and_tells_the_client(gateway: Gateway, kernel: str, session: Connection) -> None:
    cell = session.start("print('go', flush=True)\nimport time; time.sleep(600)")
    session.wait_for(lambda m: m.type == "stream" and m.parent == cell)
    assert gateway.call("POST", f"/api/kernels/{kernel}/restart").status_code == 200
    assert session.finish(cell, 20).status in ("error", "aborted")
    assert session.run("1 + 1").result == "2"


def test_cells_queued_behind_an_error_are_aborted(session: Connection) -> None:
    cells = [session.start(code) for code in ("import time; time.sleep(0.5); 1/0", "print('no')", "print('no')")]
    first, *others = [session.finish(cell) for cell in cells]
    assert first.status == "error"
    assert [cell.status for cell in others] == ["aborted", "aborted"]
    assert not any(cell.stdout for cell in others)
    assert session.run("print('yes')").stdout == "yes\n"


def test_cells_queued_behind_an_error_run_when_it_does_not_stop_them(session: Connection) -> None:
    cells = [session.start("1/0", stop_on_error=False), session.start("print('yes')")]
    first, second = [session.finish(cell) for cell in cells]
    assert (first.status, second.stdout) == ("error", "yes\n")


def test_a_silent_cell_leaves_no_number(session: Connection) -> None:
    first = session.run("1")
    silent = session.run("hidden = 5", silent=True, store_history=False)
    assert not silent.of_type("execute_input")
    after = session.run("hidden")
    assert after.result == "5"
    assert after.reply["execution_count"] == first.reply["execution_count"] + 1


def test_user_expressions_are_evaluated(session: Connection) -> None:
    reply = session.run("n = 20", user_expressions={"double": "2 * n"}).reply
    assert reply["user_expressions"]["double"]["data"]["text/plain"] == "40"


def test_top_level_await(session: Connection) -> None:
    assert session.run("import asyncio; await asyncio.sleep(0.01); 'done'").result == "'done'"


def test_history_is_one_across_replicas(session: Connection) -> None:
    session.run("a = 1")
    session.run("b = 2")
    reply = session.ask("shell", "history_request", {"hist_access_type": "tail", "n": 2, "output": False, "raw": True})
    assert [entry[2] for entry in reply["history"]] == ["a = 1", "b = 2"]


def test_is_complete(session: Connection) -> None:
    assert session.ask("shell", "is_complete_request", {"code": "for x in y:"})["status"] == "incomplete"
    assert session.ask("shell", "is_complete_request", {"code": "x = 1"})["status"] == "complete"


def test_completion_and_inspection_come_from_a_standby_while_a_cell_runs(session: Connection) -> None:
    session.run("wonderful_name = {'a': 1}\ndef documented():\n    'Says what it does.'")
    cell = session.start("print('go', flush=True)\nimport time; time.sleep(8)")
    session.wait_for(lambda m: m.type == "stream" and m.parent == cell)
    start = time.monotonic()
    complete = session.ask("shell", "complete_request", {"code": "wonderful_n", "cursor_pos": 11})
    inspect = session.ask("shell", "inspect_request", {"code": "documented", "cursor_pos": 10, "detail_level": 0})
    info = session.ask("shell", "kernel_info_request", {})
    assert time.monotonic() - start < 5, "they waited for the cell"
    assert "wonderful_name" in complete["matches"]
    assert inspect["found"]
    assert "Says what it does." in inspect["data"]["text/plain"]
    assert info["language_info"]["name"] == "python"
    assert not [m for m in session.inbox if m.parent == cell and m.type == "execute_reply"], "the cell has ended"
    states = [m.content["execution_state"] for m in session.inbox if m.type == "status"]
    assert states[-1] == "busy", "a standby's idle hides the running cell"
    states = session.finish(cell).states
    assert (states[-1], states.count("idle")) == ("idle", 1)


def test_the_kernel_is_busy_while_a_cell_runs(gateway: Gateway, kernel: str, session: Connection) -> None:
    cell = session.start("print('go', flush=True)\nimport time; time.sleep(2)")
    session.wait_for(lambda m: m.type == "stream" and m.parent == cell)
    session.ask("shell", "kernel_info_request", {})
    assert gateway.get(f"/api/kernels/{kernel}")["execution_state"] == "busy"
    session.finish(cell)
    assert gateway.get(f"/api/kernels/{kernel}")["execution_state"] == "idle"


def test_two_clients_see_the_same_outputs(gateway: Gateway, kernel: str, session: Connection) -> None:
    with Connection(gateway, kernel, protocol=None) as other:
        cell = session.start("print('shared')")
        assert other.wait_for(lambda m: m.type == "stream").content["text"] == "shared\n"
        assert other.wait_for(lambda m: m.type == "execute_input").content["code"] == "print('shared')"
        session.finish(cell)


def test_a_value_that_cannot_be_replicated_is_named_and_its_neighbours_are_not_hurt(
    gateway: Gateway, kernel: str, session: Connection
) -> None:
    cell = session.run("import threading; guard = threading.Lock(); neighbour = 5")
    assert cell.status == "ok"
    assert "guard" in cell.stderr and "neighbour" not in cell.stderr
    assert session.run("guard.locked(), neighbour").result == "(False, 5)"
