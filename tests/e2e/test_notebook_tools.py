"""nbclient, nbconvert and papermill run a notebook: through `banyan kernel`, and through the gateway's own protocol."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import requests
from dev.live import Child, free_port
from harness.client import wait_until
from harness.platform import Platform
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

_CELLS = [
    "import numpy as np\nimport pandas as pd\nvalue = 20",
    "frame = pd.DataFrame({'a': np.arange(3)})\nprint(frame.a.sum())",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()",
    "2 * value + 2",
]


def _notebook(kernel: str, *extra: NotebookNode) -> NotebookNode:
    return new_notebook(
        cells=[new_code_cell(source) for source in _CELLS] + list(extra),
        metadata={"kernelspec": {"name": kernel, "display_name": "Banyan", "language": "python"}},
    )


def _check(notebook: NotebookNode) -> None:
    _, table, figure, last = notebook.cells[:4]
    assert table.outputs[0].text == "3\n"
    assert any("image/png" in output.get("data", {}) for output in figure.outputs)
    assert last.outputs[0].data["text/plain"] == "42"


class TestThroughTheKernelspec:
    """The kernel shim: the tool starts `banyan kernel` as it starts any kernel."""

    def test_nbclient(self, jupyter_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("JUPYTER_PATH", "BANYAN_URL", "BANYAN_TOKEN"):
            monkeypatch.setenv(name, jupyter_env[name])
        notebook = _notebook("banyan")
        NotebookClient(notebook, timeout=120, kernel_name="banyan").execute()
        _check(notebook)

    def test_nbconvert(self, jupyter_env: dict[str, str], tmp_path: Path) -> None:
        nbformat.write(_notebook("banyan"), tmp_path / "in.ipynb")
        command = ["nbconvert", "--to", "notebook", "--execute", "--output", "out.ipynb", "in.ipynb"]
        _tool("jupyter", *command, folder=tmp_path, env=jupyter_env)
        _check(nbformat.read(tmp_path / "out.ipynb", as_version=4))

    def test_papermill_with_a_parameter(self, jupyter_env: dict[str, str], tmp_path: Path) -> None:
        notebook = _notebook("banyan", new_code_cell("print(value)"))
        notebook.cells.insert(0, new_code_cell("value = 1", metadata={"tags": ["parameters"]}))
        notebook.cells[1].source = notebook.cells[1].source.replace("value = 20", "")
        nbformat.write(notebook, tmp_path / "in.ipynb")
        _tool("papermill", "in.ipynb", "out.ipynb", "-p", "value", "77", folder=tmp_path, env=jupyter_env)
        assert nbformat.read(tmp_path / "out.ipynb", as_version=4).cells[-1].outputs[0].text == "77\n"

    def test_an_error_in_a_cell_is_told(self, jupyter_env: dict[str, str], tmp_path: Path) -> None:
        nbformat.write(_notebook("banyan", new_code_cell("1 / 0")), tmp_path / "in.ipynb")
        command: list[str | Path] = [
            Path(sys.executable).with_name("jupyter"),
            "nbconvert",
            "--to",
            "notebook",
            "--execute",
            "in.ipynb",
        ]
        ended = subprocess.run(
            command, cwd=tmp_path, env=jupyter_env, capture_output=True, text=True, timeout=200, check=False
        )
        assert ended.returncode != 0
        assert "ZeroDivisionError" in ended.stderr


class TestThroughTheGateway:
    """The gateway's REST and WebSocket: jupyter_server's own gateway client runs in the tool's process."""

    @pytest.fixture
    def gateway_env(self, platform: Platform, jupyter_env: dict[str, str]) -> dict[str, str]:
        return {
            **jupyter_env,
            "JUPYTER_GATEWAY_URL": platform.url,
            "JUPYTER_GATEWAY_AUTH_TOKEN": platform.token,
            "PYTHONPATH": str(Path(__file__).parent),
        }

    @pytest.fixture
    def server(self, gateway_env: dict[str, str], tmp_path: Path) -> Iterator[str]:
        """A stock Jupyter Server, on loopback and with no token of its own, that uses the kernels of the gateway."""
        port = free_port(None)
        command: list[str | Path] = [
            Path(sys.executable).with_name("jupyter-server"),
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--IdentityProvider.token=",
            "--ServerApp.disable_check_xsrf=True",
            f"--ServerApp.root_dir={tmp_path}",
            "--allow-root",
        ]
        child = Child("jupyter server", command, tmp_path / "server.log", gateway_env)
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until(lambda: _answers(url + "/api"), "the Jupyter Server answers", 60)
            yield url
        finally:
            child.stop()

    def test_nbconvert(self, gateway_env: dict[str, str], tmp_path: Path) -> None:
        _execute(tmp_path, gateway_env, "gateway_client.TokenKernelManager")

    def test_nbclient(self, gateway_env: dict[str, str], tmp_path: Path) -> None:
        nbformat.write(_notebook("python3"), tmp_path / "in.ipynb")
        program = (
            "import nbformat; from nbclient import NotebookClient; from gateway_client import TokenKernelManager\n"
            "notebook = nbformat.read('in.ipynb', as_version=4)\n"
            "NotebookClient(notebook, timeout=120, kernel_manager_class=TokenKernelManager).execute()\n"
            "nbformat.write(notebook, 'out.ipynb')"
        )
        _tool("python", "-c", program, folder=tmp_path, env=gateway_env)
        _check(nbformat.read(tmp_path / "out.ipynb", as_version=4))

    def test_nbconvert_behind_a_stock_jupyter_server(
        self, gateway_env: dict[str, str], server: str, tmp_path: Path
    ) -> None:
        env = {**gateway_env, "JUPYTER_GATEWAY_URL": server, "JUPYTER_GATEWAY_AUTH_TOKEN": ""}
        _execute(tmp_path, env, "jupyter_server.gateway.managers.GatewayKernelManager")


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.ConnectionError:
        return False


def _execute(folder: Path, env: dict[str, str], manager: str) -> None:
    """Runs nbconvert --execute with a kernel manager that speaks the gateway protocol."""
    nbformat.write(_notebook("python3"), folder / "in.ipynb")
    chosen = f"--ExecutePreprocessor.kernel_manager_class={manager}"
    command = ["nbconvert", "--to", "notebook", "--execute", chosen, "--output", "out.ipynb", "in.ipynb"]
    _tool("jupyter", *command, folder=folder, env=env)
    _check(nbformat.read(folder / "out.ipynb", as_version=4))


def _tool(name: str, *arguments: str, folder: Path, env: dict[str, str]) -> None:
    command: list[str | Path] = [Path(sys.executable).with_name(name), *arguments]
    ended = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=250, check=False)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
