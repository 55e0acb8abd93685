"""Suspending, resuming and moving a session: all its state comes along, and no client has to reconnect."""

import json
import os
import re
import socket
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
import requests
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, alive, binary

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


def banyan(
    platform: Platform, command: str, *arguments: str, cache: str | Path = os.devnull
) -> subprocess.CompletedProcess[str]:
    """Runs a command of an operator. `cache`: the folder in which the command keeps the speeds that it measures."""
    place = ["--url", platform.gateway.url, "--token", platform.gateway.token]
    return run_banyan(command, *arguments, *place, cache=cache)


def run_banyan(*arguments: str | Path, cache: str | Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=120, env=env)


def written_over(line: str) -> str:
    """The text that a notebook shows for a line in which \\r goes back to the beginning."""
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown.rstrip()


def slow_files(folder: Path) -> Path:
    """A cache folder that remembers slow files, 5 MB/s each way, so that making values again is quicker than storing
    them."""
    ways = folder / "banyan" / "ways.json"
    ways.parent.mkdir()
    took = [[50_000_000, 10_000_000]] * 10
    ways.write_text(json.dumps({f"files of {socket.gethostname()}": {"wrote": took, "read": took}}))
    return folder


def exported(
    platform: Platform, kernel: str, file: Path, *options: str, cache: str | Path = os.devnull
) -> dict[str, Any]:
    ended = banyan(platform, "export", kernel, str(file), "--json", *options, cache=cache)
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


def imported(platform: Platform, file: Path, *options: str) -> str:
    ended = banyan(platform, "import", str(file), "--json", *options)
    assert ended.returncode == 0, ended.stderr
    return str(json.loads(ended.stdout)["id"])


def worker_pids(gateway: Gateway, kernel: str) -> list[int]:
    return [int(row["pid"]) for row in gateway.session(kernel)["replicas"] if row["pid"]]


