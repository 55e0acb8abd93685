"""Disks that are full and hosts that are slow, while a large value is being copied after its reply."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, alive

# 160 MB that do not compress, by a cell that may run again.
_MADE = "import hashlib; data = b''.join(hashlib.shake_256(bytes([n])).digest(1_000_000) for n in range(160))"
_RIGHT = "len(data) == 160_000_000 and data[-1_000_000:] == hashlib.shake_256(bytes([159])).digest(1_000_000)"
_RANDOM = "import os, hashlib; data = os.urandom(160_000_000); hashlib.sha256(data).hexdigest()"
_DIGEST = "hashlib.sha256(data).hexdigest()"


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """Of three hosts, so that nobody takes the place of one that ends."""
    platform = Platform(tmp_path, hosts=3)
    yield platform
    platform.stop()


@contextmanager
def _small_disk(platform: Platform, host: str) -> Iterator[Path]:
    """The host's chunks are on a disk of 64 MB from here on. Gives the place where it can be made larger."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place = platform.folder / host / "log" / "chunks"
    platform.kill(host)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], check=True)
    try:
        platform.repair()
        yield place
    finally:
        if alive(platform.pid(host)):
            platform.kill(host)
        subprocess.run(["umount", place], check=True)


def _enlarge(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=1g", place], check=True)


def _log_of(platform: Platform, host: str) -> str:
    return "".join(file.read_text(errors="replace") for file in platform.folder.rglob(f"{host}*.log"))


def _others(gateway: Gateway, kernel: str) -> list[str]:
    executor = gateway.executor(kernel)
    return [row["host"] for row in gateway.session(kernel)["replicas"] if row["host"] != executor]


def _is_durable(gateway: Gateway, kernel: str) -> bool:
    return "pending" not in gateway.session(kernel)


def _all_have_it(gateway: Gateway, kernel: str) -> bool:
    return all(row["up"] and row["lacking"] == 0 for row in gateway.session(kernel)["replicas"])


class TestFullDisk:
    def test_of_another_host_costs_that_host_only(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("pass")
        full = _others(gateway, kernel)[0]
        with _small_disk(platform, full) as place:
            made = session.run(_RANDOM)
            assert made.status == "ok"
            wait_until(lambda: not alive(platform.pid(full)), "the host agent with the full disk has ended")
            assert "make room on the disk" in _log_of(platform, full)
            wait_until(lambda: _is_durable(gateway, kernel), "a majority has it")
            assert session.run(_DIGEST).result == made.result
            _enlarge(place)
            platform.repair()
            wait_until(lambda: _all_have_it(gateway, kernel), "it has the value once there is room", 60)
            platform.kill(gateway.executor(kernel))
            assert session.run(_DIGEST, timeout=60).result == made.result

    def test_of_the_executors_host_costs_no_value_that_can_be_made_again(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("small = 'kept'")
        full = gateway.executor(kernel)
        with _small_disk(platform, full):
            session.run("pass")
            moved = gateway.call("POST", f"/api/banyan/sessions/{kernel}/migrate", json={"host": full}, timeout=60)
            assert moved.status_code == 200, moved.text
            assert session.run(_MADE).status == "ok"
            wait_until(lambda: not alive(platform.pid(full)), "the host agent with the full disk has ended")
            again = session.run(f"small, {_RIGHT}", timeout=90)
            assert again.result == "('kept', True)", again.stderr
            wait_until(lambda: _is_durable(gateway, kernel), "a majority has it")


class TestSlowHost:
    def test_holds_up_neither_the_next_cells_nor_the_majority(
        self, platform: Platform, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("n = 0")
        slow = _others(gateway, kernel)[0]
        ended = threading.Event()
        thread = threading.Thread(target=_slow_down, args=(platform.pid(slow), ended))
        made = session.run(_RANDOM)
        thread.start()
        try:
            while not _is_durable(gateway, kernel):
                begun = time.monotonic()
                assert session.run("n += 1").status == "ok"
                assert time.monotonic() - begun < 5
        finally:
            ended.set()
            thread.join()
        wait_until(lambda: _all_have_it(gateway, kernel), "the slow one has it, too", 60)
        platform.kill(gateway.executor(kernel))
        after = session.run(f"{_DIGEST}, n > 0", timeout=60)
        assert after.result == f"({made.result}, True)"


def _slow_down(pid: int, ended: threading.Event) -> None:
    """The process has a tenth of its time."""
    while not ended.wait(0.02):
        os.kill(pid, signal.SIGSTOP)
        ended.wait(0.18)
        os.kill(pid, signal.SIGCONT)
