"""Suspending, resuming and moving a session: everything of it comes along, and nobody has to reconnect."""

import time
from typing import Any

import requests
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, alive

SETUP = """
import numpy as np, pandas as pd
df = pd.DataFrame({'a': [1, 2, 3], 'b': [4.0, 5.0, 6.0]})
array = np.arange(200_000.0)
window = array[10:20]
alias = [df]
squares = (n * n for n in range(10))
next(squares)
"""
LOOK = "float(window[5]), np.shares_memory(window, array), alias[0] is df, list(df.columns), next(squares)"
SEEN = "(15.0, True, True, ['a', 'b'], 1)"


def operate(gateway: Gateway, kernel: str, what: str, **body: object) -> requests.Response:
    return gateway.call("POST", f"/api/banyan/sessions/{kernel}/{what}", json=body, timeout=120)


def done(response: requests.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    return dict(response.json())


def worker_pids(gateway: Gateway, kernel: str) -> list[int]:
    return [int(row["pid"]) for row in gateway.session(kernel)["replicas"] if row["pid"]]


def spare_host(gateway: Gateway, kernel: str) -> str:
    members = {row["host"] for row in gateway.session(kernel)["replicas"]}
    return str(next(host for host in sorted(gateway.hosts_up()) if host not in members))


class TestSuspend:
    def test_no_process_is_left_and_the_next_cell_finds_everything(
        self, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run(SETUP, timeout=90)
        pids = wait_until(lambda: worker_pids(gateway, kernel), "workers")
        assert done(operate(gateway, kernel, "suspend"))["suspended"] is True
        assert gateway.session(kernel)["state"] == "suspended"
        wait_until(lambda: not any(alive(pid) for pid in pids), "its processes have ended")
        assert session.run(LOOK, timeout=60).result == SEEN
        assert gateway.session(kernel)["state"] == "idle"

    def test_a_client_that_opens_the_notebook_wakes_it(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 41")
        done(operate(gateway, kernel, "suspend"))
        with Connection(gateway, kernel) as opened:
            assert opened.ask("shell", "kernel_info_request", {})["status"] == "ok"
            wait_until(lambda: gateway.session(kernel)["state"] == "idle", "it is awake")
            assert opened.run("x + 1").result == "42"

    def test_resume_waits_until_variables_are_there(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 41")
        done(operate(gateway, kernel, "suspend"))
        assert done(operate(gateway, kernel, "resume"))["suspended"] is False
        start = time.monotonic()
        assert session.run("x + 1").result == "42"
        assert time.monotonic() - start < 5

    def test_what_would_be_lost_is_named_first(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("import os\nos.makedirs('/tmp/banyan-suspend', exist_ok=True)\nlog = open('/tmp/banyan-suspend/log', 'w')")
        session.run("g = (log.write('x') for _ in range(3))\nnext(g)")
        refused = operate(gateway, kernel, "suspend")
        assert refused.status_code == 409
        assert "'g'" in refused.json()["message"] and "--force" in refused.json()["message"]
        assert session.run("next(g)").result == "1"
        assert "g" in str(done(operate(gateway, kernel, "suspend", force=True))["lost"])
        assert "g" in session.run("1 + 1").stderr

    def test_a_busy_session_is_suspended_when_its_cell_has_ended(
        self, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        sent = session.start("import time; time.sleep(1); y = 5")
        time.sleep(0.3)
        assert operate(gateway, kernel, "suspend").status_code == 200
        assert session.finish(sent).status == "ok"
        assert session.run("y").result == "5"

    def test_it_survives_the_restart_of_daemons(self, platform: Platform, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 41")
        done(operate(gateway, kernel, "suspend"))
        for daemon in [*platform.hosts, "gateway"]:
            platform.kill(daemon)
        platform.repair()
        wait_until(lambda: gateway.session(kernel)["state"] == "suspended", "it is still suspended")
        wait_until(lambda: worker_pids(gateway, kernel) == [], "no worker is left")
        with Connection(gateway, kernel) as opened:
            assert opened.run("x + 1", timeout=60).result == "42"


class TestMigrate:
    def test_to_a_host_that_had_no_replica(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run(SETUP, timeout=90)
        before, to = gateway.executor(kernel), spare_host(gateway, kernel)
        assert done(operate(gateway, kernel, "migrate", host=to))["host"] == to
        assert gateway.executor(kernel) == to
        assert before not in {row["host"] for row in gateway.session(kernel)["replicas"]}
        assert session.run(LOOK).result == SEEN
        assert gateway.executor(kernel) == to, "cells stay there"

    def test_to_a_standby(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run(SETUP, timeout=90)
        before = gateway.executor(kernel)
        to = next(row["host"] for row in gateway.session(kernel)["replicas"] if row["host"] != before)
        done(operate(gateway, kernel, "migrate", host=to))
        assert session.run(LOOK).result == SEEN
        assert gateway.executor(kernel) == to

    def test_there_and_back_while_cells_run(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("seen = []")
        home, away = gateway.executor(kernel), spare_host(gateway, kernel)
        for index, to in enumerate([away, home, away]):
            sent = session.start(f"import time; time.sleep(0.5); seen.append({index}); print('out')")
            done(operate(gateway, kernel, "migrate", host=to))
            cell = session.finish(sent)
            assert (cell.status, cell.stdout) == ("ok", "out\n")
        assert session.run("seen").result == "[0, 1, 2]"
        assert gateway.executor(kernel) == away

    def test_a_suspended_session_moves_and_stays_suspended(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 41")
        done(operate(gateway, kernel, "suspend"))
        to = spare_host(gateway, kernel)
        done(operate(gateway, kernel, "migrate", host=to))
        assert gateway.session(kernel)["state"] == "suspended"
        assert session.run("x + 1", timeout=60).result == "42"
        assert gateway.executor(kernel) == to

    def test_nowhere(self, platform: Platform, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 41")
        assert operate(gateway, kernel, "migrate", host="h99").status_code == 404
        assert operate(gateway, kernel, "migrate").status_code == 400
        to = spare_host(gateway, kernel)
        platform.kill(to)
        wait_until(lambda: to not in gateway.hosts_up(), "the host is down")
        refused = operate(gateway, kernel, "migrate", host=to)
        assert refused.status_code == 503 and "stays" in refused.json()["message"]
        assert session.run("x + 1").result == "42"
