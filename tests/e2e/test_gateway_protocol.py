"""The gateway's REST calls that JupyterLab in gateway mode, VS Code and the clients of Enterprise Gateway make."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from harness.client import Connection, Gateway, wait_until


def test_a_kernel_is_created_listed_and_deleted(gateway: Gateway) -> None:
    response = gateway.call("POST", "/api/kernels", json={"name": "python3", "env": {"KERNEL_USERNAME": "ada"}})
    assert response.status_code == 201
    kernel = response.json()["id"]
    assert response.headers["Location"].endswith(f"/api/kernels/{kernel}")
    assert kernel in {row["id"] for row in gateway.get("/api/kernels")}
    assert gateway.call("DELETE", f"/api/kernels/{kernel}").status_code == 204
    assert gateway.call("GET", f"/api/kernels/{kernel}").status_code == 404
    assert kernel not in {row["id"] for row in gateway.get("/api/kernels")}


def test_a_model_has_what_clients_parse_strictly(gateway: Gateway, kernel: str, session: Connection) -> None:
    session.run("pass")
    model = wait_until(lambda: _idle(gateway, kernel), "the kernel is idle", 2)
    assert (model["id"], model["name"]) == (kernel, "python3")
    assert model["connections"] == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", model["last_activity"])


def _idle(gateway: Gateway, kernel: str) -> dict[str, Any] | None:
    model: dict[str, Any] = gateway.get(f"/api/kernels/{kernel}")
    return model if model["execution_state"] == "idle" else None


def test_only_cells_are_activity(gateway: Gateway, kernel: str, session: Connection) -> None:
    session.run("pass")
    before = gateway.get(f"/api/kernels/{kernel}")["last_activity"]
    time.sleep(0.05)
    session.ask("shell", "kernel_info_request", {})
    session.ask("shell", "comm_info_request", {})
    assert gateway.get(f"/api/kernels/{kernel}")["last_activity"] == before
    session.run("pass")
    assert gateway.get(f"/api/kernels/{kernel}")["last_activity"] > before


def test_kernelspecs(gateway: Gateway) -> None:
    specs = gateway.get("/api/kernelspecs")
    spec = specs["kernelspecs"][specs["default"]]
    assert spec["spec"]["language"] == "python"
    assert spec["spec"]["display_name"]
    assert gateway.get(f"/api/kernelspecs/{specs['default']}") == spec
    assert {"logo-svg", "logo-64x64"} <= spec["resources"].keys()
    for resource in spec["resources"].values():
        assert "/kernelspecs/" in resource
        response = gateway.call("GET", resource)
        assert (response.status_code, response.headers["Content-Type"].split("/")[0]) == (200, "image")


def test_a_kernel_with_no_name_is_the_default(gateway: Gateway) -> None:
    response = gateway.call("POST", "/api/kernels")
    assert response.status_code == 201
    assert response.json()["name"] == gateway.get("/api/kernelspecs")["default"]
    gateway.delete_kernel(response.json()["id"])


def test_status_version_and_identity(gateway: Gateway, kernel: str) -> None:
    assert gateway.get("/api")["version"]
    assert gateway.get("/api/status")["kernels"] >= 1
    assert gateway.get("/api/me")["identity"]["username"]


def test_a_notebook_session_has_its_life(gateway: Gateway) -> None:
    body = {"path": "a/b.ipynb", "name": "b.ipynb", "type": "notebook", "kernel": {"name": "python3"}}
    made = gateway.call("POST", "/api/sessions", json=body)
    assert made.status_code == 201
    session = made.json()
    assert gateway.call("POST", "/api/sessions", json=body).json()["id"] == session["id"], "one for a path"
    moved = gateway.call("PATCH", f"/api/sessions/{session['id']}", json={"path": "c.ipynb"})
    assert moved.json()["path"] == "c.ipynb"
    assert session["id"] in {row["id"] for row in gateway.get("/api/sessions")}
    assert gateway.call("DELETE", f"/api/sessions/{session['id']}").status_code == 204
    assert gateway.call("GET", f"/api/kernels/{session['kernel']['id']}").status_code == 404


def test_environment_and_working_directory_reach_the_kernel(gateway: Gateway, tmp_path: Path) -> None:
    kernel = gateway.start_kernel(
        name="python3", env={"KERNEL_WORKING_DIR": str(tmp_path), "KERNEL_USERNAME": "ada", "KERNEL_FLAG": "yes"}
    )
    with Connection(gateway, kernel) as session:
        cell = session.run("import os; print(os.getcwd(), os.environ['KERNEL_USERNAME'], os.environ['KERNEL_FLAG'])")
    gateway.delete_kernel(kernel)
    assert cell.stdout == f"{tmp_path} ada yes\n", cell.reply


def test_the_address_may_be_lower_case(gateway: Gateway) -> None:
    kernel = gateway.start_kernel(name="python3")
    with Connection(gateway, kernel.lower()) as session:
        assert session.run("1").result == "1"
    gateway.delete_kernel(kernel)


@pytest.mark.parametrize("times", [3])
def test_restarts_in_a_row(gateway: Gateway, kernel: str, session: Connection, times: int) -> None:
    for _ in range(times):
        session.run("x = 1")
        assert gateway.call("POST", f"/api/kernels/{kernel}/restart").status_code == 200
        assert session.run("x").reply["ename"] == "NameError"


def test_deleting_a_kernel_in_mid_cell_ends_its_clients(gateway: Gateway) -> None:
    kernel = gateway.start_kernel(name="python3")
    with Connection(gateway, kernel) as session:
        session.start("print('go', flush=True)\nimport time; time.sleep(600)")
        session.wait_for(lambda m: m.type == "stream")
        assert gateway.call("DELETE", f"/api/kernels/{kernel}").status_code == 204
        with pytest.raises(ConnectionError):
            for _ in range(100):
                session.receive(10)


class TestDirectClients:
    """The behaviours that Enterprise Gateway's integration tests ask of a local Python kernel.

    Source: TestPythonKernelLocal in enterprise_gateway/itests/test_python_kernel.py.
    """

    def test_hello_world(self, session: Connection) -> None:
        assert session.run("print('Hello World')").stdout == "Hello World\n"

    def test_a_restart_forgets_a_variable(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        session.run("x = 123")
        assert session.run("print(x + 1)").stdout == "124\n"
        gateway.call("POST", f"/api/kernels/{kernel}/restart").raise_for_status()
        assert gateway.get(f"/api/kernels/{kernel}")["execution_state"] == "idle"
        assert session.run("y = x + 1").reply["ename"] == "NameError"

    def test_an_interrupt_leaves_a_kernel_that_remembers(
        self, gateway: Gateway, kernel: str, session: Connection
    ) -> None:
        session.run("x = 123")
        cell = session.start("import time\nprint('begin')\ntime.sleep(30)\nprint('end')")
        session.wait_for(lambda m: m.type == "stream")
        gateway.call("POST", f"/api/kernels/{kernel}/interrupt").raise_for_status()
        assert session.finish(cell, 20).reply["ename"] == "KeyboardInterrupt"
        assert session.run("print(x + 1)").stdout == "124\n"

    def test_the_scope_of_a_restart_is_one_kernel(self, gateway: Gateway, kernel: str, session: Connection) -> None:
        other = gateway.start_kernel(name="python3")
        with Connection(gateway, other) as neighbour:
            neighbour.run("x = 'mine'")
            session.run("x = 'yours'")
            gateway.call("POST", f"/api/kernels/{kernel}/restart").raise_for_status()
            assert neighbour.run("x").result == "'mine'"
        gateway.delete_kernel(other)
