"""Hosts join, are drained and leave while notebooks go on: what they hold moves, and nothing is lost."""

import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev.live import Child
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform, alive, binary


def free_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


class NewHost:
    """A host agent whose file names the gateway, and no other host. Its files have the name `place` in the folder of
    the platform."""

    def __init__(self, platform: Platform, name: str, place: str | None = None) -> None:
        self._name = name
        self._folder = platform.folder
        self._place = place or name
        self._starts = 0
        text = platform.config("h1").read_text()
        peers = re.search(r"(?m)^gateway = .*$", text)
        assert peers is not None
        text = re.sub(r"(?ms)^\[peers\]\n.*?(?=^\[|\Z)", f"[peers]\n{peers.group()}\n\n", text)
        for key, value in {
            "id": name,
            "peer_listen": free_address(),
            "data_directory": str(platform.folder / self._place),
            "runtime_directory": f"/tmp/banyan-{platform.token[:8]}/{self._place}",
        }.items():
            text = re.sub(rf"(?m)^{key} = .*$", f"{key} = '{value}'", text)
        self.file = platform.folder / f"{self._place}.toml"
        self.file.write_text(text)
        self.start()

    def start(self) -> None:
        self._starts += 1
        self.log = self._folder / f"{self._place}-{self._starts}.log"
        self._agent = Child(self._name, [binary(), "host", "--config", self.file], self.log, {})

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


def test_an_agent_that_claims_the_name_of_a_host_that_is_down_is_refused(platform: Platform, new_host: NewHost) -> None:
    """It knows the cluster's secret, and has a key of its own. The gateway was restarted since it met the host."""
    gateway = platform.gateway
    new_host.kill()
    platform.kill("gateway")
    platform.restart("gateway")
    wait_until(lambda: hosts_or_none(gateway) == {"h1", "h2", "h3"}, "the gateway serves again", 60)
    impostor = NewHost(platform, "h9", "impostor")
    try:
        says(impostor.log, "the name h9 belongs to another key")
        says(impostor.log, "`banyan hosts remove h9`")
        time.sleep(2)  # it goes on trying
        assert gateway.hosts_up() == {"h1", "h2", "h3"}
        assert (platform.folder / "gateway-again.log").read_text().count("uses the name of h9 is refused") == 1
    finally:
        impostor.stop()
    new_host.start()
    wait_until(lambda: "h9" in gateway.hosts_up(), "the host itself comes back", 60)


def test_a_host_that_is_installed_anew_comes_back_when_it_was_removed_and_added(platform: Platform) -> None:
    gateway = platform.gateway
    platform.kill("h3")
    (platform.folder / "h3" / "keys" / "identity.pem").unlink()
    platform.restart("h3")
    log = platform.folder / "h3-again.log"
    says(log, "the name h3 belongs to another key")
    says(log, "`banyan hosts remove h3`")
    wait_until(lambda: gateway.hosts_up() == {"h1", "h2"}, "the gateway does not listen to it")
    platform.command("hosts", "remove", "h3")
    platform.command("hosts", "add", "h3")
    wait_until(lambda: "h3" in gateway.hosts_up(), "it takes part again", 60)
    platform.wait_healthy()
    kernel = gateway.start_kernel()
    with Connection(gateway, kernel) as notebook:
        notebook.run("x = 41")
        assert members(gateway, kernel) == {"h1", "h2", "h3"}
        platform.kill("h1")
        assert notebook.run("x + 1", timeout=60).result == "42", "the other host knows its new key, too"


def test_a_gateway_with_another_key_is_refused_by_the_hosts(platform: Platform) -> None:
    platform.kill("gateway")
    (platform.folder / "keys" / "identity.pem").unlink()
    platform.restart("gateway")
    for host in platform.hosts:
        says(platform.folder / "gateway-again.log", f"/{host}/keys/gateway.key")
        says(platform.folder / "logs" / f"{host}.log", "whoever uses the name of gateway is refused")
    assert hosts_or_none(platform.gateway) == set()
    for host in platform.hosts:
        platform.kill(host)
        (platform.folder / host / "keys" / "gateway.key").unlink()
    platform.repair()


def test_the_keys_of_daemons_are_for_their_owner_only(platform: Platform) -> None:
    for folder in (platform.folder, *(platform.folder / host for host in platform.hosts)):
        assert (folder / "keys" / "identity.pem").stat().st_mode & 0o777 == 0o600
    identity = platform.folder / "h1" / "keys" / "identity.pem"
    platform.kill("h1")
    identity.chmod(0o640)
    platform.restart("h1")
    says(platform.folder / "h1-again.log", "/h1/keys/identity.pem; otherwise delete it")
    wait_until(lambda: not alive(platform.pid("h1")), "it ends, so that repair() starts it again")
    identity.chmod(0o600)
    platform.repair()


def says(log: Path, text: str) -> None:
    """Waits until a daemon's log has the text."""
    wait_until(lambda: log.exists() and text in log.read_text(), f"{log.name} says: {text}", 60)


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
