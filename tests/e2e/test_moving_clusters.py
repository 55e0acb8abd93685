"""Handles on clusters of dask: a client connects again where its session goes, and a cluster that would end with the
process is named first."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import requests
from dev.paths import ROOT
from harness.client import Connection, Gateway, wait_until

CONNECT = "import distributed\nclient = distributed.Client({!r})\nkept = distributed.Variable('kept')\nkept.set(5)"
LOOK = "kept.get(timeout=20), kept.client is client, client.submit(abs, -3).result()"
OWN = (
    "import distributed\n"
    "client = distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)\n"
    "plain = 1"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a scheduler that runs beside the platform."""
    program = ROOT / "python" / "tests" / "clusters" / "dask_cluster.py"
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        assert cluster.stdout is not None and cluster.stdin is not None
        yield cluster.stdout.readline().strip()
        cluster.stdin.close()


def operate(gateway: Gateway, kernel: str, what: str, **body: object) -> requests.Response:
    return gateway.call("POST", f"/api/banyan/sessions/{kernel}/{what}", json=body, timeout=120)


def elsewhere(gateway: Gateway, kernel: str) -> str:
    wait_until(lambda: len(gateway.session(kernel)["replicas"]) == 3, "three replicas")
    return min({each["host"] for each in gateway.session(kernel)["replicas"]} - {gateway.executor(kernel)})


def test_a_client_goes_along_and_a_future_is_made_again(
    gateway: Gateway, kernel: str, session: Connection, address: str
) -> None:
    session.run(CONNECT.format(address))
    seen = session.run(LOOK).result
    assert seen == "(5, True, 3)"
    for what in ("migrate", "suspend"):
        body = {"host": elsewhere(gateway, kernel)} if what == "migrate" else {}
        answer = operate(gateway, kernel, what, **body)
        assert (answer.status_code, answer.json().get("lost")) == (200, []), answer.text
        assert session.run(LOOK, timeout=90).result == seen
    told = session.run("future = client.submit(pow, 2, 5)").stderr
    assert "'future'" in told and "only as long as a client wants it" in told
    answer = operate(gateway, kernel, "suspend")
    assert (answer.status_code, answer.json().get("lost")) == (200, []), answer.text
    assert session.run("future.result(timeout=20)", timeout=90).result == "32", "its cell may run again"


@pytest.mark.parametrize("what", ["migrate", "suspend"])
def test_what_ends_with_the_process_is_lost_by_name(
    gateway: Gateway, kernel: str, session: Connection, address: str, what: str
) -> None:
    session.run(CONNECT.format(address))
    session.run("future = client.submit(pow, 2, 5); _ = open('/tmp/banyan-outside', 'w').write('x')")
    body = {"host": elsewhere(gateway, kernel)} if what == "migrate" else {}
    refused = operate(gateway, kernel, what, **body)
    assert refused.status_code == 409 and "'future'" in refused.json()["message"]
    answer = operate(gateway, kernel, what, force=True, **body)
    assert [each["name"] for each in answer.json()["lost"]] == ["future"]
    assert session.run(LOOK, timeout=90).result == "(5, True, 3)"


def test_a_cluster_of_the_session_itself(gateway: Gateway, kernel: str, session: Connection) -> None:
    told = session.run(OWN, timeout=90).stderr
    assert "'client'" in told and "that this process runs" in told
    session.run("_ = open('/tmp/banyan-outside', 'w').write('x'); cluster = client.cluster")
    refused = operate(gateway, kernel, "suspend")
    assert refused.status_code == 409 and "'cluster'" in refused.json()["message"]
    answer = operate(gateway, kernel, "suspend", force=True)
    assert "cluster" in [each["name"] for each in answer.json()["lost"]]
    found = session.run("plain", timeout=90)
    assert found.result == "1" and "'cluster'" in found.stderr
