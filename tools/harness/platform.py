"""A platform for one test or bench: runs `banyan up` in a folder, and kills and restarts its daemons by name."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev import paths
from dev.live import Child

from harness.client import Gateway, wait_until

_READY_TIMEOUT_S = 60.0


def binary() -> Path:
    """$BANYAN_BINARY, or the program of the release build."""
    return Path(os.environ.get("BANYAN_BINARY") or paths.binary())


def _kernel_options() -> list[str | Path]:
    """The options that choose the Python of kernels: $BANYAN_KERNEL_PYTHON, which has the package installed, or this
    Python with the package of the tree. $BANYAN_KERNEL_SANDBOX replaces the way to confine kernels that `banyan up`
    chooses by itself."""
    if other := os.environ.get("BANYAN_KERNEL_PYTHON"):
        return ["--python", other, "--sandbox", os.environ.get("BANYAN_KERNEL_SANDBOX", "auto")]
    return ["--python", sys.executable, "--python-path", paths.ROOT / "python"]


def alive(pid: int) -> bool:
    """Whether a process with this id runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@dataclass(frozen=True)
class Command:
    """The command that started a daemon, kept so that it can be started again."""

    argv: list[str]
    env: dict[str, str]


class Platform:
    """A gateway and host agents named h1, h2, … on free ports. They end at stop(), or with this process."""

    def __init__(self, folder: Path, *, hosts: int = 4, options: Sequence[str] = ()) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        self.hosts = [f"h{number}" for number in range(1, hosts + 1)]
        self._restarted: dict[str, Child] = {}
        argv: list[str | Path] = [
            binary(),
            "up",
            "--dir",
            folder,
            "--hosts",
            str(hosts),
            "--gateway-port",
            "0",
            "--json",
            *_kernel_options(),
            "--logos",
            paths.LOGOS,
            *options,
        ]
        self._up = Child("banyan up", argv, folder / "up.log", {"BANYAN_TOKEN": self.token})
        try:
            description = wait_until(self._description, "banyan up is ready", _READY_TIMEOUT_S)
            self.url = str(description["url"])
            self._pids = {name: int(pid) for name, pid in description["pids"].items()}
            self._commands = {name: _command_of(pid) for name, pid in self._pids.items()}
            self.gateway = Gateway(self.url, self.token)
            self.wait_healthy()
        except BaseException:
            self.stop()
            raise

    def _description(self) -> dict[str, Any] | None:
        if not self._up.running():
            raise self._up.failure()
        try:
            return dict(json.loads((self.folder / "platform.json").read_text()))
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def wait_healthy(self, timeout: float = _READY_TIMEOUT_S) -> None:
        """Waits until the gateway answers and sees all hosts, and each host has found out which kernels it can run."""
        wait_until(self.healthy, "the gateway sees all hosts and their kernels", timeout)

    def healthy(self) -> bool:
        try:
            hosts = self.gateway.get("/api/banyan/hosts")
        except OSError:
            return False
        up = {host["host"] for host in hosts if host["up"]}
        tried = all(kernel["state"] != "checking" for host in hosts for kernel in host["kernels"])
        return tried and up >= set(self.hosts)

    def pid(self, daemon: str) -> int:
        return self._pids[daemon]

    def kill(self, daemon: str, how: signal.Signals = signal.SIGKILL) -> None:
        """Sends a signal to "gateway" or a host agent and waits until the process is gone."""
        pid = self._pids[daemon]
        os.kill(pid, how)
        if (child := self._restarted.get(daemon)) is not None:
            child.process.wait(30)
        wait_until(lambda: not alive(pid), f"{daemon} has ended", pause=0.001)

    def restart(self, daemon: str) -> None:
        """Starts a killed daemon with the command that started it before. Does not wait until it serves."""
        command = self._commands[daemon]
        child = Child(daemon, command.argv, self.folder / f"{daemon}-again.log", command.env)
        self._restarted[daemon] = child
        self._pids[daemon] = child.process.pid

    def repair(self) -> None:
        """Starts every dead daemon and waits until the platform is healthy. Tests do this between each other."""
        for daemon, pid in self._pids.items():
            if not alive(pid):
                self.restart(daemon)
        self.wait_healthy()

    def config(self, daemon: str) -> Path:
        """The configuration file that a daemon was started with."""
        argv = self._commands[daemon].argv
        return Path(argv[argv.index("--config") + 1])

    def configure(self, hosts: Sequence[str], key: str, value: str) -> None:
        """Restarts host agents with another value (in TOML) of a setting, and waits until the platform is healthy."""
        for host in hosts:
            others = re.sub(rf"(?m)^{key} = .*\n", "", self.config(host).read_text())
            self.config(host).write_text(f"{key} = {value}\n{others}")
            self.kill(host)
        self.repair()

    def command(self, *arguments: str) -> str:
        """Runs an operator's command, which must succeed, and returns its output."""
        done = self.run_command(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs an operator's command, which may fail."""
        argv = [binary(), *arguments, "--dir", self.folder]
        return subprocess.run(argv, env={**os.environ, "BANYAN_TOKEN": self.token}, capture_output=True, text=True)

    def stop(self) -> None:
        self._up.stop()
        for child in self._restarted.values():
            child.stop()


def with_prefix(prefix: Sequence[str], command: Command) -> Command:
    """The same command behind a prefix: a program that sets something up and then executes the command."""
    return Command([*prefix, *command.argv], command.env)


def _command_of(pid: int) -> Command:
    process = Path(f"/proc/{pid}")
    argv = process.joinpath("cmdline").read_text().rstrip("\0").split("\0")
    argv[0] = str(process.joinpath("exe").readlink())
    pairs = process.joinpath("environ").read_text().rstrip("\0").split("\0")
    return Command(argv, dict(pair.split("=", 1) for pair in pairs))
