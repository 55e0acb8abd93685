"""Child processes: start, wait until ready, stop."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
_PR_SET_PDEATHSIG = 1


class UserError(Exception):
    """An error that the person at the keyboard can act on; it is printed without a traceback."""


def free_port(wanted: int | None, default: int | None = None) -> int:
    """The port `wanted`, which must be free. Without it: `default` or the next free port above; without both: any."""
    if wanted is not None:
        if not _is_free(wanted):
            raise UserError(f"port {wanted} is taken; choose another or see who has it: ss -ltnp 'sport = :{wanted}'")
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
    """A process in a session of its own. Its output goes to a log, and it ends when its owner ends."""

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

    def failure(self) -> UserError:
        """The error to show when the process has ended by itself."""
        tail = "\n".join("  " + line for line in self.log.read_text(errors="replace").splitlines()[-20:])
        return UserError(f"{self.name} ended with status {self.process.poll()}; its log is {self.log}\n{tail}")

    def wait_until(self, what: str, ready: Callable[[], bool]) -> None:
        """Returns as soon as `ready` is true. Stops a process that does not get ready, and raises the reason."""
        try:
            deadline = time.monotonic() + READY_TIMEOUT_S
            while not ready():
                if not self.running():
                    raise self.failure()
                if time.monotonic() > deadline:
                    raise UserError(f"{what} was not ready after {READY_TIMEOUT_S:.0f} s; its log is {self.log}")
                time.sleep(0.02)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Sends SIGTERM and, when that does not help, SIGKILL to the whole process group."""
        if self.running():
            self.process.terminate()
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
