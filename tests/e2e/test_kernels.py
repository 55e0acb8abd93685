"""Kernels with Pythons of their own: a session runs in the Python of its kernel, and only on hosts that have it."""

import json
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from dev import paths
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform

ABLE = {"h1", "h2", "h3"}
WHERE = "import sys; print(sys.prefix)"


def environment_at(folder: Path) -> Path:
    """Makes a virtual environment with the package banyan, as a user would, and returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python3*/site-packages"))
    (packages / "banyan.pth").write_text(f"{paths.ROOT / 'python'}\n{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "python"


def reports(gateway: Gateway, kernel: str) -> dict[str, dict[str, Any]]:
    """The report of each host on the kernel, by host."""
    return {
        host["host"]: next(one for one in host["kernels"] if one["name"] == kernel)
        for host in gateway.get("/api/banyan/hosts")
    }


def wait_for(gateway: Gateway, kernel: str, able: set[str]) -> None:
    """Waits until the gateway knows that these hosts, and no others, can run the kernel."""

    def known() -> bool:
        states = {host: report["state"] for host, report in reports(gateway, kernel).items()}
        return "checking" not in states.values() and {host for host in states if states[host] == "runs"} == able

    wait_until(known, f"{kernel} runs on {sorted(able)} only", 60)


def without_kernel(platform: Platform, host: str, kernel: str) -> str:
    """Restarts the host with a configuration that does not name the kernel, and returns the earlier text of the
    file."""
    file = platform.config(host)
    before = file.read_text()
    after = re.sub(rf"\[\[kernels\]\]\s*\nname = ['\"]{kernel}['\"]\n(\w+ = .*\n)*", "", before)
    assert after != before
    configure(platform, host, after)
    return before


def configure(platform: Platform, host: str, text: str) -> None:
    platform.config(host).write_text(text)
    platform.kill(host)
    platform.repair()


def hosts_of(gateway: Gateway, kernel: str) -> set[str]:
    return {replica["host"] for replica in gateway.session(kernel)["replicas"]}


def migrate(gateway: Gateway, kernel: str, host: str) -> requests.Response:
    return gateway.call("POST", f"/api/banyan/sessions/{kernel}/migrate", json={"host": host}, timeout=120)


@pytest.fixture(scope="module")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment_at(tmp_path_factory.mktemp("environment") / "other")


@pytest.fixture(scope="module")
def kernels_platform(tmp_path_factory: pytest.TempPathFactory, other_python: Path) -> Iterator[Platform]:
    """A platform of four hosts: a person has added a kernel to the gateway's file and removed it from that of h4."""
    folder = tmp_path_factory.mktemp("kernels")
    Platform(folder).stop()
    with (folder / "gateway.toml").open("a") as file:
        file.write(f'\n[[kernels]]\nname = "other"\ndisplay_name = "Other"\npython = "{other_python}"\n')
    platform = Platform(folder)
    try:
        without_kernel(platform, "h4", "other")
        yield platform
    finally:
        platform.stop()


@pytest.fixture
def two(kernels_platform: Platform) -> Iterator[Platform]:
    kernels_platform.repair()
    wait_for(kernels_platform.gateway, "other", ABLE)
    yield kernels_platform
    for session in kernels_platform.gateway.get("/api/kernels"):
        kernels_platform.gateway.delete_kernel(session["id"])


def test_sessions_of_two_pythons_run_at_once(two: Platform, other_python: Path) -> None:
    gateway = two.gateway
    specs = gateway.get("/api/kernelspecs")["kernelspecs"]
    assert {"python3", "other"} <= specs.keys()
    plain, other = gateway.start_kernel(name="python3"), gateway.start_kernel(name="other")
    with Connection(gateway, plain) as one, Connection(gateway, other) as two_:
        assert one.run(WHERE).stdout == f"{sys.prefix}\n"
        assert two_.run(WHERE).stdout == f"{other_python.parent.parent}\n"
        for number in range(3):
            one.run(f"x = {number}")
            two_.run(f"x = {-number}")
        assert [one.run("x").result, two_.run("x").result] == ["2", "-2"]
        assert two_.run("%undo").status == "ok"
        assert two_.run("x").result == "-1"


def test_a_host_without_the_kernel_never_gets_its_sessions(two: Platform) -> None:
    gateway = two.gateway
    others = [gateway.start_kernel(name="other") for _ in range(4)]
    plain = [gateway.start_kernel(name="python3") for _ in range(4)]
    assert all(hosts_of(gateway, kernel) == ABLE for kernel in others)
    assert any("h4" in hosts_of(gateway, kernel) for kernel in plain)


