"""Hosts that know a data store read a restored session's values there, while cells run again."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, binary
from test_backup import backups, redis
from test_moving import banyan

BIG = "import numpy as np; big = np.random.default_rng(1).random(4_000_000)"
DIFFERENCE = "float(abs(np.random.default_rng(1).random(4_000_000) - big).max())"
HELD_AFTER = 4 << 20  # bytes that still pass: enough for the states and the first chunks


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


class Gate:
    """A proxy that passes on what a server says. After hold() only HELD_AFTER more bytes pass until open()."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._left: int | None = None
        self._open = threading.Event()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        self._left = HELD_AFTER

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self.open()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                threading.Thread(target=self._carry, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._carry, args=(server, client, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if counted and self._spent(len(data)):
                    self._open.wait(120)
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _spent(self, size: int) -> bool:
        with self._lock:
            if self._left is None:
                return False
            self._left -= size
            return self._left < 0


@contextmanager
def gate(url: str) -> Iterator[tuple[str, Gate]]:
    """The URL of the same server behind a gate, and the gate."""
    made = Gate(int(url.rsplit(":", 1)[1]))
    try:
        yield f"redis://127.0.0.1:{made.port}", made
    finally:
        made.close()


def replicas(gateway: Gateway, kernel: str) -> list[dict[str, Any]]:
    return list(gateway.session(kernel)["replicas"])


def backed_up(store: str, kernel: str, commit: int) -> bool:
    return any(row["session"] == kernel and row.get("last_commit") == commit for row in backups(store))


def back_up(folder: Path, store: str, *cells: str) -> str:
    """Runs the cells in a session, backs it up, and ends its platform for good. The cell BIG must not run again."""
    platform = Platform(folder, hosts=1, options=["--replicas", "1"])
    try:
        kernel = platform.gateway.start_kernel(name="python3")
        with Connection(platform.gateway, kernel) as session:
            for cell in cells:
                tags = ["rerun-never"] if cell == BIG else ["rerun-always"]
                assert session.run(cell, tags=tags, timeout=60).status == "ok"
            saved = banyan(platform, "backup", "--once", "--store", store)
            assert saved.returncode == 0, saved.stderr
            return kernel
    finally:
        platform.stop()


@contextmanager
def restoring(platform: Platform, store: str, kernel: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    place = ["--url", platform.gateway.url, "--token", platform.gateway.token]
    argv = [binary(), "restore", kernel, "--store", store, *options, *place]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        yield command


def restored_session(gateway: Gateway) -> str:
    """The id of the restored session, as soon as it has its state; its values may still be on their way."""
    wait_until(lambda: gateway.get("/api/kernels"), "the session is there", 60)
    (kernel,) = (row["id"] for row in gateway.get("/api/kernels"))
    wait_until(lambda: all(replica["last_commit"] for replica in replicas(gateway, kernel)), "it has its state")
    return str(kernel)


def test_cells_run_again_while_the_store_is_read(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    live = "live = (n * n for n in range(9)); next(live)\n"
    live += f"with open({str(ran)!r}, 'a') as log: _ = log.write('x')"
    with redis(tmp_path) as (direct, _), gate(direct) as (url, held):
        kernel = back_up(tmp_path / "first", direct, BIG, live)
        platform = Platform(tmp_path / "second", hosts=3, options=["--backup", url])
        try:
            held.hold()
            with restoring(platform, url, kernel, "--json") as command:
                restored = restored_session(platform.gateway)
                with Connection(platform.gateway, restored) as opened:
                    cell = opened.start("next(live), " + DIFFERENCE)
                    wait_until(lambda: ran.read_text() == "xx", "the cell runs again", 60)
                    lacking = [replica["lacking"] for replica in replicas(platform.gateway, restored)]
                    assert min(lacking) > 50, "most of the values have yet to come"
                    assert command.poll() is None
                    held.open()
                    assert opened.finish(cell, timeout=90).result == "(1, 0.0)"
                shown = json.loads(command.communicate(timeout=90)[0])
            assert command.returncode == 0 and shown[0]["from_store"] is True
            wait_until(
                lambda: not any(replica["lacking"] for replica in replicas(platform.gateway, restored)),
                "all hosts have all of it",
                60,
            )
            assert ran.read_text() == "xx"
        finally:
            platform.stop()


def test_a_restored_session_is_backed_up_whole(tmp_path: Path) -> None:
    """A backup does not take values for lost that the session's hosts have yet to read."""
    with redis(tmp_path) as (direct, _), gate(direct) as (url, held):
        kernel = back_up(tmp_path / "first", direct, BIG)
        platform = Platform(tmp_path / "second", hosts=3, options=["--backup", url])
        try:
            held.hold()
            with restoring(platform, url, kernel) as command:
                restored = restored_session(platform.gateway)
                wait_until(lambda: any(row["lacking"] for row in replicas(platform.gateway, restored)), "it reads")
                again = banyan(platform, "backup", "--store", direct, "--once", "--json")
                assert again.returncode == 1 and "yet to read" in again.stdout, "what is on its way is not lost"
                held.open()
                assert "restored as session" in command.communicate(timeout=90)[0]
            assert command.returncode == 0
            wait_until(lambda: backed_up(direct, restored, 1), "it is backed up", 60)
            (backup,) = (row for row in backups(direct) if row["session"] == restored)
            assert [row["state"] for row in backup["variables"] if row["name"] == "big"] == ["stored"]
        finally:
            platform.stop()


def test_what_a_store_has_damaged_is_made_again(tmp_path: Path) -> None:
    store = f"file://{tmp_path}/store"
    kernel = back_up(tmp_path / "first", store, BIG + ";")
    chunk = next((tmp_path / "store/chunks-of" / kernel).iterdir())
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    platform = Platform(tmp_path / "second", hosts=3, options=["--backup", store])
    try:
        # The command ends before the first cell runs: a chunk that is made again is stored again, and then the
        # session is whole and there is nothing left to warn of.
        with restoring(platform, store, kernel) as command:
            said = command.communicate(timeout=120)[1]
        assert command.returncode == 1
        assert ": 1 of " in said and "made again" in said
        restored = restored_session(platform.gateway)
        assert max(replica["lost"] for replica in replicas(platform.gateway, restored)) == 1
        with Connection(platform.gateway, restored) as opened:
            assert opened.run(DIFFERENCE, timeout=120).result == "0.0"
        wait_until(
            lambda: not any(row["lost"] + row["lacking"] for row in replicas(platform.gateway, restored)),
            "what was made again is stored again",
            60,
        )
        logs = [path.read_text() for path in (tmp_path / "second/logs").glob("h*.log")]
        assert any("the data store does not have" in log for log in logs)
    finally:
        platform.stop()
