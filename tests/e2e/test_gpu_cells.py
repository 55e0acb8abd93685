"""Cells that used a GPU: a device file that a cell holds open counts as one; a plain file stands for it here."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from harness.client import Connection, Gateway
from harness.platform import Platform

_MAKE = "device = open({file!r})\nlive = (n * n for n in range(10))\nnext(live)"


@pytest.fixture
def gpu_file(tmp_path: Path) -> Path:
    file = tmp_path / "gpu0"
    file.touch()
    return file


@pytest.fixture
def platform(tmp_path: Path, gpu_file: Path) -> Iterator[Platform]:
    """h1 to h3 have a GPU, h4 has none."""
    platform = Platform(tmp_path / "platform")
    try:
        platform.configure(["h1", "h2", "h3"], "gpus", f"['{gpu_file}']")
        platform.configure(["h4"], "gpus", "[]")
        yield platform
    finally:
        platform.stop()


def migrate(gateway: Gateway, kernel: str, host: str, **body: object) -> requests.Response:
    return gateway.call("POST", f"/api/banyan/sessions/{kernel}/migrate", json={"host": host, **body}, timeout=120)


def test_a_cell_that_used_a_gpu_runs_again_only_where_there_is_one(
    gateway: Gateway, kernel: str, session: Connection, gpu_file: Path
) -> None:
    session.run("x = 41")
    session.run(_MAKE.format(file=str(gpu_file)))
    members = {row["host"] for row in gateway.session(kernel)["replicas"]}
    assert members == {"h1", "h2", "h3"}
    made, first = gateway.ask_history(kernel, {"do": "log"}).json()["commits"]
    assert (made["gpus"], first["gpus"]) == (1, 0)
    to = next(host for host in sorted(members) if host != gateway.executor(kernel))
    assert migrate(gateway, kernel, to).status_code == 200
    assert session.run("next(live), device.name", timeout=60).result == f"(1, {str(gpu_file)!r})"

    in_cell = session.run("%migrate h4", timeout=60)
    assert "its cell used a GPU" in in_cell.stderr + str(in_cell.reply), "it says so at once"
    refused = migrate(gateway, kernel, "h4")
    assert refused.status_code == 409
    assert "'live'" in refused.json()["message"] and "its cell used a GPU" in refused.json()["message"]
    moved = migrate(gateway, kernel, "h4", force=True)
    assert moved.status_code == 200 and "live" in str(moved.json()["lost"])
    cell = session.run("x + 1", timeout=60)
    assert cell.result == "42" and "'live'" in cell.stderr
