"""Handles on a cluster of ray, in a network of their own: ray listens on all addresses that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from conftest import Host, Worker
from handles import Fate, Handle
from of_ray import RAY
from ray_cluster import ADDRESS, AUTH, OWN_NETWORK, Cluster
from sessions import Holding, Session, held_and_gone, parameters
from test_standalone import Kernel, kernel

pytest.importorskip("ray", reason="ray is not installed: see CONTRIBUTING.md, How to test")
if not OWN_NETWORK:
    pytest.skip("ray listens on all addresses: see CONTRIBUTING.md, How to test", allow_module_level=True)

__all__ = ["kernel"]

HERE = [handle for handle in RAY.handles if handle.is_here]
AGAIN = [handle for handle in HERE if handle.fate is not Fate.NAMED]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = Cluster(tmp_path_factory.mktemp("ray") / "log")
    yield ADDRESS
    cluster.end()


@pytest.fixture(scope="module")
def holdings(host: Host, address: str) -> Iterator[dict[str, Holding]]:
    yield from held_and_gone(host, RAY.connect.replace("ADDRESS", address), HERE, **AUTH)


@parameters(HERE)
def test_while_the_first_process_is_alive(holdings: dict[str, Holding], handle: Handle) -> None:
    holdings["alive"].check(handle)


@parameters(AGAIN)
def test_after_the_end_of_the_first_process(holdings: dict[str, Holding], handle: Handle) -> None:
    holdings["ended"].check(handle)


class TestTheConnection:
    """No variable has it."""

    def test_goes_along(self, spawn: Callable[..., Worker], address: str) -> None:
        session, other = Session(spawn(**AUTH)), spawn(**AUTH)
        assert "<ray: connection>" not in session.run(RAY.connect.replace("ADDRESS", address)).failed
        assert session.goes_to(other) == {}
        look = "ray.is_initialized(), ray.get_runtime_context().gcs_address, ray.get_runtime_context().namespace"
        assert other.value(look) == session.worker.value(look) == f"(True, '{address}', 'tests')"

    def test_is_undone_and_redone(self, kernel: Callable[..., Kernel], address: str) -> None:
        one = kernel(**AUTH)
        one.run("%load_ext banyan")
        one.run("import ray")
        one.run(f"context = None; _ = ray.init({address!r}, namespace='tests', log_to_driver=False)")
        one.run("%undo")
        assert one.value("ray.is_initialized()") == "False"
        one.run("%redo")
        assert one.value("ray.get_runtime_context().namespace") == "'tests'"
        one.run("ray.shutdown()")

    def test_that_ends_is_ended_elsewhere(self, spawn: Callable[..., Worker], address: str) -> None:
        session, other = Session(spawn(**AUTH)), spawn(**AUTH)
        session.run(RAY.connect.replace("ADDRESS", address))
        session.run("ray.shutdown()")
        assert session.goes_to(other) == {}
        assert other.value("ray.is_initialized()") == "False"

    def test_to_a_cluster_that_is_not_reached_is_named_with_what_to_do(
        self, spawn: Callable[..., Worker], address: str
    ) -> None:
        session, other = Session(spawn(**AUTH)), spawn(**AUTH)
        session.run(RAY.connect.replace("ADDRESS", address))
        session.run("plain = 1")
        other.run("import socket\ndef refuse(*a): raise ConnectionRefusedError()\nsocket.create_connection = refuse")
        reason = session.goes_to(other)["<ray: connection>"]
        assert f"the ray cluster at {address} does not answer" in reason
        assert other.value("plain") == "1"

    def test_to_a_cluster_of_the_session_itself_is_named(self, spawn: Callable[..., Worker]) -> None:
        session = Session(spawn(RAY_AUTH_MODE="disabled"))
        cell = session.run(RAY.inside)
        assert cell.failed == ["<ray: connection>"]
        assert "ray start --head" in cell.body["failed"][0]["reason"]
        for handle in HERE:
            made = session.run(handle.make)
            assert ("x" in made.failed) == (handle.inside is Fate.NAMED), handle.title
        session.run("ray.shutdown()")
