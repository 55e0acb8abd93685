"""The outputs of a session's cells, for a front end that was away (GET /api/banyan/sessions/ID/cells)."""

from typing import Any

from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform


def cells(gateway: Gateway, kernel: str, after: int = 0) -> dict[str, Any]:
    return dict(gateway.get(f"/api/banyan/sessions/{kernel}/cells?after={after}"))


def said(cell: dict[str, Any]) -> str:
    return "".join(one["content"]["text"] for one in cell["outputs"] if one.get("msg_type") == "stream")


def test_a_client_that_comes_later_has_what_the_first_one_got(
    gateway: Gateway, kernel: str, session: Connection
) -> None:
    first = session.start("print('hello')\n40 + 2", cell_id="one")
    ended = session.finish(first)
    answer = cells(gateway, kernel)
    assert answer["waiting"] == [] and answer["input"] is None
    [cell] = answer["cells"]
    assert (cell["cell_id"], cell["execution"], cell["status"]) == ("one", first, "ok")
    assert cell["execution_count"] == 1
    shown = [m.id for m in ended.messages if m.type in ("stream", "execute_result")]
    assert [one["msg_id"] for one in cell["outputs"]] == shown, "doubles are told by these"
    session.run("1 / 0", cell_id="two")
    [cell] = cells(gateway, kernel, answer["last"])["cells"]
    assert (cell["cell_id"], cell["status"]) == ("two", "error")
    assert cell["outputs"][0]["content"]["ename"] == "ZeroDivisionError"


def test_a_running_cell_has_what_it_printed_so_far_and_others_wait(
    gateway: Gateway, kernel: str, session: Connection
) -> None:
    running = session.start("print('before')\nname = input('name? ')\nprint('for', name)", stdin=True, cell_id="run")
    asked = session.wait_for(lambda m: m.type == "input_request")
    waiting = session.start("print('later')", cell_id="later")

    def answer() -> dict[str, Any] | None:
        found = cells(gateway, kernel)
        return found if len(found["waiting"]) == 2 else None

    found = wait_until(answer, "the second cell waits")
    assert [one["cell_id"] for one in found["waiting"]] == ["run", "later"]
    assert found["input"]["content"]["prompt"] == "name? "
    assert found["input"]["parent_header"]["msg_id"] == running
    [cell] = found["cells"]
    assert (cell["status"], said(cell)) == ("running", "before\n")
    session.send("stdin", "input_reply", {"status": "ok", "value": "you"}, parent=asked)
    session.finish(running)
    session.finish(waiting)
    after = cells(gateway, kernel)
    assert [(one["cell_id"], said(one)) for one in after["cells"]] == [
        ("run", "before\nfor you\n"),
        ("later", "later\n"),
    ]
    assert after["waiting"] == [] and after["input"] is None


def test_more_output_than_a_commit_keeps_is_counted(gateway: Gateway, kernel: str, session: Connection) -> None:
    code = "for number in range(40):\n    print('x' * 50_000, flush=True)"
    session.run(code, cell_id="large")
    [cell] = cells(gateway, kernel)["cells"]
    kept = sum(len(one["content"]["text"]) for one in cell["outputs"] if "content" in one)
    assert 500_000 < kept < 1 << 20
    assert cell["outputs"][-1]["missing"] > 0


def test_cells_are_known_after_the_executor_has_died(
    platform: Platform, gateway: Gateway, kernel: str, session: Connection
) -> None:
    session.run("print('hello')", cell_id="one")
    platform.kill(gateway.executor(kernel))
    [cell] = (
        wait_until(lambda: gateway.call("GET", f"/api/banyan/sessions/{kernel}/cells").ok, "an answer")
        and cells(gateway, kernel)["cells"]
    )
    assert said(cell) == "hello\n"
