"""A driver of ray on the platform: it connects again where its session goes, and a cluster of its own is lost by name.

These tests run in a network namespace of their own, with the packages of python/tests/clusters. CONTRIBUTING.md, "How
to test", says how to start them.
"""

from collections.abc import Iterator

import pytest
from harness.client import Connection, Gateway
from test_moving_clusters import elsewhere, operate

from python.tests.clusters.ray_cluster import ADDRESS, AUTH, OWN_NETWORK, Cluster

pytest.importorskip("ray", reason="ray is not installed: see CONTRIBUTING.md, How to test")
if not OWN_NETWORK:
    pytest.skip("ray listens on all addresses: see CONTRIBUTING.md, How to test", allow_module_level=True)

CONNECT = f"""
import os
os.environ.update({AUTH})
import ray
_ = ray.init({ADDRESS!r}, namespace='tests', log_to_driver=False)
@ray.remote(num_cpus=0)
class Counter:
    def __init__(self): self.n = 0
    def add(self):
        self.n += 1
        return self.n
@ray.remote
def double(n): return 2 * n
kept = Counter.options(name='kept', lifetime='detached').remote()
"""
LOOK = "ray.get(kept.add.remote()), ray.get(double.remote(4)), ray.get_runtime_context().gcs_address"
OWN = """
import os
os.environ['RAY_AUTH_MODE'] = 'disabled'
import ray
_ = ray.init('local', num_cpus=1, include_dashboard=False, log_to_driver=False)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    cluster = Cluster(tmp_path_factory.mktemp("ray") / "log")
    yield
    cluster.end()


@pytest.mark.usefixtures("cluster")
def test_a_driver_goes_along(gateway: Gateway, kernel: str, session: Connection) -> None:
    assert "banyan:" not in session.run(CONNECT, timeout=120).stderr
    assert session.run(LOOK, timeout=120).result == f"(1, 8, '{ADDRESS}')"
    for count, what in enumerate(("migrate", "suspend"), start=2):
        body = {"host": elsewhere(gateway, kernel)} if what == "migrate" else {}
        answer = operate(gateway, kernel, what, **body)
        assert (answer.status_code, answer.json().get("lost")) == (200, []), answer.text
        assert session.run(LOOK, timeout=120).result == f"({count}, 8, '{ADDRESS}')"
    assert "'ref'" in session.run("ref = ray.put([5])").stderr
    answer = operate(gateway, kernel, "suspend")
    assert (answer.status_code, answer.json().get("lost")) == (200, []), answer.text
    assert session.run("ray.get(ref, timeout=60)", timeout=120).result == "[5]", "its cell may run again"


def test_a_cluster_of_the_session_is_lost_by_name(gateway: Gateway, kernel: str, session: Connection) -> None:
    assert "'<ray: connection>' cannot be saved" in session.run(OWN, timeout=120).stderr
    session.run("ref = ray.put(5)")
    refused = operate(gateway, kernel, "suspend")
    assert refused.status_code == 409 and "'ref'" in refused.json()["message"]
    answer = operate(gateway, kernel, "suspend", force=True)
    assert {each["name"] for each in answer.json()["lost"]} == {"<ray: connection>", "ref"}
    found = session.run("ray.is_initialized(), 'ref' in globals()", timeout=120)
    assert found.result == "(False, False)" and "<ray: connection>" in found.stderr
