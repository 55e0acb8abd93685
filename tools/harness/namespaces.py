"""Host agents in network namespaces of their own on one switch, so that a test can cut a wire or slow it down."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.platform import Platform, with_prefix

_BURST = "1mb"
_QUEUE = "100ms"


def available() -> str:
    """Why this machine cannot have such namespaces; empty when it can."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    name = f"bny{os.getpid()}"
    try:
        _ip("link", "add", name, "type", "bridge")
        _ip("link", "del", name)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"this machine has no bridges: {error}"
    return ""


class SeparateHosts(Platform):
    """A platform whose host agents h1, h2, … have a namespace each; one switch connects them and the gateway."""

    def __init__(self, folder: Path, *, hosts: int = 4, options: Sequence[str] = ()) -> None:
        self._name = f"bny{os.getpid()}"
        self._net = f"10.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
        self._spaces: dict[str, str] = {}
        super().__init__(folder, hosts=hosts, options=options)
        try:
            self._wire()
            for daemon in ["gateway", *self.hosts]:
                self.kill(daemon)
            for daemon in ["gateway", *self.hosts]:
                self._readdress(daemon)
            for daemon in self.hosts:
                self._commands[daemon] = with_prefix(
                    ["ip", "netns", "exec", self._spaces[daemon]], self._commands[daemon]
                )
            self.repair()
        except BaseException:
            self.stop()
            raise

    def limit(self, megabits: float | None, hosts: Sequence[str] = ()) -> None:
        """Limits the wires of these hosts (or of all) to so many megabits a second each way; None: no limit."""
        for host in hosts or self.hosts:
            for prefix in ([], ["netns", "exec", self._spaces[host]]):
                device = "eth0" if prefix else self._wire_of(host)
                enter = ["ip", *prefix] if prefix else []
                subprocess.run([*enter, "tc", "qdisc", "del", "dev", device, "root"], capture_output=True, check=False)
                if megabits is not None:
                    rate = ["rate", f"{megabits * 1000:.0f}kbit", "burst", _BURST, "latency", _QUEUE]
                    _run(*enter, "tc", "qdisc", "add", "dev", device, "root", "tbf", *rate)

    def cut(self, host: str) -> None:
        """Cuts the wire of the host: no packet passes any more, and no connection is told."""
        _ip("link", "set", self._wire_of(host), "down")

    def mend(self, host: str) -> None:
        _ip("link", "set", self._wire_of(host), "up")

    def stop(self) -> None:
        super().stop()
        for space in self._spaces.values():
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self._name], capture_output=True, check=False)

    def _wire_of(self, host: str) -> str:
        return f"{self._name}{host}"

    def _wire(self) -> None:
        _ip("link", "add", self._name, "type", "bridge")
        _ip("addr", "add", f"{self._net}.254/24", "dev", self._name)
        _ip("link", "set", self._name, "up")
        for number, host in enumerate(self.hosts, 1):
            space = f"{self._name}-{host}"
            _ip("netns", "add", space)
            self._spaces[host] = space
            wire = self._wire_of(host)
            _ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", wire, "master", self._name, "up")
            inside = ["netns", "exec", space, "ip"]
            _ip(*inside, "addr", "add", f"{self._net}.{number}/24", "dev", "eth0")
            _ip(*inside, "link", "set", "eth0", "up")
            _ip(*inside, "link", "set", "lo", "up")

    def _readdress(self, daemon: str) -> None:
        """Gives every peer an address of its own in the daemon's file, where `banyan up` wrote 127.0.0.1 for all of
        them."""
        lines = []
        for line in self.config(daemon).read_text().splitlines():
            key = line.partition(" = ")[0].strip()
            owner = daemon if key == "peer_listen" else key
            number = 254 if owner == "gateway" else self.hosts.index(owner) + 1 if owner in self.hosts else None
            lines.append(line if number is None else line.replace("127.0.0.1:", f"{self._net}.{number}:"))
        self.config(daemon).write_text("\n".join(lines) + "\n")


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*argv: str) -> None:
    subprocess.run(argv, capture_output=True, check=True)
