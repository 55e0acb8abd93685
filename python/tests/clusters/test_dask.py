"""Handles on a cluster of dask: in another process while the first one is alive, after its end, and after an undo."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Host, Worker
from handles import Fate, Handle
from of_dask import DASK
from sessions import Holding, Session, held_and_gone, look_at, parameters
from test_standalone import Kernel, kernel

pytest.importorskip("distributed", reason="dask.distributed is not installed: see CONTRIBUTING.md, How to test")

__all__ = ["kernel"]

HERE = [handle for handle in DASK.handles if handle.is_here]
AGAIN = [handle for handle in HERE if handle.fate is not Fate.NAMED]


class Cluster:
    """A cluster of dask that is no child of a session."""

    def __init__(self, **env: str) -> None:
        argv = [sys.executable, str(Path(__file__).with_name("dask_cluster.py"))]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **env}
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    cluster = Cluster()
    yield cluster.address
    cluster.end()


@pytest.fixture(scope="module")
def holdings(host: Host, address: str) -> Iterator[dict[str, Holding]]:
    yield from held_and_gone(host, DASK.connect.replace("ADDRESS", address), HERE)


@parameters(HERE)
def test_while_the_first_process_is_alive(holdings: dict[str, Holding], handle: Handle) -> None:
    holdings["alive"].check(handle)


@parameters(AGAIN)
def test_after_the_end_of_the_first_process(holdings: dict[str, Holding], handle: Handle) -> None:
    holdings["ended"].check(handle)


def test_a_cluster_that_the_session_started_itself(spawn: Callable[..., Worker]) -> None:
    session = Session(spawn())
    session.run(DASK.inside)
    reason = session.named()["client"]
    assert "this process runs" in reason and "dask scheduler" in reason
    session.run("same = dd.Client(client.scheduler.address)\ncluster = client.cluster")
    assert "this process runs" in session.named()["same"], "by its address"
    assert "it ends with the process" in session.named()["cluster"]
    for handle in HERE:
        cell = session.run(handle.make)
        assert ("x" in cell.failed) == (handle.inside is Fate.NAMED), handle.title


def test_undone_and_redone_in_one_process(kernel: Callable[..., Kernel], address: str) -> None:
    one = kernel()
    one.run("%load_ext banyan")
    one.run(DASK.connect.replace("ADDRESS", address))
    for number, handle in enumerate(AGAIN):
        name = f"h{number}"
        one.run(f"{handle.make}\n{name} = x\ndel x")
        one.run(f"held = [{name}]")
        value = one.value(look_at(handle, name))
        one.run(f"{name} = 0")
        assert one.run("%undo").status == "ok"
        assert one.value(look_at(handle, name)) == value, handle.title
        assert one.value(f"{name} is held[0]") == "True", handle.title


def test_a_scheduler_that_has_ended_is_named_with_what_to_do(spawn: Callable[..., Worker]) -> None:
    first = Cluster()
    session = Session(spawn())
    session.run(DASK.connect.replace("ADDRESS", first.address))
    session.run("x = dd.Variable('v')\nx.set(5)\nplain = 1")
    first.end()
    other = spawn()
    unloaded = session.goes_to(other)
    for name in ("client", "x"):
        assert f"the dask scheduler at {first.address} does not answer" in unloaded[name]
    assert other.value("plain") == "1"
    second = Cluster(BANYAN_TEST_PORT=first.address.rpartition(":")[2])
    assert second.address == first.address
    assert "another dask scheduler" in session.goes_to(spawn())["x"], "its variable has no value there"
    second.end()


def test_a_client_without_a_variable_goes_along(spawn: Callable[..., Worker], address: str) -> None:
    session, other = Session(spawn()), spawn()
    assert session.run(f"import distributed as dd\ndd.Client({address!r})\n1").failed == []
    assert session.goes_to(other) == {}
    look = "dd.default_client().scheduler.address, dd.default_client().submit(abs, -2).result()"
    assert other.value(look) == f"('{address}', 2)"
    bound = session.run("mine = dd.default_client()")
    assert (bound.changed, bound.body["deleted"]) == ([["mine"]], ["<dask: connection>"]), "the variable has it"
    inside = Session(spawn())
    made = inside.run("import distributed as dd\ndd.Client(processes=False, n_workers=1, dashboard_address=None)\n1")
    assert made.failed == ["<dask: connection>"], "it would compute in this process elsewhere, without a word"


def test_a_session_that_uses_no_cluster_imports_nothing_for_it(spawn: Callable[..., Worker]) -> None:
    worker = spawn()
    worker.run("import threading; x = threading.local")
    assert (
        worker.value("[name for name in __import__('sys').modules if name.startswith('banyan.clusters.of_')]") == "[]"
    )
