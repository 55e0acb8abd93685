"""Cells that need a GPU have one for themselves while they run, and wait for it. Plain files stand for devices here."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform

# The cell says that it has begun, and runs until it is let go.
_CELL = """
import pathlib, time
pathlib.Path({begun!r}).touch()
while not pathlib.Path({go!r}).exists():
    time.sleep(0.02)
"""


def device_of(folder: Path, host: str) -> Path:
    return folder / host / "nvidia0"


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """Three hosts with one device each, and a kernel "gpu" whose cells need one."""
    folder = tmp_path / "platform"
    Platform(folder, hosts=3).stop()
    with (folder / "gateway.toml").open("a") as file:
        file.write('\n[[kernels]]\nname = "gpu"\ndisplay_name = "GPU"\ngpus = 1\n')
    platform = Platform(folder, hosts=3)
    try:
        for host in platform.hosts:
            device = device_of(tmp_path, host)
            device.parent.mkdir()
            device.touch()
            platform.configure([host], "gpus", f"['{device}']")
        yield platform
    finally:
        platform.stop()


class Cells:
    """One cell each in sessions of their own."""

    def __init__(self, gateway: Gateway, folder: Path, names: str) -> None:
        self._folder = folder
        self._sessions = {name: Connection(gateway, gateway.start_kernel(name="gpu")) for name in names}
        self._started: dict[str, str] = {}

    def start(self, name: str) -> None:
        code = _CELL.format(begun=str(self._folder / f"begun-{name}"), go=str(self._folder / f"go-{name}"))
        self._started[name] = self._sessions[name].start(code)

    def kernel(self, name: str) -> str:
        return self._sessions[name].kernel

    def begun(self) -> set[str]:
        return {name for name in self._started if (self._folder / f"begun-{name}").exists()}

    def end(self, name: str) -> None:
        (self._folder / f"go-{name}").touch()
        assert self._sessions[name].finish(self._started[name], timeout=60).status == "ok"

    def reconnect(self) -> None:
        self._sessions = {name: session.reconnect() for name, session in self._sessions.items()}

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


@pytest.fixture
def cells(platform: Platform, tmp_path: Path) -> Iterator[Cells]:
    cells = Cells(platform.gateway, tmp_path, "abcd")
    yield cells
    cells.close()


def bound(platform: Platform) -> list[int]:
    return [host["bound_gpus"] for host in platform.gateway.get("/api/banyan/hosts")]


def test_a_cell_waits_for_a_device_and_gets_the_first_that_is_free(platform: Platform, cells: Cells) -> None:
    for name in "abc":
        cells.start(name)
    wait_until(lambda: cells.begun() == set("abc"), "three cells run, each on its device")
    assert bound(platform) == [1, 1, 1]
    assert platform.command("hosts").count("1 of 1") == 3
    cells.start("d")
    with Connection(platform.gateway, platform.gateway.start_kernel(name="python3")) as plain:
        assert plain.run("1 + 1").result == "2", "a cell that needs no device does not wait"
    time.sleep(2)
    assert cells.begun() == set("abc"), "no device is free"
    cells.end("b")
    wait_until(lambda: "d" in cells.begun(), "the cell that waited runs", timeout=10)
    for name in "acd":
        cells.end(name)
    wait_until(lambda: bound(platform) == [0, 0, 0], "between cells nothing is bound", timeout=5)


def test_a_gateway_that_starts_again_gives_no_device_twice(platform: Platform, cells: Cells) -> None:
    for name in "abc":
        cells.start(name)
    wait_until(lambda: cells.begun() == set("abc"), "three cells run, each on its device")
    cells.start("d")
    # The session is busy before the cell is written down. By the time that the command has asked, it is.
    wait_until(lambda: cells.kernel("d") in platform.command("queue"), "the gateway has the cell that waits")
    platform.kill("gateway")
    platform.repair()
    cells.reconnect()
    wait_until(lambda: bound(platform) == [1, 1, 1], "the gateway has heard what is bound", timeout=20)
    time.sleep(2)
    assert cells.begun() == set("abc")
    cells.end("a")
    wait_until(lambda: "d" in cells.begun(), "the cell that waited runs", timeout=20)
    for name in "bcd":
        cells.end(name)


def test_a_device_that_is_gone_is_faulty_and_not_bound(platform: Platform, cells: Cells, tmp_path: Path) -> None:
    for host in ("h1", "h2"):
        device_of(tmp_path, host).unlink()
    wait_until(
        lambda: [host["faulty_gpus"] for host in platform.gateway.get("/api/banyan/hosts")] == [1, 1, 0],
        "two devices are faulty",
    )
    assert platform.command("hosts").count("0 of 1, 1 faulty") == 2
    for name in "ab":
        cells.start(name)
    wait_until(lambda: len(cells.begun()) == 1, "one cell runs on the device that works")
    time.sleep(1)
    assert bound(platform) == [0, 0, 1]
    device_of(tmp_path, "h2").touch()
    wait_until(lambda: len(cells.begun()) == 2, "the other one runs on the device that works again")
    for name in "ab":
        cells.end(name)