def test_a_move_goes_only_where_the_kernel_runs(two: Platform) -> None:
    gateway = two.gateway
    kernel = gateway.start_kernel(name="other")
    with Connection(gateway, kernel) as session:
        session.run("x = 1")
        refused = migrate(gateway, kernel, "h4")
        assert refused.status_code == 409
        assert refused.json()["message"] == (
            'Host h4 cannot run the kernel "other": its configuration does not name this kernel. These can: h1, h2, h3.'
        )
        assert "These can: h1, h2, h3." in session.run("%migrate h4").stderr
        to = sorted(ABLE - {gateway.executor(kernel)})[0]
        assert migrate(gateway, kernel, to).status_code == 200
        assert session.run("x").result == "1"
        assert gateway.executor(kernel) == to


def test_a_lost_replica_is_not_replaced_where_the_kernel_does_not_run(two: Platform, other_python: Path) -> None:
    gateway = two.gateway
    other, plain = gateway.start_kernel(name="other"), gateway.start_kernel(name="python3")
    with Connection(gateway, other) as session, Connection(gateway, plain) as reference:
        session.run("x = 1")
        reference.run("x = 1")
        lost = gateway.executor(other)
        migrated = lost if lost in hosts_of(gateway, plain) else None
        two.kill(lost)
        assert session.run("x").result == "1"
        assert session.run(WHERE).stdout == f"{other_python.parent.parent}\n"
        if migrated:  # the other session's replacement shows that this one would have come by now
            wait_until(lambda: "h4" in hosts_of(gateway, plain), "python3 is replaced on h4", 60)
        else:
            time.sleep(12)
        assert "h4" not in hosts_of(gateway, other)


def test_a_session_leaves_a_host_that_cannot_run_its_kernel_any_more(two: Platform) -> None:
    gateway = two.gateway
    kernel = gateway.start_kernel(name="other")
    with Connection(gateway, kernel) as session:
        session.run("x = [1]; y = x")
        host = gateway.executor(kernel)
        assert gateway.call("POST", f"/api/banyan/sessions/{kernel}/suspend", json={}, timeout=60).ok
        before = without_kernel(two, host, "other")
        try:
            wait_for(gateway, "other", ABLE - {host})
            resumed = gateway.call("POST", f"/api/banyan/sessions/{kernel}/resume", json={}, timeout=60)
            assert resumed.ok, resumed.text
            assert resumed.json()["host"] in ABLE - {host}
            assert session.run("x is y").result == "True"
            assert gateway.executor(kernel) != host
        finally:
            configure(two, host, before)


def test_a_kernel_that_no_host_can_run_is_refused_with_the_line_that_helps(two: Platform, tmp_path: Path) -> None:
    gateway = two.gateway
    empty = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", empty], check=True)
    gateway_file = two.config("gateway")
    before = gateway_file.read_text()
    gateway_file.write_text(before + '\n[[kernels]]\nname = "empty"\n')
    texts = {host: two.config(host).read_text() for host in two.hosts}
    try:
        for host, text in texts.items():
            python = empty / "bin" / "python" if host == "h1" else tmp_path / "nowhere"
            two.config(host).write_text(f'{text}\n[[kernels]]\nname = "empty"\npython = "{python}"\n')
            two.kill(host)
        two.kill("gateway")
        two.repair()
        wait_for(gateway, "empty", set())
        refused = gateway.call("POST", "/api/kernels", json={"name": "empty"})
        assert refused.status_code == 503
        message = refused.json()["message"]
        assert 'No host can run the kernel "empty".' in message
        assert f"`{empty}/bin/python -m pip install ./python` in Banyan's source folder installs it." in message
        assert f"h2, h3, h4 cannot run it: there is no Python interpreter {tmp_path}/nowhere." in message
        table = two.command("hosts")
        assert f'h1 cannot run the kernel "empty": {empty}/bin/python has no package banyan' in table
        assert re.search(r"h4 +up .* python3 ", table), table
        with Connection(gateway, gateway.start_kernel(name="other")) as session:
            assert session.run("1").result == "1"
    finally:
        gateway_file.write_text(before)
        for host, text in texts.items():
            two.config(host).write_text(text)
            two.kill(host)
        two.kill("gateway")
        two.repair()


def test_an_export_goes_on_in_another_kernel(two: Platform, other_python: Path, tmp_path: Path) -> None:
    gateway = two.gateway
    plain = gateway.start_kernel(name="python3")
    with Connection(gateway, plain) as session:
        session.run("x = [1]; y = x")
    file = str(tmp_path / "work.banyan")
    exported = two.command("export", plain, file)
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"python3, Python {version}, " in exported
    imported = json.loads(two.command("import", file, "--unsigned", "--kernel", "other", "--json"))
    assert "note" not in imported, "both are of one Python"
    with Connection(gateway, imported["id"]) as session:
        assert session.run("x is y").result == "True"
        assert session.run(WHERE).stdout == f"{other_python.parent.parent}\n"
    assert hosts_of(gateway, imported["id"]) == ABLE
