"""The wheels of the companion and of the JupyterLab extension, each by itself in an environment of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from dev import provision
from dev.paths import BUILD, COMPANION, LAB_EXTENSION
from harness.client import Connection
from harness.jupyter_server import JupyterServer
from harness.platform import Platform


def _installed(folder: Path, project: Path, *needs: str) -> Path:
    """Makes an environment with the wheel of a project, and returns its interpreter."""
    builder = provision.venv(BUILD / "package" / "venv", "requirements-package")
    command: list[str | Path] = [builder, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "wheel"]
    subprocess.run([*command, project], check=True, capture_output=True)
    (wheel,) = (folder / "wheel").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel, *needs], check=True)
    return python


def test_the_companion_by_itself_has_the_kernels_of_a_platform(platform: Platform, tmp_path: Path) -> None:
    python = _installed(tmp_path, COMPANION)
    with JupyterServer(tmp_path, platform=platform.gateway, installed=python) as server:
        assert server.gateway.get("/api/banyan/hosts"), "only the companion passes this on"
        kernel = server.gateway.start_kernel(name="python3")
        with Connection(server.gateway, kernel) as page:
            assert page.run("6 * 7").result == "42"
        server.gateway.delete_kernel(kernel)


@pytest.mark.timeout(300)
def test_the_extension_by_itself_is_loaded_and_served(tmp_path: Path) -> None:
    provision.lab_extension()
    python = _installed(tmp_path, LAB_EXTENSION, "jupyterlab>=4,<5")
    listed = subprocess.run(
        [python, "-m", "jupyter", "labextension", "list"], capture_output=True, text=True, check=True
    ).stderr
    assert "banyan-lab v0.1.0" in listed and "enabled" in listed and "X" not in listed.partition("banyan-lab")[2][:40]
    options = ("--ServerApp.jpserver_extensions={'jupyterlab': True}",)
    with JupyterServer(tmp_path, installed=python, options=options) as server:
        page = server.gateway.call("GET", "/lab").text
        assert "banyan-lab" in page
        package = server.gateway.get("/lab/extensions/banyan-lab/package.json")
        entry = package["jupyterlab"]["_build"]["load"]
        assert server.gateway.call("GET", f"/lab/extensions/banyan-lab/{entry}").ok
