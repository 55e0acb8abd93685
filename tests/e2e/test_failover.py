"""Hosts, workers and the gateway die; the session goes on."""

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest
import websocket
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, alive
from harness.wire import Message

# The gateway notes on disk which messages a client has. When it dies while it writes such a note, the message comes
# again with the same msg_id: the other choice would be a gap.
_NOTED_S = 0.4


def _started(session: Connection, code: str) -> str:
    """Sends a cell that runs for long and waits until its user code runs."""
    cell = session.start(f"print('go', flush=True)\n{code}")
    session.wait_for(lambda m: m.type == "stream" and m.parent == cell)
    return cell


class TestHostAgentKilled:
    def test_between_two_cells_the_next_sees_every_variable(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run(
            "import numpy as np, pandas as pd\n"
            "array = np.arange(12.0).reshape(3, 4)\n"
            "frame = pd.DataFrame({'a': [1, 2, 3], 'b': list('xyz')})\n"
            "shared = [array]\n"
            "def double(x): return 2 * x * factor\n"
            "factor = 10",
            timeout=90,
        )
        before = gateway.executor(kernel)
        platform.kill(before)
        start = time.monotonic()
        cell = session.run("int(array.sum()), list(frame.b), shared[0] is array, double(2)")
        assert cell.result == "(66, ['x', 'y', 'z'], True, 40)", cell.reply
        assert time.monotonic() - start < 10
        wait_until(lambda: gateway.executor(kernel) != before, "another host is the executor", 2)

    def test_a_big_variable_survives(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        cell = session.run(
            "import os, hashlib; data = os.urandom(20_000_000); hashlib.sha256(data).hexdigest()", timeout=120
        )
        wait_until(lambda: "pending" not in gateway.session(kernel), "others have it")
        platform.kill(gateway.executor(kernel))
        assert session.run("hashlib.sha256(data).hexdigest()", timeout=60).result == cell.result

    def test_one_that_no_other_host_has_is_made_again(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        cell = session.run("data = b''.join(bytes([n % 251]) * 400 for n in range(200_000))")
        platform.kill(gateway.executor(kernel))
        assert cell.status == "ok"
        again = session.run("len(data), sum(data[::400]) == sum(n % 251 for n in range(200_000))", timeout=60)
        assert again.result == "(80000000, True)", again.stderr

    def test_one_that_may_not_be_made_again_is_whole_or_named(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run("data = 'old'")
        made = session.run(
            f"import os, hashlib; data = os.urandom(80_000_000); open('{tmp_path}/ran', 'a').write('x')\n"
            "hashlib.sha256(data).hexdigest()"
        )
        platform.kill(gateway.executor(kernel))
        after = session.run("hashlib.sha256(data).hexdigest() if 'data' in globals() else 'gone'", timeout=60)
        if after.result != made.result:
            assert after.result == "'gone'"
            assert "'data' could not be restored" in after.stderr
        assert (tmp_path / "ran").read_text() == "x"

    def test_one_that_is_told_to_stop_writes_what_is_in_its_memory_first(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        made = session.run("import os, hashlib; data = os.urandom(80_000_000); hashlib.sha256(data).hexdigest()")
        host = gateway.executor(kernel)
        platform.kill(host, signal.SIGTERM)
        platform.restart(host)
        platform.wait_healthy()
        assert session.run("hashlib.sha256(data).hexdigest()", timeout=60).result == made.result

    def test_count_and_history_go_on(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        count = session.run("a = 1").reply["execution_count"]
        platform.kill(gateway.executor(kernel))
        assert session.run("a").reply["execution_count"] == count + 1
        reply = session.ask(
            "shell", "history_request", {"hist_access_type": "tail", "n": 2, "output": False, "raw": True}
        )
        assert [entry[2] for entry in reply["history"]] == ["a = 1", "a"]

    def test_in_mid_cell_the_cell_is_lost_and_the_session_goes_on(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("a = 'committed'")
        cell = _started(session, "a = 'half'\nimport time; time.sleep(600)")
        platform.kill(gateway.executor(kernel))
        ended = session.finish(cell, 20)
        assert (ended.status, ended.reply["ename"]) == ("error", "ExecutionLost")
        assert "may have run" in ended.reply["evalue"]
        assert len(ended.of_type("error")) == 1
        assert session.run("a").result == "'committed'"

    def test_a_lost_cell_is_not_run_again(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        ran = tmp_path / "ran"
        cell = _started(session, f"print('once', file=open('{ran}', 'a'), flush=True)\nimport time; time.sleep(600)")
        wait_until(ran.exists, "the cell has written")
        platform.kill(gateway.executor(kernel))
        session.finish(cell, 20)
        session.run("pass")
        assert ran.read_text() == "once\n"

    def test_a_standby_nobody_notices(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("a = 1")
        executor = gateway.executor(kernel)
        standby = next(row["host"] for row in gateway.session(kernel)["replicas"] if row["host"] != executor)
        cell = _started(session, "import time; time.sleep(2); a")
        platform.kill(standby)
        assert session.finish(cell, 20).result == "1"
        assert gateway.executor(kernel) == executor

    def test_a_dead_replica_is_replaced_on_the_fourth_host(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("a = 'from the first three'")
        members = {row["host"] for row in gateway.session(kernel)["replicas"]}
        (spare,) = set(platform.hosts) - members
        dead = gateway.executor(kernel)
        platform.kill(dead)

        def replaced() -> bool:
            rows = gateway.session(kernel)["replicas"]
            settled = all(row["up"] and row["role"] != "joining" and row["last_commit"] > 0 for row in rows)
            return settled and {row["host"] for row in rows} == members - {dead} | {spare}

        wait_until(replaced, f"{spare} takes the place of {dead}", 40)
        # The new replica has the state: with one more host dead, it and one of the old replicas must go on.
        platform.kill(next(iter(members - {dead})))
        assert session.run("a", timeout=30).result == "'from the first three'"

    def test_two_dead_replicas_refuse_cells_and_one_back_serves_them(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("a = 5")
        hosts = [row["host"] for row in gateway.session(kernel)["replicas"]]
        for host in hosts[:2]:
            platform.kill(host)
        # A cell sent before the gateway knows of the loss may have started, so it would wait and not be refused.
        wait_until(lambda: sum(row["up"] for row in gateway.session(kernel)["replicas"]) == 1, "the loss is known", 10)
        refused = session.run("a", timeout=40)
        assert refused.status == "error"
        assert refused.reply["ename"] == "NoQuorum", refused.reply
        assert "2" in refused.reply["evalue"] and "was not run" in refused.reply["evalue"]
        platform.restart(hosts[0])
        wait_until(lambda: session.run("a").result == "5", "the session serves again", 40, pause=0.5)

    def test_a_host_that_comes_back_takes_its_replica_up_again(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("a = 1")
        host = gateway.executor(kernel)
        platform.kill(host)
        session.run("a = 2")
        platform.restart(host)
        newest = gateway.session(kernel)["last_commit"]
        wait_until(
            lambda: all(row["up"] and row["last_commit"] >= newest for row in gateway.session(kernel)["replicas"]),
            "all replicas have the last commit",
        )

    def test_a_host_agent_that_stops_for_a_while_is_no_second_executor(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("a = [0]")
        frozen = gateway.executor(kernel)
        os.kill(platform.pid(frozen), signal.SIGSTOP)
        try:
            assert session.run("a.append(1); a", timeout=30).result == "[0, 1]"
        finally:
            os.kill(platform.pid(frozen), signal.SIGCONT)
        assert session.run("a.append(2); a", timeout=30).result == "[0, 1, 2]"


class TestWorkerDied:
    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
            ("import ctypes; ctypes.string_at(0)", "segmentation fault"),
            ("import os; os._exit(7)", "7"),
        ],
        ids=["SIGKILL", "SIGSEGV", "exit"],
    )
    def test_in_a_cell_the_cell_is_an_error_and_the_state_stays(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, code: str, reason: str
    ) -> None:
        session.run("a = 'committed'")
        host = gateway.executor(kernel)
        cell = session.run("a = 'half'\n" + code, timeout=20)
        assert (cell.status, cell.reply["ename"]) == ("error", "KernelDied")
        assert reason in cell.reply["evalue"]
        start = time.monotonic()
        assert session.run("a").result == "'committed'"
        assert time.monotonic() - start < 5
        assert alive(platform.pid(host)), "the host agent died too"

    def test_of_too_much_memory_the_cell_says_so(self, limited_platform: Platform) -> None:
        gateway = limited_platform.gateway
        kernel = gateway.start_kernel(name="python3")
        with Connection(gateway, kernel) as session:
            session.run("a = 'committed'")
            cell = session.run("import os; greedy = [os.urandom(1 << 20) for _ in range(4096)]", timeout=60)
            assert (cell.status, cell.reply["ename"]) == ("error", "KernelDied")
            assert "memory" in cell.reply["evalue"]
            assert session.run("a").result == "'committed'"

    def test_while_idle_the_next_cell_sees_the_variables(
        self, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("a = 1")
        os.kill(gateway.worker_pid(kernel), signal.SIGKILL)
        assert session.run("a", timeout=20).result == "1"

    def test_on_a_standby_nobody_notices(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("a = 1")
        executor = gateway.executor(kernel)
        standby = next(row for row in gateway.session(kernel)["replicas"] if row["host"] != executor)
        pid = wait_until(lambda: gateway.worker_pid(kernel, standby["host"]), "the standby has a worker")
        os.kill(pid, signal.SIGKILL)
        assert session.run("a").result == "1"
        wait_until(lambda: gateway.worker_pid(kernel, standby["host"]) != pid, "the standby has a new worker")


class TestGatewayKilled:
    def test_in_mid_cell_the_output_goes_on_with_no_gap_and_no_double(
        self, platform: Platform, session: Connection
    ) -> None:
        cell = session.start("import time\nfor n in range(80):\n    print(n, flush=True); time.sleep(0.1)")
        session.wait_for(lambda m: m.type == "stream" and "20" in m.content["text"].split())
        time.sleep(_NOTED_S)
        platform.kill("gateway")
        seen = _until_lost(session)
        platform.restart("gateway")
        back = wait_until(lambda: _reconnected(session), "the gateway takes clients again", 20)
        with back:
            ended = back.finish(cell, 60)
            assert ended.status == "ok"
            first = "".join(m.content["text"] for m in seen if m.type == "stream" and m.parent == cell)
            assert (first + ended.stdout).split() == [str(n) for n in range(80)]
            assert back.run("n").result == "79"

    def test_a_cell_that_ended_while_it_was_away_is_told_to_its_client(
        self, platform: Platform, session: Connection
    ) -> None:
        cell = session.start("print('go', flush=True)\nimport time; time.sleep(2); print('ended')")
        session.wait_for(lambda m: m.type == "stream")
        time.sleep(_NOTED_S)
        platform.kill("gateway")
        time.sleep(3)
        platform.restart("gateway")
        back = wait_until(lambda: _reconnected(session), "the gateway takes clients again", 20)
        with back:
            ended = back.finish(cell, 30)
            assert (ended.status, ended.stdout) == ("ok", "ended\n")

    def test_one_that_is_stopped_says_so_to_its_clients(self, platform: Platform, session: Connection) -> None:
        session.run("kept = 1")
        with contextlib.suppress(TimeoutError, websocket.WebSocketTimeoutException):
            session.receive(0.5)  # this answers the gateway's ping, as a client does that always listens
        platform.kill("gateway", signal.SIGTERM)
        with pytest.raises(ConnectionError, match="1011"):
            while True:
                session.receive(10)
        platform.restart("gateway")
        with wait_until(lambda: _reconnected(session), "the gateway takes clients again", 20) as back:
            assert back.run("kept").result == "1"

    def test_kernels_are_listed_again(self, platform: Platform, gateway: Gateway, kernel: str) -> None:
        platform.kill("gateway")
        platform.restart("gateway")
        wait_until(platform.healthy, "the gateway is back", 20)
        assert kernel in {row["id"] for row in gateway.get("/api/kernels")}


class TestControlStoreLost:
    def test_its_sessions_stay_until_it_is_put_back_or_they_are_deleted(self, tmp_path: Path) -> None:
        platform = Platform(tmp_path / "platform", hosts=3)
        try:
            gateway = platform.gateway
            kernel = gateway.start_kernel(name="python3")
            with Connection(gateway, kernel) as session:
                assert session.run("x = 41").reply["status"] == "ok"
            worker = gateway.worker_pid(kernel)

            kept = _move_store(platform, tmp_path / "kept")
            _wait_for_strays(gateway, kernel, 3)
            assert platform.command("hosts").count(f"a replica of session {kernel}, which") == 3
            assert alive(worker)

            _move_store(platform, tmp_path / "other", put_back=kept)
            with Connection(gateway, kernel) as session:
                assert session.run("x + 1").result == "42"
            assert gateway.worker_pid(kernel) == worker

            _move_store(platform, tmp_path / "again")
            _wait_for_strays(gateway, kernel, 3)
            assert gateway.call("DELETE", f"/api/banyan/strays/{kernel}").status_code == 204
            _wait_for_strays(gateway, kernel, 0)
            wait_until(lambda: not alive(worker), "its process has ended")
        finally:
            platform.stop()


def _move_store(platform: Platform, to: Path, put_back: Path | None = None) -> Path:
    """Takes the control store away from the gateway and starts the gateway with another one, or with none."""
    platform.kill("gateway")
    to.mkdir()
    for file in platform.folder.glob("gateway.db*"):
        file.rename(to / file.name)
    for file in put_back.iterdir() if put_back else ():
        file.rename(platform.folder / file.name)
    platform.repair()
    return to


def _wait_for_strays(gateway: Gateway, kernel: str, count: int) -> None:
    def strays() -> int:
        return sum(kernel in host["strays"] for host in gateway.get("/api/banyan/hosts"))

    wait_until(lambda: strays() == count, f"{count} hosts have a replica of {kernel} that the gateway does not know")


class TestClientGone:
    def test_output_while_it_was_away_arrives_after_it_is_back(self, session: Connection) -> None:
        cell = session.start("import time\nfor n in range(30):\n    print(n, flush=True); time.sleep(0.1)")
        session.wait_for(lambda m: m.type == "stream" and "5" in m.content["text"].split())
        session.cut()
        time.sleep(1)
        with session.reconnect() as back:
            ended = back.finish(cell, 30)
            first = "".join(m.content["text"] for m in session.inbox if m.type == "stream")
            numbers = [int(line) for line in (first + ended.stdout).split()]
            # Messages on their way when the connection broke may come again, but none may be missing.
            assert sorted(set(numbers)) == list(range(30))

    def test_the_reply_of_a_cell_that_ended_meanwhile_arrives(self, session: Connection) -> None:
        cell = session.start("import time; time.sleep(1); 'late'")
        session.wait_for(lambda m: m.type == "execute_input")
        session.cut()
        time.sleep(2)
        with session.reconnect() as back:
            assert back.finish(cell, 20).result == "'late'"


_LOST = (OSError, websocket.WebSocketException)


def _until_lost(session: Connection) -> list[Message]:
    """Receives until the connection is lost, and returns all messages that have arrived."""
    try:
        while True:
            session.receive(20)
    except _LOST:
        return session.inbox


def _reconnected(session: Connection) -> Connection | None:
    try:
        return session.reconnect()
    except _LOST:
        return None
