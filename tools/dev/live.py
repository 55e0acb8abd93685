"""The platform and JupyterLab as child processes: start, wait until ready, stop.

`banyan up` takes its token from BANYAN_TOKEN: a command line is readable by every user of the machine. When it serves,
it writes FOLDER/platform.json with at least {"url", "token", "pids": {"gateway": 1, "h1": 2, …}}."""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from dev import ui
from dev.paths import COMPANION, LAB_EXTENSION, LOGOS, ROOT, VENV, VENV_PYTHON, binary

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

    def __init__(self, name: str, argv: Sequence[str | Path], log: Path, env: dict[str, str]) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [str(arg) for arg in argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
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


class Platform:
    """A gateway and its host agents on this machine: `banyan up`."""

    def __init__(self, folder: Path, *, hosts: int, port: int, token: str, options: Sequence[str] = ()) -> None:
        description = folder / "platform.json"
        description.unlink(missing_ok=True)
        argv: list[str | Path] = [binary(), "up", "--dir", folder, "--hosts", str(hosts), "--gateway-port", str(port)]
        argv += ["--python", VENV_PYTHON, "--python-path", ROOT / "python", "--logos", LOGOS, "--json", *options]
        self.child = Child("banyan up", argv, folder / "logs" / "up.log", {"BANYAN_TOKEN": token})
        try:
            _wait(self.child, "the platform", description.exists)
            self.url = str(json.loads(description.read_text())["url"])
        except BaseException:
            self.child.stop()
            raise

    def stop(self) -> None:
        self.child.stop()


class Lab:
    """A JupyterLab that has its kernels from a gateway, through the companion and with the extension of this tree."""

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
        env = {
            "JUPYTER_TOKEN": token,
            "JUPYTER_PATH": _before(LAB_EXTENSION, "JUPYTER_PATH"),
            **companion_environment(gateway, token),
        }
        self.child = Child("JupyterLab", argv, log, env)
        try:
            _wait(self.child, "JupyterLab", lambda: _answers(f"http://127.0.0.1:{port}/api"))
        except BaseException:
            self.child.stop()
            raise

    def stop(self) -> None:
        self.child.stop()


def companion_environment(gateway: str, token: str) -> dict[str, str]:
    """By which a Jupyter Server has its kernels from a gateway, through the companion of this tree."""
    return {
        "JUPYTER_GATEWAY_URL": gateway,
        "JUPYTER_GATEWAY_AUTH_TOKEN": token,
        "JUPYTER_CONFIG_PATH": _before(COMPANION / "jupyter-config", "JUPYTER_CONFIG_PATH"),
        "PYTHONPATH": _before(COMPANION, "PYTHONPATH"),
    }


def _before(folder: Path, variable: str) -> str:
    """The folder, then those that the environment variable has."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get(variable)]))


def _wait(child: Child, what: str, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while not ready():
        if not child.running():
            raise child.failure()
        if time.monotonic() > deadline:
            raise ui.UserError(f"{what} was not ready after {_READY_TIMEOUT_S:.0f} s; its log is {child.log}")
        time.sleep(0.02)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def write_kernelspec(prefix: Path, platform: Path) -> Path:
    """Installs the kernelspec of door C under PREFIX/kernels/banyan: kernels on the platform that has this folder, for
    clients that start kernels themselves."""
    folder = prefix / "kernels" / "banyan"
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [str(binary()), "kernel", "-f", "{connection_file}", "--platform", str(platform / "platform.json")],
        "display_name": "Python 3 (Banyan)",
        "language": "python",
        "interrupt_mode": "message",
    }
    (folder / "kernel.json").write_text(json.dumps(spec, indent=2) + "\n")
    for logo in LOGOS.iterdir():
        shutil.copy(logo, folder)
    return folder
