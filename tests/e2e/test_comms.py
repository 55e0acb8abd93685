"""Comms: the messages between a page and a kernel that widgets are made of."""

import os
from typing import Any

from harness.client import Connection

_ECHO = """
from ipykernel.comm import Comm
def opened(comm, message):
    @comm.on_msg
    def echo(message):
        comm.send({'echo': message['content']['data']}, buffers=message['buffers'])
    comm.send({'opened': message['content']['data']})
get_ipython().kernel.comm_manager.register_target('echo', opened)
"""


def _open(session: Connection) -> None:
    session.run(_ECHO)
    session.send("shell", "comm_open", {"comm_id": "c1", "target_name": "echo", "data": {"n": 1}})
    answer = session.wait_for(lambda m: m.type == "comm_msg")
    assert answer.content == {"comm_id": "c1", "data": {"opened": {"n": 1}}}


def test_a_comm_opens_and_answers(either: Connection) -> None:
    _open(either)
    either.send("shell", "comm_msg", {"comm_id": "c1", "data": {"n": 2}})
    answer = either.wait_for(lambda m: m.type == "comm_msg" and "echo" in m.content["data"])
    assert answer.content["data"] == {"echo": {"n": 2}}


def test_buffers_go_both_ways_unchanged(either: Connection) -> None:
    _open(either)
    buffers = [b"\xff\x00\xfe not utf-8", b"", os.urandom(1000)]
    either.send("shell", "comm_msg", {"comm_id": "c1", "data": {}}, buffers=buffers)
    answer = either.wait_for(lambda m: m.type == "comm_msg" and "echo" in m.content["data"])
    assert answer.buffers == buffers


def test_open_comms_are_listed(session: Connection) -> None:
    _open(session)
    comms = session.ask("shell", "comm_info_request", {"target_name": "echo"})["comms"]
    assert comms == {"c1": {"target_name": "echo"}}


def test_a_comm_that_the_kernel_opens(session: Connection) -> None:
    cell = session.run(
        "from ipykernel.comm import Comm; c = Comm('target', data={'a': 1}); c.send({'b': 2}); c.close()"
    )
    kinds = [m.type for m in cell.messages if m.type.startswith("comm_")]
    assert kinds == ["comm_open", "comm_msg", "comm_close"]


def test_a_front_end_asks_the_history(either: Connection) -> None:
    either.run("value = 1")
    either.run("value = 2")
    either.send("shell", "comm_open", {"comm_id": "h", "target_name": "banyan.history", "data": {}})

    def ask(number: int, question: object) -> dict[str, Any]:
        either.send("shell", "comm_msg", {"comm_id": "h", "data": {"id": number, "question": question}})
        answer = either.wait_for(lambda m: m.type == "comm_msg" and m.content["data"].get("id") == number)
        return dict(answer.content["data"])

    log = ask(1, {"do": "log"})["answer"]
    assert [row["code"] for row in log["commits"]] == ["value = 2", "value = 1"]
    assert ask(2, {"do": "undo"})["answer"]["restores"] == ["value"]
    assert either.run("value").result == "1"
    assert "cannot 'fly'" in ask(3, {"do": "fly"})["error"]
    path = str(either.run("import tempfile; kept = tempfile.TemporaryDirectory(); kept.name").result).strip("'")
    assert ask(5, {"do": "undo"})["answer"]["removes"] == [{"name": "kept", "path": path}]
    assert "question" in ask(4, "what")["error"]
