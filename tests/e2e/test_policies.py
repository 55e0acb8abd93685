"""How sessions have their GPUs and processes, by policy."""

from collections.abc import Iterator

import pytest
from harness.client import Connection, wait_until
from harness.platform import Platform


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Three hosts with two files each that stand for GPUs."""
    platform = Platform(tmp_path_factory.mktemp("policies") / "platform", hosts=3, options=["--fake-gpus", "2"])
    yield platform
    platform.stop()


def opened(platform: Platform, policy: str) -> Connection:
    kernel = platform.gateway.start_kernel(name="python3-gpu1", env={"KERNEL_POLICY": policy})
    return Connection(platform.gateway, kernel)


def bound(platform: Platform) -> int:
    return sum(int(host["bound_gpus"]) for host in platform.gateway.get("/api/banyan/hosts"))


def test_a_reservation_stays_between_cells_until_the_session_is_suspended(platform: Platform) -> None:
    with opened(platform, "reservation") as session, opened(platform, "replicated") as other:
        assert session.run("x = 1").status == "ok"
        assert other.run("x = 1").status == "ok"
        wait_until(lambda: bound(platform) == 1, "only what is reserved is bound")
        holders = [gpu["session"] for gpu in platform.gateway.get("/api/banyan/gpus") if gpu.get("session")]
        assert holders == [session.kernel], "people see whose it is"
        had = session.run("import os\nos.environ['CUDA_VISIBLE_DEVICES']").result
        assert session.run("os.environ['CUDA_VISIBLE_DEVICES']").result == had
        platform.command("suspend", session.kernel)
        wait_until(lambda: bound(platform) == 0, "it is free")
        assert session.run("x").result == "1"
        wait_until(lambda: bound(platform) == 1, "it is reserved again")
        here = platform.gateway.executor(session.kernel)
        elsewhere = next(host for host in platform.hosts if host != here)
        platform.command("migrate", session.kernel, elsewhere)
        assert session.run("x").result == "1"
        assert platform.gateway.executor(session.kernel) == elsewhere, "what is reserved does not hold it back"
        wait_until(lambda: bound(platform) == 1, "it is reserved there")
        platform.gateway.delete_kernel(session.kernel)
        wait_until(lambda: bound(platform) == 0, "it ends with the session")


@pytest.mark.parametrize("policy", ["batch", "pool"])
def test_each_cell_has_a_process_of_its_own_and_the_values_of_the_last_one(platform: Platform, policy: str) -> None:
    with opened(platform, policy) as session:
        pids = []
        for number in range(3):
            assert session.run(f"n = {number}").status == "ok"
            wait_until(lambda: platform.gateway.session(session.kernel)["state"] == "suspended", "it rests")
            pids.append(session.run("import os\nos.getpid(), n").result)
            assert str(pids[-1]).endswith(f", {number})")
        assert len(set(pids)) == 3


def test_a_policy_that_does_not_exist_is_named_with_those_that_do(platform: Platform) -> None:
    answer = platform.gateway.call("POST", "/api/kernels", json={"name": "python3", "env": {"KERNEL_POLICY": "mine"}})
    assert answer.status_code == 400
    assert "there are: batch, pool, replicated, reservation" in answer.json()["message"]
