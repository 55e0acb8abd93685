"""Backups in a data store: a backup follows its session, costs as much as has changed, and outlives the hosts."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, binary
from test_moving import LOOK, SEEN, SETUP, banyan


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the test a user of its own, who has no signing key yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store"


def back_up(platform: Platform, store: str, kernel: str) -> dict[str, Any]:
    """Backs up once and returns what was written for this session; empty when nothing was."""
    ended = banyan(platform, "backup", "--store", store, "--once", "--json")
    assert ended.returncode == 0, ended.stderr
    return next((dict(row) for row in json.loads(ended.stdout) if row["session"] == kernel), {})


def restore(platform: Platform, store: str, kernel: str, *options: str) -> dict[str, Any]:
    ended = banyan(platform, "restore", kernel, "--store", store, "--json", *options)
    assert ended.returncode == 0, ended.stderr
    (restored,) = json.loads(ended.stdout)
    return dict(restored)


def backups(store: str) -> list[dict[str, Any]]:
    ended = subprocess.run(
        [binary(), "backups", "--store", store, "--json"], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    return list(json.loads(ended.stdout))


def variable(restored: dict[str, Any], name: str) -> dict[str, Any]:
    return next(dict(row) for row in restored["variables"] if row["name"] == name)


@contextmanager
def redis(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A Redis server for one test: its URL and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:

        def answers() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0

        wait_until(answers, "redis-server listens")
        yield f"redis://127.0.0.1:{port}", server
    finally:
        server.send_signal(signal.SIGCONT)
        server.kill()
        server.wait()


def test_a_session_is_restored_with_its_history(
    platform: Platform, gateway: Gateway, kernel: str, session: Connection, store: str
) -> None:
    session.run(SETUP, timeout=90)
    session.run("array[:] = 0")
    session.run("%undo")
    assert back_up(platform, store, kernel)["last_commit"] == 3
    restored = restore(platform, store, kernel[:8])
    try:
        with Connection(gateway, restored["id"]) as opened:
            opened.run("%redo", timeout=60)
            assert opened.run("float(array.sum())").result == "0.0"
            opened.run("%undo")
            assert opened.run(LOOK).result == SEEN
    finally:
        gateway.delete_kernel(restored["id"])


def test_only_what_has_changed_is_brought(platform: Platform, kernel: str, session: Connection, store: str) -> None:
    session.run("import numpy as np; big = np.random.default_rng(1).random(5_000_000)", timeout=60)
    assert back_up(platform, store, kernel)["bytes"] > 30_000_000
    assert back_up(platform, store, kernel) == {}
    session.run("big[7] = 1.0")
    assert back_up(platform, store, kernel)["bytes"] < 3_000_000
    assert banyan(platform, "tag", kernel, "here").returncode == 0
    assert back_up(platform, store, kernel)["chunks"] == 0
    shown = next(row for row in backups(store) if row["session"] == kernel)
    assert shown["signer"] == "you" and shown["cells"] == 2


def test_it_outlives_the_hosts_and_their_disks(tmp_path: Path, store: str) -> None:
    """Two of three hosts are gone for good: cells are refused, not lost in silence. On another platform the restored
    session goes on."""
    platform = Platform(tmp_path / "first", hosts=3, options=["--backup", store])
    try:
        kernel = platform.gateway.start_kernel(name="python3")
        with Connection(platform.gateway, kernel) as session:
            session.run(SETUP, timeout=90)
            session.run("answer = 42")
            wait_until(
                lambda: any(row["session"] == kernel and row.get("last_commit") == 2 for row in backups(store)),
                "the last commit is backed up",
                60,
            )
            for host in ("h1", "h2"):
                platform.kill(host)
                shutil.rmtree(tmp_path / "first" / host)
            # A cell sent to such a host before the gateway knows of the loss may have run, so it waits: the test sends
            # none.
            wait_until(lambda: platform.gateway.hosts_up() == {"h3"}, "the gateway knows that they are gone")
            refused = session.run("answer += 1", timeout=90)
            assert refused.status == "error" and "host" in refused.stderr + str(refused.reply)
    finally:
        platform.stop()
    elsewhere = Platform(tmp_path / "second", hosts=1, options=["--replicas", "1"])
    try:
        restored = restore(elsewhere, store, kernel)
        with Connection(elsewhere.gateway, restored["id"]) as opened:
            assert opened.run("answer", timeout=60).result == "42"
            assert opened.run(LOOK).result == SEEN
    finally:
        elsewhere.stop()


def test_a_store_that_hangs_holds_up_nobody(tmp_path: Path) -> None:
    with redis(tmp_path) as (url, server):
        platform = Platform(tmp_path / "platform", hosts=3, options=["--backup", url])
        try:
            kernel = platform.gateway.start_kernel(name="python3")

            def backed_up(commit: int) -> bool:
                return any(row["session"] == kernel and row.get("last_commit") == commit for row in backups(url))

            with Connection(platform.gateway, kernel) as session:
                session.run("x = 1", timeout=60)
                wait_until(lambda: backed_up(1), "the first commit is backed up", 60)
                server.send_signal(signal.SIGSTOP)
                for value in range(2, 6):
                    assert session.run(f"x = {value}").status == "ok"
                time.sleep(12)  # meanwhile the platform looks for changes to back up, and the store hangs
                assert session.run("x").result == "5"
                server.send_signal(signal.SIGCONT)
                wait_until(lambda: backed_up(6), "the backup has caught up", 120, pause=1)
        finally:
            platform.stop()


def test_what_is_damaged_in_the_store_is_made_again(
    platform: Platform, gateway: Gateway, kernel: str, session: Connection, store: str, tmp_path: Path
) -> None:
    session.run("import numpy as np; big = np.random.default_rng(1).random(1_000_000)", timeout=60)
    session.run("total = float(big.sum())")
    session.run("stream = open('/tmp/banyan-damage', 'w')")
    session.run("other = np.random.default_rng(2).random(1_000_000); _ = stream.write('x')")
    back_up(platform, store, kernel)
    for chunk in (tmp_path / "store/chunks-of" / kernel).iterdir():
        whole = chunk.read_bytes()
        chunk.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    ended = banyan(platform, "restore", kernel, "--store", store, "--json")
    assert ended.returncode == 1 and "without values that are lost" in ended.stderr
    (restored,) = json.loads(ended.stdout)
    try:
        assert restored["damaged_chunks"] > 0
        assert variable(restored, "total")["state"] == "stored"
        assert variable(restored, "big")["state"] == "made again"
        assert variable(restored, "other")["state"] == "lost" and variable(restored, "other")["reason"]
        with Connection(gateway, restored["id"]) as opened:
            assert opened.run("float(big.sum()) == total", timeout=60).result == "True"
    finally:
        gateway.delete_kernel(restored["id"])


def test_a_backup_of_a_stranger_is_refused(
    platform: Platform,
    gateway: Gateway,
    kernel: str,
    session: Connection,
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session.run("x = 41")
    back_up(platform, store, kernel)
    before = len(gateway.get("/api/kernels"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    refused = banyan(platform, "restore", kernel, "--store", store)
    assert refused.returncode == 1 and "--trust" in refused.stderr and "--unsigned" in refused.stderr
    assert len(gateway.get("/api/kernels")) == before
    gateway.delete_kernel(restore(platform, store, kernel, "--unsigned")["id"])
    gateway.delete_kernel(restore(platform, store, kernel, "--trust", "a friend")["id"])
    gateway.delete_kernel(restore(platform, store, kernel)["id"])


def test_an_older_state_does_not_take_the_place_of_a_newer_backup(
    platform: Platform, gateway: Gateway, store: str
) -> None:
    """An older state comes from another session of the same id, or from a platform that returns from an old copy of its
    disk."""
    kernel = gateway.start_kernel(name="python3")
    with Connection(gateway, kernel) as session:
        session.run("x = 1")
        session.run("x = 2")
    back_up(platform, store, kernel)
    gateway.delete_kernel(kernel)
    assert gateway.start_kernel(name="python3", env={"KERNEL_ID": kernel}) == kernel
    try:
        with Connection(gateway, kernel) as session:
            session.run("x = 'another'")
        refused = banyan(platform, "backup", "--store", store, "--once", "--json")
        assert refused.returncode == 1 and "it is kept" in refused.stdout
        restored = restore(platform, store, kernel)
        with Connection(gateway, restored["id"]) as opened:
            assert opened.run("x", timeout=60).result == "2"
        gateway.delete_kernel(restored["id"])
    finally:
        gateway.delete_kernel(kernel)


def test_undo_needs_all_values(
    platform: Platform, gateway: Gateway, kernel: str, session: Connection, store: str
) -> None:
    session.run("import numpy as np; big = np.random.default_rng(1).random(500_000)", timeout=60)
    session.run("big = 1")
    once = ("backup", "--store", store, "--once", "--json")
    few = json.loads(banyan(platform, *once, "--values", "head").stdout)
    assert next(row for row in few if row["session"] == kernel)["bytes"] < 1_000_000
    assert back_up(platform, store, kernel)["bytes"] > 3_000_000, "other values are wanted now"


def test_files_are_their_owners_alone(
    platform: Platform, kernel: str, session: Connection, store: str, tmp_path: Path
) -> None:
    session.run("x = 1")
    back_up(platform, store, kernel)
    for path in (tmp_path / "store").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_suspended_session_is_left_alone(
    platform: Platform, gateway: Gateway, kernel: str, session: Connection, store: str
) -> None:
    session.run("x = 1")
    assert gateway.call("POST", f"/api/banyan/sessions/{kernel}/suspend", json={}, timeout=60).status_code == 200
    assert back_up(platform, store, kernel)["last_commit"] == 1
    assert back_up(platform, store, kernel) == {}
    assert gateway.session(kernel)["state"] == "suspended"


def test_what_is_wrong_is_said(platform: Platform, kernel: str, session: Connection, store: str) -> None:
    session.run("x = 1")
    back_up(platform, store, kernel)
    missing = banyan(platform, "restore", "nowhere", "--store", store)
    assert missing.returncode == 1 and "banyan backups" in missing.stderr
    nowhere = banyan(platform, "backup", "--store", "ftp://somewhere", "--once")
    assert nowhere.returncode == 2 and "s3" in nowhere.stderr
    up = subprocess.run(
        [binary(), "up", "--backup", "ftp://somewhere", "--dir", store[7:] + "-up"], capture_output=True, text=True
    )
    assert up.returncode == 1 and "s3" in up.stderr
    everyone = banyan(platform, "restore", "--store", store, "--trust", "anybody")
    assert everyone.returncode == 2 and "session" in everyone.stderr
    env = {**os.environ, "NO_COLOR": "1"}
    listed = subprocess.run([binary(), "backups", "--store", store], capture_output=True, text=True, env=env)
    assert kernel in listed.stdout and "SIGNED BY" in listed.stdout
    removed = subprocess.run([binary(), "backups", "--store", store, "--remove", kernel], capture_output=True)
    assert removed.returncode == 0
    assert not any(row["session"] == kernel for row in backups(store))
