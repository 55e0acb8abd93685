"""Installs the wheel of `./dev package` into an environment that has nothing but Python, starts it and runs a cell."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev import package, provision
from dev.paths import BUILD
from harness.client import Connection, Gateway

# The libraries that every Linux of this age has; the wheel contains all others (PEP 600).
_OF_THE_SYSTEM = {"libc", "libm", "libz", "libstdc++", "libgcc_s", "libpthread", "libresolv", "librt", "libdl"}

# The environment has no PYTHONPATH, which would make Python find this tree.
_CLEAN = {"PATH": "/usr/bin:/bin", **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and JupyterLab."""
    provision.lab_extension()
    wheel = package.make(provision.venv(BUILD / "package" / "venv", "requirements-package"))
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"{wheel}[lab]"], check=True)
    return folder


@pytest.fixture(scope="module")
def serving(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Runs `banyan lab`; the lines that it prints, by their first word."""
    process = subprocess.Popen(
        [environment / "bin" / "banyan", "lab", "--hosts", "1"],
        cwd=tmp_path_factory.mktemp("work"),
        env=_CLEAN,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = {}
    for line in process.stdout:
        words = line.split(maxsplit=1)
        if words:
            said[words[0]] = words[1].strip()
        if "Ctrl-C" in line:
            break
    yield said
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


def banyan(environment: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [environment / "bin" / "banyan", *arguments]
    return subprocess.run(command, env=_CLEAN, capture_output=True, text=True, check=False, timeout=60)


def test_the_program_needs_no_library_that_a_plain_system_lacks(environment: Path) -> None:
    (program,) = environment.glob("lib/python3*/site-packages/banyan_local/bin/banyan")
    linked = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    outside = {
        Path(words[0]).name.split(".so")[0]
        for words in map(str.split, linked.splitlines())
        if len(words) > 2 and str(environment) not in words[2]
    }
    assert "librocksdb" in linked
    assert outside <= _OF_THE_SYSTEM


def door(serving: dict[str, str]) -> Gateway:
    """A client of the Jupyter Server under the JupyterLab."""
    url, _, token = serving["JupyterLab"].partition("lab?token=")
    return Gateway(url, token)


def test_a_cell_runs_and_can_be_undone(environment: Path, serving: dict[str, str]) -> None:
    lab = door(serving)
    kernel = lab.start_kernel(name="python3")
    with Connection(lab, kernel) as page:
        page.run("x = [1]")
        page.run("x.append(2)")
        page.run("%undo")
        assert page.run("x").result == "[1]"
        assert page.run("import sys; sys.prefix").result == repr(str(environment))
    lab.delete_kernel(kernel)


def test_jupyterlab_has_the_companion_and_the_extension(serving: dict[str, str]) -> None:
    lab = door(serving)
    names = {extension["name"] for extension in lab.call("GET", "/lab/api/extensions").json()}
    assert "banyan-lab" in names
    assert lab.call("GET", "/api/banyan/hosts").json()[0]["host"] == "h1"


def test_its_help_names_what_the_program_has_and_what_the_wheel_adds(environment: Path) -> None:
    told = banyan(environment, "--help")
    assert told.returncode == 0
    assert "migrate" in told.stdout
    assert "JupyterLab on this machine" in told.stdout


def test_the_simulator_is_there(environment: Path) -> None:
    told = banyan(environment, "sim", "--seeds", "2", "--cells", "20")
    assert told.returncode == 0, told.stderr
    assert "2" in told.stdout


def test_a_person_may_name_another_python_for_the_platform(environment: Path, tmp_path: Path) -> None:
    told = banyan(
        environment, "up", "--hosts=1", "--gateway-port=0", f"--dir={tmp_path / 'p'}", "--python", "/no/such/python"
    )
    assert told.returncode == 1
    assert "/no/such/python" in told.stderr


def test_a_port_that_is_taken_is_said(environment: Path, serving: dict[str, str], tmp_path: Path) -> None:
    port = serving["Gateway"].rpartition(":")[2]
    told = banyan(environment, "lab", "--dir", str(tmp_path / "other"), "--gateway-port", port)
    assert told.returncode == 2
    assert f"port {port} is taken" in told.stderr
    assert not (tmp_path / "other").exists()
