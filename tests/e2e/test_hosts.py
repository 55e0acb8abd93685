"""Hosts join, are drained and leave while notebooks go on: what they hold moves, and nothing is lost."""

import json
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev.live import Child
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, binary


def free_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


class NewHost:
    """A host agent whose file names the gateway, and no other host."""

    def __init__(self, platform: Platform, name: str) -> None:
        text = platform.config("h1").read_text()
        peers = re.search(r"(?m)^gateway = .*$", text)
        assert peers is not None
        text = re.sub(r"(?ms)^\[peers\]\n.*?(?=^\[|\Z)", f"[peers]\n{peers.group()}\n\n", text)
        for key, value in {
            "id": name,
            "peer_listen": free_address(),
            "data_directory": str(platform.folder / name),
            "runtime_directory": f"/tmp/banyan-{platform.token[:8]}/{name}",
        }.items():
            text = re.sub(rf"(?m)^{key} = .*$", f"{key} = '{value}'", text)
        self.file = platform.folder / f"{name}.toml"
        self.file.write_text(text)
        self.log = platform.folder / f"{name}.log"
        self._agent = Child(name, [binary(), "host", "--config", self.file], self.log, {})

    def kill(self) -> None:
        self._agent.process.send_signal(signal.SIGKILL)
        self._agent.process.wait(30)

    def stop(self) -> None:
        self._agent.stop()


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    platform = Platform(tmp_path, hosts=3)
    yield platform
    platform.stop()


@pytest.fixture
def new_host(platform: Platform) -> Iterator[NewHost]:
    host = NewHost(platform, "h9")
    wait_until(lambda: "h9" in platform.gateway.hosts_up(), "the new host has registered itself", 60)
    yield host
    host.stop()


def members(gateway: Gateway, kernel: str) -> set[str]:
    return {str(row["host"]) for row in gateway.session(kernel)["replicas"]}


def test_a_host_registers_itself_and_takes_what_another_one_held(platform: Platform, new_host: NewHost) -> None:
    gateway = platform.gateway
    kernel = gateway.start_kernel()
    with Connection(gateway, kernel) as notebook:
        notebook.run("import numpy as np\ntable = np.arange(3_000_000)\nhalf = table[:10]\nn = 1")
        wait_until(lambda: len(members(gateway, kernel)) == 3, "three replicas")
        drained = gateway.executor(kernel)
        answer = platform.command("hosts", "drain", drained)
        assert answer == f"host {drained} holds nothing any more\n"
        assert drained not in members(gateway, kernel)
        assert platform.command("hosts", "remove", drained).startswith(f"host {drained} is removed")
        look = notebook.run("n + 1, int(table.sum()), np.shares_memory(table, half)")
        assert look.result == f"(2, {sum(range(3_000_000))}, True)"
        assert gateway.executor(kernel) != drained

        assert drained not in {host["host"] for host in gateway.get("/api/banyan/hosts")}
        platform.kill("gateway")
        platform.restart("gateway")
        wait_until(lambda: len(hosts_or_none(gateway)) == 3, "the other hosts are up", 60)
        assert hosts_or_none(gateway) == {"h1", "h2", "h3", "h9"} - {drained}, "it stays removed"
        assert platform.command("hosts", "add", drained) == f"host {drained} takes part again\n"
        wait_until(lambda: drained in gateway.hosts_up(), "it takes part again", 60)
    with Connection(gateway, kernel) as notebook:
        assert notebook.run("n + 1").result == "2"


def hosts_or_none(gateway: Gateway) -> set[str]:
    try:
        return gateway.hosts_up()
    except OSError:
        return set()


def test_a_session_that_would_lose_a_variable_stays_until_it_is_forced(platform: Platform, new_host: NewHost) -> None:
    gateway = platform.gateway
    kernel = gateway.start_kernel()
    with Connection(gateway, kernel) as notebook:
        notebook.run("%rerun never\nimport socket, threading\nlock = threading.Lock()\nsock = socket.socket()\nx = 5")
        drained = gateway.executor(kernel)
        assert "is being drained" in platform.command("hosts", "drain", drained, "--no-wait")

        def reason() -> str:
            host = next(one for one in gateway.get("/api/banyan/hosts") if one["host"] == drained)
            return next((str(one["reason"]) for one in host["stay"] if one["reason"]), "")

        wait_until(lambda: "sock" in reason(), "the variable is named that would be lost", 60)
        assert f"session {kernel} is still there" in platform.command("hosts")
        assert re.search(rf"{drained} +draining", platform.command("hosts"))
        assert notebook.run("x").result == "5", "cells go on meanwhile"
        platform.command("hosts", "drain", drained, "--force")
        assert drained not in members(gateway, kernel)
        assert notebook.run("x").result == "5"


def test_a_host_that_is_lost_is_removed_and_the_session_goes_on(platform: Platform, new_host: NewHost) -> None:
    gateway = platform.gateway
    kernel = gateway.start_kernel()
    with Connection(gateway, kernel) as notebook:
        notebook.run("x = 41")
        lost = gateway.executor(kernel)
        if lost == "h9":
            new_host.kill()
        else:
            platform.kill(lost)
        refused = platform.run_command("hosts", "remove", lost)
        assert refused.returncode != 0
        assert "Drain it first" in refused.stderr
        platform.command("hosts", "remove", lost, "--force")
        assert notebook.run("x + 1", timeout=60).result == "42"
        wait_until(lambda: lost not in members(gateway, kernel), "another host has its replica", 60)
        assert len(members(gateway, kernel)) == 3


def test_bad_requests_are_refused_with_what_to_do(platform: Platform) -> None:
    for arguments, hint in {
        ("drain", "h7"): "banyan hosts",
        ("remove", "h7"): "banyan hosts",
        ("add", "h7"): "registers itself",
    }.items():
        done = platform.run_command("hosts", *arguments)
        assert done.returncode != 0, arguments
        assert hint in done.stderr, (arguments, done.stderr)
    assert {host["host"] for host in json.loads(platform.command("hosts", "--json"))} == {"h1", "h2", "h3"}
