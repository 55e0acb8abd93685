"""A Jupyter Server for a test or a bench: a stock one, or one that uses the kernels of a platform through the
companion."""

import os
import secrets
import sys
from pathlib import Path
from typing import Self

import requests
from banyan_local.parts import gateway_environment
from dev.live import Child, companion_environment, free_port

from harness.client import Gateway, wait_until

_READY_TIMEOUT_S = 60.0


class JupyterServer:
    """A Jupyter Server with a token of its own. `gateway` is a client of it: its REST is that of a platform's
    gateway."""

    def __init__(
        self,
        folder: Path,
        *,
        platform: Gateway | None = None,
        base: str = "/",
        options: tuple[str, ...] = (),
        installed: Path | None = None,
    ) -> None:
        """`platform`: the gateway whose kernels the server uses; without it the kernels are ipykernels of this
        interpreter. `installed`: an interpreter that has the server installed and runs it without this tree's
        packages."""
        token = secrets.token_hex(16)
        port = free_port(None)
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir(parents=True, exist_ok=True)
        argv: list[str | Path] = [
            installed or sys.executable,
            "-m",
            "jupyter_server",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
        ]
        argv += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={self.notebooks}"]
        argv += [f"--ServerApp.base_url={base}", *options, *(["--allow-root"] if os.geteuid() == 0 else [])]
        env = {"JUPYTER_TOKEN": token}
        if platform is not None and installed is not None:
            env |= {**gateway_environment(platform.url, platform.token), "PYTHONPATH": ""}
        elif platform is not None:
            env |= companion_environment(platform.url, platform.token)
        self.log = folder / "jupyter-server.log"
        self._child = Child("Jupyter Server", argv, self.log, env)
        self.gateway = Gateway(f"http://127.0.0.1:{port}{base}", token)
        try:
            wait_until(self._serves, "Jupyter Server answers", _READY_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    def _serves(self) -> bool:
        if not self._child.running():
            raise self._child.failure()
        try:
            return self.gateway.call("GET", "/api").ok
        except requests.ConnectionError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._child.stop()
