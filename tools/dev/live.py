"""The platform and JupyterLab as child processes: start, wait until ready, stop. ./dev up and the tests share it.

`banyan up` takes its token from BANYAN_TOKEN and its workers' interpreter from BANYAN_PYTHON (a command line is readable
by every user of the machine). When it is ready it prints one line of JSON on stdout:
{"gateway": "http://127.0.0.1:8890", "gateway_pid": 1, "hosts": [{"name": "host-1", "pid": 2}, …]}."""

import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev import ui
from dev.paths import VENV, VENV_PYTHON, binary

_READY_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 15.0
_PR_SET_PDEATHSIG = 1


def free_port(wanted: int | None, default: int | None = None) -> int:
    """`wanted`, which must be free; else `default` or the next free one above it; else any free one."""
    if wanted is not None:
        if not _is_free(wanted):
            raise ui.UserError(
                f"port {wanted} is taken; choose another or see who has it: ss -ltnp 'sport = :{wanted}'"
            )
        return wanted
    if default is not None:
        for port in range(default, default + 100):
            if _is_free(port):
                return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Child:
    """A process in a session of its own, its output in a log, gone when its owner is."""

    def __init__(
        self, name: str, argv: Sequence[str | Path], log: Path, env: dict[str, str], *, pipe: bool = False
    ) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [str(arg) for arg in argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe else out,
                stderr=out,
                env={**os.environ, **env},
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def running(self) -> bool:
        return self.process.poll() is None

    def failure(self) -> ui.UserError:
        """What to tell when it ended by itself."""
        tail = "\n".join("  " + line for line in self.log.read_text(errors="replace").splitlines()[-20:])
        return ui.UserError(f"{self.name} ended with status {self.process.poll()}; its log is {self.log}\n{tail}")

    def stop(self) -> None:
        """SIGTERM, then SIGKILL for the whole process group."""
        if self.running():
            self.process.terminate()
            try:
                self.process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


@dataclass(frozen=True)
class HostProcess:
    """A host agent of a running platform."""

    name: str
    pid: int


class Platform:
    """A gateway and its host agents on this machine: `banyan up`."""

    def __init__(self, folder: Path, *, hosts: int, port: int, token: str, options: Sequence[str] = ()) -> None:
        self.folder = folder
        self.token = token
        argv: list[str | Path] = [
            binary(),
            "up",
            "--dir",
            folder,
            "--hosts",
            str(hosts),
            "--gateway-port",
            str(port),
            *options,
        ]
        env = {"BANYAN_TOKEN": token, "BANYAN_PYTHON": str(VENV_PYTHON)}
        self.child = Child("banyan up", argv, folder / "log" / "up.log", env, pipe=True)
        try:
            ready = self._wait_ready()
        except BaseException:
            self.child.stop()
            raise
        self.url = str(ready["gateway"])
        self.gateway_pid = int(ready["gateway_pid"])
        self.hosts = [HostProcess(host["name"], int(host["pid"])) for host in ready["hosts"]]

    def _wait_ready(self) -> dict[str, Any]:
        out = self.child.process.stdout
        assert out is not None
        deadline = time.monotonic() + _READY_TIMEOUT_S
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if not selector.select(left):
                    continue
                line = out.readline()
                if not line:
                    self.child.process.wait()
                    raise self.child.failure()
                if line.startswith(b"{"):
                    return dict(json.loads(line))
        raise ui.UserError(f"the platform was not ready after {_READY_TIMEOUT_S:.0f} s; its log is {self.child.log}")

    def stop(self) -> None:
        self.child.stop()


class Lab:
    """A stock JupyterLab that has its kernels from a gateway."""

    def __init__(self, *, gateway: str, token: str, port: int, notebooks: Path, log: Path) -> None:
        notebooks.mkdir(parents=True, exist_ok=True)
        self.url = f"http://127.0.0.1:{port}/lab?token={token}"
        argv: list[str | Path] = [
            VENV / "bin" / "jupyter-lab",
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
        env = {"JUPYTER_TOKEN": token, "JUPYTER_GATEWAY_URL": gateway, "JUPYTER_GATEWAY_AUTH_TOKEN": token}
        self.child = Child("JupyterLab", argv, log, env)
        try:
            self._wait_ready(f"http://127.0.0.1:{port}/api")
        except BaseException:
            self.child.stop()
            raise

    def _wait_ready(self, url: str) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while time.monotonic() < deadline:
            if not self.child.running():
                raise self.child.failure()
            try:
                with urllib.request.urlopen(url, timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise ui.UserError(f"JupyterLab was not ready after {_READY_TIMEOUT_S:.0f} s; its log is {self.child.log}")

    def stop(self) -> None:
        self.child.stop()


def write_kernelspec(prefix: Path, *, gateway: str, token_file: Path) -> Path:
    """Installs the kernelspec of door C under PREFIX/kernels/banyan, for clients that start kernels themselves."""
    folder = prefix / "kernels" / "banyan"
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [str(binary()), "kernel", "-f", "{connection_file}"],
        "display_name": "Python 3 (Banyan)",
        "language": "python",
        "interrupt_mode": "message",
        "env": {"BANYAN_GATEWAY_URL": gateway, "BANYAN_TOKEN_FILE": str(token_file)},
    }
    (folder / "kernel.json").write_text(json.dumps(spec, indent=2) + "\n")
    return folder