def spare_host(gateway: Gateway, kernel: str) -> str:
    members = {row["host"] for row in gateway.session(kernel)["replicas"]}
    return str(next(host for host in sorted(gateway.hosts_up()) if host not in members))


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the test a user of its own, who has no signing key yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


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

    def test_its_next_process_begins_with_the_libraries_that_it_had_imported(
        self, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("import numpy as np\nx = 1", timeout=60)

        def begins_with_them() -> bool:
            done(operate(gateway, kernel, "suspend"))
            session.run("x += 1", timeout=60)
            status = Path(f"/proc/{gateway.worker_pid(kernel, gateway.executor(kernel))}/status").read_text()
            parent = status.partition("PPid:")[2].split()[0]
            return "--at-leisure" in Path(f"/proc/{parent}/cmdline").read_text()

        # The host imports them when it has nothing else to do.
        wait_until(begins_with_them, "its process is forked from one that has imported them", 60, pause=2)

    def test_the_command_says_what_it_did(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("x = 41")
        for verb, state in (("suspend", "suspended"), ("resume", "idle")):
            assert banyan(platform, verb, kernel).stdout == f"the session is {verb.removesuffix('e')}ed\n"
            assert gateway.session(kernel)["state"] == state

    def test_a_client_that_opens_the_notebook_wakes_it(
        self, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
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
        session.run(
            "import os\nos.makedirs('/tmp/banyan-suspend', exist_ok=True)\nlog = open('/tmp/banyan-suspend/log', 'w')"
        )
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
        allowed = operate(gateway, kernel, "suspend")
        assert allowed.status_code == 200, allowed.text
        assert session.finish(sent).status == "ok"
        assert session.run("y").result == "5"

    def test_it_survives_the_restart_of_daemons(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("x = 41")
        done(operate(gateway, kernel, "suspend"))
        for daemon in [*platform.hosts, "gateway"]:
            platform.kill(daemon)
        platform.repair()
        wait_until(lambda: gateway.session(kernel)["state"] == "suspended", "it is still suspended")
        wait_until(lambda: worker_pids(gateway, kernel) == [], "no worker is left")
        with Connection(gateway, kernel) as opened:
            assert opened.run("x + 1", timeout=60).result == "42"

    def test_an_idle_session_is_suspended_by_policy(self, tmp_path: Path) -> None:
        platform = Platform(tmp_path / "idle", hosts=1, options=["--replicas", "1"])
        try:
            settings = platform.config("gateway").read_text()
            settings = re.sub(r"(?m)^suspend_after_s.*$", "suspend_after_s = 2", settings)
            platform.config("gateway").write_text(settings)
            platform.kill("gateway")
            platform.repair()
            kernel = platform.gateway.start_kernel(name="python3")
            with Connection(platform.gateway, kernel) as session:
                session.run("x = 41")
                wait_until(lambda: platform.gateway.session(kernel)["state"] == "suspended", "it is suspended")
                assert session.run("x + 1", timeout=60).result == "42"
        finally:
            platform.stop()


class TestMigrate:
    def test_to_a_host_that_had_no_replica(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run(SETUP, timeout=90)
        before, to = gateway.executor(kernel), spare_host(gateway, kernel)
        assert done(operate(gateway, kernel, "migrate", host=to))["host"] == to
        assert gateway.executor(kernel) == to
        assert session.run(LOOK).result == SEEN
        wait_until(lambda: before not in {row["host"] for row in gateway.session(kernel)["replicas"]}, "it has left")
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

    def test_a_suspended_session_moves_and_stays_suspended(
        self, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("x = 41")
        done(operate(gateway, kernel, "suspend"))
        to = spare_host(gateway, kernel)
        done(operate(gateway, kernel, "migrate", host=to))
        assert gateway.session(kernel)["state"] == "suspended"
        assert session.run("x + 1", timeout=60).result == "42"
        assert gateway.executor(kernel) == to

    def test_what_would_be_lost_is_named_first(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("out = open('/tmp/banyan-migrate', 'w'); x = 41")
        home, to = gateway.executor(kernel), spare_host(gateway, kernel)
        refused = operate(gateway, kernel, "migrate", host=to)
        assert refused.status_code == 409 and "'out'" in refused.json()["message"]
        assert gateway.executor(kernel) == home
        moved = done(operate(gateway, kernel, "migrate", host=to, force=True))
        assert "out" in str(moved["lost"])
        cell = session.run("x + 1")
        assert cell.result == "42" and "'out'" in cell.stderr

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


class TestMagics:
    def test_suspend(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 41")
        assert "wakes it" in session.run("%suspend").stdout
        wait_until(lambda: gateway.session(kernel)["state"] == "suspended", "it is suspended")
        wait_until(lambda: not worker_pids(gateway, kernel), "no worker is left")
        assert session.run("x + 1", timeout=60).result == "42"

    def test_migrate(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 41")
        to = spare_host(gateway, kernel)
        assert to in session.run(f"%migrate {to}").stdout
        wait_until(lambda: gateway.executor(kernel) == to, "it is there")
        assert session.run("x + 1").result == "42"

    def test_migrate_to_nowhere(self, session: Connection) -> None:
        cell = session.run("%migrate h99")
        assert cell.status == "error" and "no host 'h99'" in cell.reply["evalue"]


class TestHibernation:
    def test_a_suspended_session_that_nobody_asks_is_on_the_disk_only(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run(SETUP, timeout=90)
        done(operate(gateway, kernel, "suspend"))
        said = f"session {kernel} hibernates"

        def hibernates(host: str) -> bool:  # every process of the host has a log of its own
            return any(said in log.read_text() for log in platform.folder.rglob(f"{host}*.log"))

        hosts = [row["host"] for row in gateway.session(kernel)["replicas"]]
        wait_until(lambda: all(map(hibernates, hosts)), "all its hosts let it hibernate", 90)
        assert gateway.session(kernel)["state"] == "suspended"
        listed = banyan(platform, "log", kernel, "--json")
        assert listed.returncode == 0 and len(json.loads(listed.stdout)["commits"]) >= 1, listed.stderr
        assert gateway.session(kernel)["state"] == "suspended", "to look at it is not to wake it"
        assert session.run(LOOK, timeout=60).result == SEEN


class TestExport:
    def test_a_file_brings_everything_back(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run(SETUP, timeout=90)
        session.run("big = np.random.default_rng(0).normal(size=(1000, 1000))\ntotal = float(big.sum())")
        session.run("thirds = [k / 3 for k in range(1_000_000)]")
        newest = json.loads(banyan(platform, "log", kernel, "--json").stdout)["commits"][0]
        assert 0 < newest["serialised_s"]["list"] < newest["runtime_s"]
        file = tmp_path / "work.banyan"
        shown = exported(platform, kernel, file)
        assert {row["name"]: row["state"] for row in shown["variables"]}["squares"] == "made again"
        entered = imported(platform, file)
        try:
            with Connection(gateway, entered) as opened:
                assert opened.run(LOOK, timeout=60).result == SEEN
                assert opened.run("total == float(big.sum())").result == "True"
                assert "big = np.random" in opened.run("%log").shown
                opened.run("%undo 1")
        finally:
            gateway.delete_kernel(entered)
        assert session.run(LOOK).result == SEEN, "the session itself goes on"

    def test_magics_write_and_open_a_file(self, gateway: Gateway, session: Connection, tmp_path: Path) -> None:
        session.run(SETUP, timeout=90)
        file = tmp_path / "two words.banyan"
        said = session.run(f"later = 1\n%export '{file}' --values all")
        assert said.status == "ok" and "squares" in said.stdout and "later" not in said.stdout, said.stdout
        assert "signed by" in session.run(f"%import '{file}' --show").stdout
        said = session.run(f"%import '{file}'")
        entered = re.search(r"imported as session ([0-9a-f-]{36})", said.stdout)
        assert entered, said.stdout
        try:
            with Connection(gateway, entered[1]) as opened:
                assert opened.run(LOOK, timeout=60).result == SEEN
        finally:
            gateway.delete_kernel(entered[1])
        assert session.run(f"{LOOK}, later").result == SEEN[:-1] + ", 1)", "this session goes on"
        for wrong, says in (("%import /nowhere.banyan", "nowhere"), ("%export", "file")):
            cell = session.run(wrong)
            assert cell.status == "error" and says in cell.stdout + cell.stderr + cell.reply["evalue"]

    def test_a_bar_is_gone_when_its_answer_is_shown(self, session: Connection, tmp_path: Path) -> None:
        session.run("import numpy as np\nbig = np.random.default_rng().random(16_000_000)", timeout=90)
        said = session.run(f"%export {tmp_path / 'work.banyan'}", timeout=90)
        shown = written_over(said.stdout.split("\n")[0])
        assert shown.startswith("session "), shown

    def test_what_is_cheap_to_make_need_not_come_along(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run("import numpy as np", timeout=90)
        session.run("big = np.random.default_rng(1).integers(0, 9, 5_000_000).astype(float)")  # global state beside
        session.run("big[0] = 77")
        session.run("small = big[:5].copy()")
        look = "float(big.sum()), float(big[0]), small.tolist()"
        seen = session.run(look).result
        whole, least = tmp_path / "whole.banyan", tmp_path / "least.banyan"
        assert exported(platform, kernel, whole)["bytes"] > 2_000_000
        assert exported(platform, kernel, least, "--values", "least", cache=slow_files(tmp_path))["bytes"] < 1_000_000
        entered = imported(platform, least)
        try:
            with Connection(gateway, entered) as opened:
                first = opened.run(look, timeout=60)
                assert (first.result, first.stderr) == (seen, "")
        finally:
            gateway.delete_kernel(entered)

    def test_the_plan_is_never_dearer_than_loading_or_running_all(
        self, platform: Platform, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run("import numpy as np, time", timeout=90)
        session.run("big = np.arange(2_000_000.0)")
        session.run("time.sleep(0.5); slow = 7")
        file = tmp_path / "x.banyan"
        assert banyan(platform, "export", kernel, str(file), cache=tmp_path).returncode == 0
        rows = json.loads(run_banyan("plan", "move", file, "--json", cache=tmp_path).stdout)["rows"]
        assert [row["bits_per_s"] for row in rows if not row["measured"]] == [5e7, 1e8, 1e9, 1e10]
        assert sum(row["measured"] for row in rows) == 1, "that export has been learned from"
        for row in rows:
            assert row["least_s"] <= min(row["load_all_s"], row["run_all_s"])
        assert rows[0]["runs"] >= 1, "a slow way: what is cheap to make is made"
        assert rows[0]["least_s"] < rows[0]["load_all_s"] / 2

    def test_what_its_author_says_goes(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run("import numpy as np", timeout=90)
        session.run("%%rerun never\nonce = np.arange(3_000_000.0)")
        session.run("tagged = np.arange(3_000_000.0) + 1", tags=["rerun-never", "other"])
        session.run("along = np.arange(3_000_000.0) + 2", tags=["copy-always"])
        session.run("kept = np.arange(3_000_000.0)")
        session.run("made = np.arange(3_000_000.0)")
        assert "kept" in session.run("%copy always kept").stdout
        shown = exported(platform, kernel, tmp_path / "least.banyan", "--values", "least")
        state = {row["name"]: row["state"] for row in shown["variables"]}
        assert (state["once"], state["kept"], state["made"]) == ("stored", "stored", "made again")
        assert (state["tagged"], state["along"]) == ("stored", "stored")
        assert "nothing" in session.run("%copy auto kept along").stdout
        assert session.run("%copy always nowhere").status == "error"
        assert session.run("%rerun sometimes").status == "error"

    def test_an_open_log_is_opened_again_where_its_author_says_so(
        self, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        opened = f"log = open({str(tmp_path / 'log')!r}, 'a'); print('begun', file=log, flush=True)"
        assert session.run(opened, timeout=60).status == "ok"
        refused = operate(gateway, kernel, "suspend")
        assert refused.status_code == 409 and "wrote" in refused.text and "%%rerun always" in refused.text
        assert session.run(opened, tags=["rerun-always"]).status == "ok"
        allowed = operate(gateway, kernel, "suspend")
        assert allowed.status_code == 200, allowed.text
        assert session.run("print('on', file=log, flush=True); log.mode", timeout=60).result == "'a'"
        assert (tmp_path / "log").read_text().split() == ["begun", "begun", "begun", "on"]

    def test_old_commits_come_along_when_asked_for(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run("import time\nx = [time.time()]")
        first = session.run("x").result
        session.run("x[0] = 0")
        file = tmp_path / "all.banyan"
        exported(platform, kernel, file, "--values", "all")
        entered = imported(platform, file)
        try:
            with Connection(gateway, entered) as opened:
                assert opened.run("x", timeout=60).result == "[0]"
                opened.run("%undo")
                assert opened.run("x").result == first
        finally:
            gateway.delete_kernel(entered)

    def test_through_a_data_store(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run("x = 41")
        store = f"file://{tmp_path}/store"
        (tmp_path / "store").mkdir()
        exported(platform, kernel, Path("work.banyan"), "--store", store)
        entered = imported(platform, Path("work.banyan"), "--store", store)
        try:
            with Connection(gateway, entered) as opened:
                assert opened.run("x + 1", timeout=60).result == "42"
        finally:
            gateway.delete_kernel(entered)
        missing = banyan(platform, "import", "other.banyan", "--store", store)
        assert missing.returncode == 1 and "other.banyan" in missing.stderr
        nowhere = banyan(platform, "export", kernel, "work.banyan", "--store", "ftp://somewhere")
        assert nowhere.returncode == 1 and "s3" in nowhere.stderr

    def test_a_file_of_a_stranger_is_refused(
        self,
        platform: Platform,
        gateway: Gateway,
        kernel: str,
        session: Connection,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        session.run("x = 41")
        file = tmp_path / "work.banyan"
        exported(platform, kernel, file)
        before = len(gateway.get("/api/kernels"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
        refused = banyan(platform, "import", str(file))
        assert refused.returncode == 1
        assert "'x'" in refused.stdout or "x" in refused.stdout
        assert "--trust" in refused.stderr and "--unsigned" in refused.stderr
        assert len(gateway.get("/api/kernels")) == before
        assert banyan(platform, "import", str(file), "--show").returncode == 0
        gateway.delete_kernel(imported(platform, file, "--unsigned"))
        assert banyan(platform, "import", str(file)).returncode == 1
        gateway.delete_kernel(imported(platform, file, "--trust", "a friend"))
        gateway.delete_kernel(imported(platform, file))

    def test_a_damaged_file_is_refused(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection, tmp_path: Path
    ) -> None:
        session.run("x = 41")
        file = tmp_path / "work.banyan"
        exported(platform, kernel, file)
        whole = file.read_bytes()
        for name, damaged, why in [
            ("changed", whole[:1500] + bytes([whole[1500] ^ 1]) + whole[1501:], "changed"),
            ("cut", whole[:-200], "cut short|changed"),
            ("empty", b"", "no session file"),
            ("foreign", b"x" * 5000, "no session file"),
            ("longer", whole + b"x", "changed|longer"),
        ]:
            broken = tmp_path / name
            broken.write_bytes(damaged)
            refused = banyan(platform, "import", str(broken), "--unsigned")
            assert refused.returncode == 1, name
            assert re.search(why, refused.stderr), (name, refused.stderr)
        assert banyan(platform, "import", str(tmp_path / "nowhere")).returncode == 1

    def test_state_that_is_none_changes_nothing(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        path = f"/api/banyan/sessions/{kernel}/import?upload={uuid.uuid4()}"
        for body in (b"", b"nonsense", bytes(range(256)) * 4):
            assert gateway.call("POST", path, data=body).status_code == 400
        session.run("x = 41")
        state = gateway.call("GET", f"/api/banyan/sessions/{kernel}/export").content
        refused = gateway.call("POST", path, data=state)
        assert refused.status_code == 409 and "nothing has run" in refused.json()["message"]
        assert gateway.call("GET", f"/api/banyan/sessions/{kernel}/chunks/{'0' * 32}").status_code == 404
        assert session.run("x").result == "41"
