"""The same cells in a session of a platform and on plain ipykernel: wall time, CPU time and memory of the process.

A cell's wall time runs from the send of execute_request to the arrival of its execute_reply. Its CPU time is that of
the whole kernel process, all threads, from before the request until its work after the reply is done.
"""

import contextlib
import queue
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from harness.client import Connection, Gateway
from jupyter_client.manager import KernelManager

TIMEOUT_S = 600.0
_REST_S = 0.01  # time in which a kernel finishes its work after a reply


@dataclass(frozen=True)
class Ran:
    """The result of cells that all ended well."""

    wall_ms: float
    cpu_ms: float
    result: str | None  # text/plain of the last cell's value


class CellFailed(Exception):
    """A cell of a bench raised; the text names the cell and the error."""


class Kernel(ABC):
    """A kernel process that cells are sent to, one after the other."""

    pid: int

    def run(self, *cells: str) -> Ran:
        """Runs cells one right after the other: times from the first request to the last reply. Raises CellFailed."""
        before = cpu_s(self.pid)
        start = time.perf_counter()
        for code in cells:
            end, result = self.run_untimed(code)
        time.sleep(_REST_S)
        return Ran((end - start) * 1000, (cpu_s(self.pid) - before) * 1000, result)

    def attempt(self, code: str, tags: Sequence[str] = ()) -> str | None:
        """Runs a cell that may fail; the error as "NAME: text"."""
        return self._execute(code, tags)[1]

    def run_untimed(self, code: str) -> tuple[float, str | None]:
        """Runs a cell and returns the time of its reply (perf_counter) and its result. Raises CellFailed."""
        end, error, result = self._execute(code)
        if error:
            raise CellFailed(f"{type(self).__name__}: {error}\n{code}")
        return end, result

    @abstractmethod
    def _execute(self, code: str, tags: Sequence[str] = ()) -> tuple[float, str | None, str | None]:
        """Runs a cell and returns the time of its reply (perf_counter), the error if there was one, and the result."""

    @abstractmethod
    def evaluate(self, expression: str) -> str:
        """The repr of an expression's value; no cell names the expression's variables. Raises CellFailed."""

    @abstractmethod
    def close(self) -> None:
        """Ends the process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Plain(Kernel):
    """An ipykernel without Banyan, set up as a platform's worker is: Unix sockets, its history of inputs in memory."""

    def __init__(self, env: dict[str, str] | None = None) -> None:
        """`env`: the environment of the process; None: that of this process."""
        self._sockets = tempfile.TemporaryDirectory()
        self._manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/kernel")
        more = {} if env is None else {"env": env}
        self._manager.start_kernel(extra_arguments=["--HistoryManager.hist_file=:memory:"], **more)
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=TIMEOUT_S)
        self.pid = self._manager.provisioner.pid

    def _execute(self, code: str, tags: Sequence[str] = ()) -> tuple[float, str | None, str | None]:
        cell = self._client.execute(code)
        while (reply := self._next(self._client.get_shell_msg))["parent_header"].get("msg_id") != cell:
            pass
        end = time.perf_counter()
        result = None
        while True:
            message = self._next(self._client.get_iopub_msg)
            if message["parent_header"].get("msg_id") != cell:
                continue
            if message["msg_type"] == "execute_result":
                result = str(message["content"]["data"]["text/plain"])
            if message["content"].get("execution_state") == "idle":
                break
        return end, _error(reply["content"]), result

    def evaluate(self, expression: str) -> str:
        """The repr of an expression, evaluated without a trace in the history. Raises CellFailed."""
        cell = self._client.execute("pass", silent=True, user_expressions={"it": expression})
        while (reply := self._next(self._client.get_shell_msg))["parent_header"].get("msg_id") != cell:
            pass
        return _evaluated(reply["content"])

    def _next(self, get: Callable[..., dict[str, Any]]) -> dict[str, Any]:
        """The next message of a channel. Raises CellFailed when the process has ended."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                return get(timeout=1.0)
            if not self._manager.is_alive():
                raise CellFailed("the kernel's process has ended")
        raise CellFailed(f"no answer within {TIMEOUT_S:.0f} s")

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._sockets.cleanup()


class Session(Kernel):
    """A session of a platform, through a WebSocket of its gateway."""

    def __init__(self, gateway: Gateway, kernel: str | None = None) -> None:
        """`kernel`: an existing kernel; None makes a new one."""
        self.gateway = gateway
        self.id = kernel or gateway.start_kernel(name="python3")
        self.connection = Connection(gateway, self.id)
        self.pid = gateway.worker_pid(self.id)

    def _execute(self, code: str, tags: Sequence[str] = ()) -> tuple[float, str | None, str | None]:
        cell = self.connection.start(code, tags=tags)
        self.connection.wait_for(lambda m: m.type == "execute_reply" and m.parent == cell, TIMEOUT_S)
        end = time.perf_counter()
        ended = self.connection.finish(cell, TIMEOUT_S)
        return end, _error(ended.reply), ended.result

    def evaluate(self, expression: str) -> str:
        """The repr of an expression, whose variables no cell names. Raises CellFailed."""
        return _evaluated(self.connection.run("pass", timeout=TIMEOUT_S, user_expressions={"it": expression}).reply)

    def value_bytes(self) -> int:
        """Bytes of all values that the session's commits hold, as its history counts them."""
        answer = self.gateway.ask_history(self.id, {"do": "state"})
        answer.raise_for_status()
        return int(answer.json()["bytes"])

    def close(self) -> None:
        self.connection.close()
        self.gateway.delete_kernel(self.id)


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far, in nanoseconds' resolution: its CPU clock (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def peak_mb(pid: int) -> float:
    """The highest resident memory since the process began or since forget_peak."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _evaluated(reply: dict[str, Any]) -> str:
    """The result of the user expression "it"."""
    if reply["status"] != "ok":
        raise CellFailed(str(_error(reply)))
    it = reply["user_expressions"]["it"]
    if it["status"] != "ok":
        raise CellFailed(str(_error(it)))
    return str(it["data"]["text/plain"])


def _error(reply: dict[str, object]) -> str | None:
    return None if reply["status"] == "ok" else f"{reply.get('ename')}: {reply.get('evalue')}"
