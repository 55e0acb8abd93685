"""The parts that run on this machine: the platform (`banyan up`) and a JupyterLab.

`banyan up` takes its token from BANYAN_TOKEN, because every user of the machine can read a command line. As soon as
`banyan up` serves, it writes FOLDER/platform.json with at least {"url", "token", "pids": {"gateway": 1, "h1": 2, …}}.
"""

import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from banyan_local.processes import Child


@dataclass(frozen=True)
class Program:
    """The program `banyan` and the paths that its kernels need: the interpreter, the folder of the worker's package
    where the interpreter does not have it installed, and the folder of the logos."""

    path: Path
    python: Path
    logos: Path
    python_path: Path | None = None

    def options(self) -> list[str | Path]:
        """The options of `banyan up` that say where these paths are."""
        where: list[str | Path] = ["--python-path", self.python_path] if self.python_path else []
        return ["--python", self.python, *where, "--logos", self.logos]

    def write_kernelspec(self, prefix: Path, platform: Path) -> Path:
        """Installs the kernelspec of the kernel shim under PREFIX/kernels/banyan. A client that starts kernels by
        itself then gets kernels of the platform whose folder is PLATFORM."""
        folder = prefix / "kernels" / "banyan"
        folder.mkdir(parents=True, exist_ok=True)
        spec = {
            "argv": [
                str(self.path),
                "kernel",
                "-f",
                "{connection_file}",
                "--platform",
                str(platform / "platform.json"),
            ],
            "display_name": "Python 3 (Banyan)",
            "language": "python",
            "interrupt_mode": "message",
        }
        (folder / "kernel.json").write_text(json.dumps(spec, indent=2) + "\n")
        for logo in self.logos.iterdir():
            shutil.copy(logo, folder)
        return folder


class Platform:
    """A gateway and its host agents, started by `banyan up`. Without a token, the platform keeps the token of its last
    start or makes a new one."""

    def __init__(
        self,
        folder: Path,
        program: Program,
        *,
        hosts: int,
        port: int,
        token: str | None = None,
        options: Sequence[str] = (),
    ) -> None:
        description = folder / "platform.json"
        description.unlink(missing_ok=True)
        argv: list[str | Path] = [program.path, "up", "--dir", folder, "--hosts", str(hosts)]
        argv += ["--gateway-port", str(port), *program.options(), "--json", *options]
        env = {"BANYAN_TOKEN": token} if token else {}
        self.child = Child("banyan up", argv, folder / "logs" / "up.log", env)
        self.child.wait_until("the platform", description.exists)
        described = json.loads(description.read_text())
        self.url = str(described["url"])
        self.token = str(described["token"])

    def stop(self) -> None:
        self.child.stop()


class Lab:
    """A JupyterLab whose kernels a gateway runs. `env`: variables by which it finds the companion and extensions."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        gateway: str,
        token: str,
        port: int,
        notebooks: Path,
        log: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        notebooks.mkdir(parents=True, exist_ok=True)
        self.url = f"http://127.0.0.1:{port}/lab?token={token}"
        argv: list[str | Path] = [
            *command,
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={notebooks}",
            "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ]
        if os.geteuid() == 0:
            argv.append("--allow-root")
        own = {"JUPYTER_TOKEN": token, **gateway_environment(gateway, token)}
        self.child = Child("JupyterLab", argv, log, {**own, **(env or {})})
        self.child.wait_until("JupyterLab", lambda: _answers(f"http://127.0.0.1:{port}/api"))

    def stop(self) -> None:
        self.child.stop()


def gateway_environment(gateway: str, token: str) -> dict[str, str]:
    """The environment variables that make a Jupyter Server use the kernels of a gateway."""
    return {"JUPYTER_GATEWAY_URL": gateway, "JUPYTER_GATEWAY_AUTH_TOKEN": token}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False
