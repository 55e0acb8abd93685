"""Work in the background of a session: its results come along, an operation that would end it names it first, and it
keeps a session awake."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform

WORK = """
import threading, time
def work(seconds):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        seen.append(len(seen))
        time.sleep(0.02)
seen = []
"""
BEGIN = "threading.Thread(target=work, args=({},), name='worker').start()"
NAMED = "thread worker runs work"
WHOLE = "seen == list(range(len(seen))), any(each.name == 'worker' for each in threading.enumerate())"


def operate(gateway: Gateway, kernel: str, what: str, **body: object) -> requests.Response:
    return gateway.call("POST", f"/api/banyan/sessions/{kernel}/{what}", json=body, timeout=120)


def elsewhere(gateway: Gateway, kernel: str, *, member: bool) -> str:
    wait_until(lambda: len(gateway.session(kernel)["replicas"]) == 3, "three replicas")
    hosts = {each["host"] for each in gateway.session(kernel)["replicas"]}
    others = set(gateway.hosts_up()) - {gateway.executor(kernel)}
    return min(others & hosts if member else others - hosts)


@pytest.mark.parametrize("member", [True, False])
def test_a_thread_that_goes_on_is_named_and_what_it_did_comes_along(
    gateway: Gateway, kernel: str, session: Connection, member: bool
) -> None:
    session.run(WORK)
    assert NAMED in session.run(BEGIN.format(600)).stderr
    time.sleep(1)
    target = elsewhere(gateway, kernel, member=member)
    for what, body in (("suspend", {}), ("migrate", {"host": target})):
        refused = operate(gateway, kernel, what, **body)
        assert refused.status_code == 409
        assert NAMED in refused.text
    count = int(str(session.run("len(seen)").result))
    time.sleep(1)
    moved = operate(gateway, kernel, "migrate", host=target, force=True)
    assert moved.status_code == 200, moved.text
    assert [each["name"] for each in moved.json()["lost"]] == [NAMED]
    found = session.run(f"len(seen) > {count + 20}, *({WHOLE})", timeout=60)
    assert found.result == "(True, True, False)"
    assert f"ended with the process in which it ran: {NAMED}" in found.stderr
    assert session.run("1").stderr == ""
    assert gateway.executor(kernel) == target
    again = operate(gateway, kernel, "suspend")
    assert (again.status_code, again.json()["lost"]) == (200, []), "what has ended is no more to lose"


def test_a_thread_that_has_ended_since_is_nothing_to_lose(gateway: Gateway, kernel: str, session: Connection) -> None:
    session.run(WORK)
    session.run(BEGIN.format(0.5))
    time.sleep(1)
    moved = operate(gateway, kernel, "migrate", host=elsewhere(gateway, kernel, member=True))
    assert (moved.status_code, moved.json().get("lost")) == (200, []), moved.text
    found = session.run(f"len(seen) > 10, *({WHOLE})", timeout=60)
    assert (found.result, found.stderr) == ("(True, True, False)", "")


def test_a_suspension_keeps_what_a_thread_did(gateway: Gateway, kernel: str, session: Connection) -> None:
    session.run(WORK)
    session.run(BEGIN.format(600))
    time.sleep(1)
    suspended = operate(gateway, kernel, "suspend", force=True)
    assert suspended.status_code == 200, suspended.text
    assert NAMED in suspended.text
    found = session.run(f"len(seen) > 30, *({WHOLE})", timeout=60)
    assert (found.result, NAMED in found.stderr) == ("(True, True, False)", True)


def test_a_failover_names_it_and_keeps_what_it_did_until_the_last_cell(
    platform: Platform, gateway: Gateway, kernel: str, session: Connection
) -> None:
    session.run(WORK)
    session.run(BEGIN.format(600))
    count = int(str(session.run("len(seen)").result))
    platform.kill(gateway.executor(kernel))
    found = session.run(f"len(seen) >= {count}, *({WHOLE})", timeout=60)
    assert (found.result, NAMED in found.stderr) == ("(True, True, False)", True)


def test_a_cell_that_began_work_does_not_run_again_by_itself(
    gateway: Gateway, kernel: str, session: Connection
) -> None:
    session.run(WORK)
    session.run("g = (i for i in range(3)); " + BEGIN.format(600))
    moved = operate(gateway, kernel, "migrate", host=elsewhere(gateway, kernel, member=True), force=True)
    assert {each["name"] for each in moved.json()["lost"]} == {"g", NAMED}
    assert session.run(WHOLE, timeout=60).result == "(True, False)"


def test_what_callbacks_of_comms_did_comes_along(gateway: Gateway, kernel: str, session: Connection) -> None:
    session.run(
        "import comm; heard = []\n"
        "def opened(opened, message): opened.on_msg(lambda message: heard.append(message['content']['data']))\n"
        "comm.get_comm_manager().register_target('t', opened)"
    )
    session.send("shell", "comm_open", {"comm_id": "c", "target_name": "t", "data": {}})
    session.send("shell", "comm_msg", {"comm_id": "c", "data": 7})
    time.sleep(0.5)
    moved = operate(gateway, kernel, "migrate", host=elsewhere(gateway, kernel, member=True), force=True)
    assert moved.status_code == 200, moved.text
    assert session.run("heard", timeout=60).result == "[7]"


@pytest.fixture(scope="module")
def sleepy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that suspends sessions after two idle seconds."""
    platform = Platform(tmp_path_factory.mktemp("sleepy"), hosts=1, options=["--replicas", "1"])
    try:
        settings = platform.config("gateway").read_text()
        platform.config("gateway").write_text(re.sub(r"(?m)^suspend_after_s.*$", "suspend_after_s = 2", settings))
        platform.kill("gateway")
        platform.repair()
        yield platform
    finally:
        platform.stop()


@pytest.mark.parametrize(
    "begin",
    [
        BEGIN.format(6),
        "import asyncio\nasync def waits():\n    for _ in range(60): seen.append(len(seen)); await asyncio.sleep(0.1)\n"
        "_ = asyncio.create_task(waits())",
        "import concurrent.futures; p = concurrent.futures.ThreadPoolExecutor(1); p.submit(time.sleep, 6) and None",
        "import subprocess; p = subprocess.Popen(['sleep', '6'])",
    ],
)
def test_work_keeps_an_idle_session_awake_until_it_ends(sleepy: Platform, begin: str) -> None:
    gateway = sleepy.gateway
    kernel = gateway.start_kernel(name="python3")
    with Connection(gateway, kernel) as session:
        session.run(WORK)
        session.run(begin)
        pid = gateway.session(kernel)["replicas"][0]["pid"]
        time.sleep(5)
        assert gateway.session(kernel)["state"] != "suspended"
        assert Path(f"/proc/{pid}").exists()
        if "seen" in begin or "work" in begin:
            assert session.run("len(seen) > 20").result == "True"
        wait_until(lambda: gateway.session(kernel)["state"] == "suspended", "it has ended, and so has the work")
        assert session.run("seen == list(range(len(seen)))", timeout=60).result == "True"


def test_what_is_idle_keeps_no_session_awake(sleepy: Platform) -> None:
    gateway: Gateway = sleepy.gateway
    kernel = gateway.start_kernel(name="python3")
    with Connection(gateway, kernel) as session:
        session.run(
            "import concurrent.futures; pool = concurrent.futures.ThreadPoolExecutor(1); pool.submit(int).result()\n"
            "from tqdm.auto import tqdm; list(tqdm(range(3), disable=False)) and None"
        )
        wait_until(lambda: gateway.session(kernel)["state"] == "suspended", "it is suspended")
