"""A host agent in miniature: starts the real zygote, speaks the state channel, is a Jupyter client of each worker."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from turns import share

from banyan import _native
from banyan.worker.channel import Blobs, Channel, ChannelClosed, Message

PACKAGE = Path(__file__).parent.parent
TIMEOUT_S = 20.0
IDLE = {"execution_state": "idle"}
SESSION = "1d5b9b0a-0c29-4d7c-9a4f-2f3a5b6f4a11"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "by_turns: each test in one of the Pythons that are tried, where there are several"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    by_turns = [item for item in items if item.get_closest_marker("by_turns")]
    others = set(by_turns) - set(share(by_turns))
    config.hook.pytest_deselected(items=[item for item in items if item in others])
    items[:] = [item for item in items if item not in others]


def receive(channel: Channel, kind: str, timeout_s: float = TIMEOUT_S) -> Message:
    """The next frame, which must be of this type."""
    ready, _, _ = select.select([channel], [], [], timeout_s)
    assert ready, f"no {kind} within {timeout_s} s"
    message = channel.receive()
    assert message.body["type"] == kind, message.body
    return message


@dataclass
class Lease:
    """A lease page, as the host agent shares it."""

    fd: int

    def set(self, seconds_from_now: float | None) -> None:
        deadline = (
            0 if seconds_from_now is None else time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds_from_now * 1e9)
        )
        os.pwrite(self.fd, deadline.to_bytes(8, sys.byteorder), 0)


@dataclass
class Cell:
    """What a cell did: its reply, its output and its report (None when it was refused)."""

    reply: dict[str, Any]
    report: Message | None
    output: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)  # Of the reply.

    @property
    def stdout(self) -> str:
        return self._stream("stdout")

    @property
    def stderr(self) -> str:
        return self._stream("stderr")

    @property
    def result(self) -> str | None:
        """The repr of the cell's value on one line."""
        texts = (content["data"]["text/plain"] for kind, content in self.output if kind == "execute_result")
        return next((" ".join(text.split()) for text in texts), None)

    @property
    def error(self) -> str | None:
        return f"{self.reply['ename']}: {self.reply['evalue']}" if self.reply["status"] == "error" else None

    @property
    def body(self) -> dict[str, Any]:
        assert self.report is not None
        return self.report.body

    @property
    def changed(self) -> list[list[str]]:
        """Without what it has shown."""
        return sorted(names for covariable in self.body["changed"] if (names := covariable["names"]) != ["<Out>"])

    @property
    def failed(self) -> list[str]:
        return [failure["name"] for failure in self.body["failed"]]

    def _stream(self, name: str) -> str:
        return "".join(c["text"] for kind, c in self.output if kind == "stream" and c["name"] == name)


class Worker:
    """One spawned worker, its state channel and a client of its kernel."""

    def __init__(self, number: int, pid: int, channel: Channel, lease: Lease, connection_file: Path) -> None:
        self.number = number
        self.pid = pid
        self.channel = channel
        self.lease = lease
        self.hello = receive(channel, "hello").body
        self.client = BlockingKernelClient(connection_file=str(connection_file))
        self.client.load_connection_file()
        self.client.start_channels()
        self._wait_for_iopub()
        self._commit = 0

    def _wait_for_iopub(self) -> None:
        """Ask until an answer is seen on iopub too: its subscription takes effect at a time of its own."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            request = self.client.kernel_info()
            self.client.get_shell_msg(timeout=TIMEOUT_S)
            with contextlib.suppress(queue.Empty):
                while True:
                    message = self.client.get_iopub_msg(timeout=0.05)
                    if message["parent_header"].get("msg_id") == request and message["content"] == IDLE:
                        return
        raise TimeoutError("iopub")

    def start(self, code: str, **options: Any) -> str:
        """Send an execute_request and wait for its fence; the message id."""
        execution = self.client.execute(code, **options)
        assert receive(self.channel, "fence").body["execution"] == execution
        return execution

    def go(self, execution: str, devices: Sequence[str] = ()) -> None:
        self.channel.send({"type": "go", "execution": execution, "devices": list(devices)})

    def run(self, code: str, allow_error: bool = False, **options: Any) -> Cell:
        """Run a cell, from its fence to its reply."""
        execution = self.start(code, **options)
        self.go(execution)
        cell = self.finish(execution)
        assert allow_error or cell.error is None, cell.reply
        return cell

    def finish(self, execution: str, timeout_s: float = TIMEOUT_S) -> Cell:
        report = receive(self.channel, "report", timeout_s)
        assert report.body["execution"] == execution
        return self.outcome(execution, report)

    def outcome(self, execution: str, report: Message | None = None) -> Cell:
        """The reply and the output of a request."""
        cell = Cell({}, report)
        while True:
            message = self.client.get_iopub_msg(timeout=TIMEOUT_S)
            if message["parent_header"].get("msg_id") != execution:
                continue
            content = message["content"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                break
            cell.output.append((message["msg_type"], content))
        while True:
            reply = self.client.get_shell_msg(timeout=TIMEOUT_S)
            if reply["parent_header"].get("msg_id") == execution:
                cell.reply, cell.metadata = reply["content"], reply["metadata"]
                return cell

    def value(self, expression: str) -> str:
        """The repr of an expression, by a cell."""
        result = self.run(expression).result
        assert result is not None
        return result

    def repeat(self, code: str) -> dict[str, Any]:
        """Have a cell run again; the frame that says what came of it."""
        self.channel.send({"type": "repeat", "commit": 1, "code": code, "fails": False, "makes": [], "wanted": []})
        return receive(self.channel, "repeated").body

    def apply(self, cell: Cell, code: str = "") -> list[dict[str, str]]:
        """Send what a cell of another worker reported as a commit; the names that failed."""
        blobs = Blobs()
        assert cell.report is not None
        copies = []  # keeps the buffers until they are sent

        def again(block: dict[str, Any]) -> dict[str, Any]:
            assert cell.report is not None
            if "known" in block:
                return block
            copies.append(memoryview(cell.report.blob(block)))
            digest = _native.memory_blocks(copies[-1])[0][0] if len(copies[-1]) <= 256 << 10 else ""
            return blobs.add(copies[-1]) | {"digest": digest}

        changed = [
            {**covariable, "parts": [[again(block) for block in part] for part in covariable["parts"]]}
            for covariable in cell.body["changed"]
        ]
        return self.follow(changed, cell.body["deleted"], cell.body["count"], code, blobs)

    def follow(
        self,
        changed: Sequence[dict[str, Any]] = (),
        deleted: Sequence[str] = (),
        count: int = 1,
        code: str = "",
        blobs: Blobs | None = None,
    ) -> list[dict[str, str]]:
        """Send a commit; the names that failed."""
        self._commit += 1
        body = {"type": "apply", "commit": self._commit, "count": count, "code": code}
        self.channel.send({**body, "changed": list(changed), "deleted": list(deleted)}, blobs)
        applied = receive(self.channel, "applied").body
        assert applied["commit"] == self._commit
        assert not applied["lacking"]
        return list(applied["failed"])


class Host:
    """Owns the zygote."""

    def __init__(self, folder: Path, preload: str) -> None:
        ours, theirs = socket.socketpair()
        self._folder = folder
        self._count = 0
        self.log = folder / "zygote.log"
        with self.log.open("w") as log:
            self.zygote = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "banyan.zygote",
                    "--control-fd",
                    str(theirs.fileno()),
                    "--preload",
                    preload,
                    "--import-ahead",
                    "wsgiref,json",
                ],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": str(PACKAGE), "IPYTHONDIR": str(folder / "ipython")},
                stderr=log,
            )
        theirs.close()
        self.control = Channel(ours)
        receive(self.control, "ready", timeout_s=120)  # a first import of libraries takes long

    def spawn(self, **env: str) -> Worker:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        connection = folder / "kernel.json"
        ports = {
            name: index + 1
            for index, name in enumerate(["shell_port", "iopub_port", "stdin_port", "control_port", "hb_port"])
        }
        wire = {"transport": "ipc", "ip": str(folder / "k"), "key": uuid.uuid4().hex, "signature_scheme": "hmac-sha256"}
        connection.write_text(json.dumps({**wire, **ports}))
        ours, theirs = socket.socketpair()
        lease = Lease(os.memfd_create("lease"))
        os.ftruncate(lease.fd, 4096)
        request = {
            "type": "spawn",
            "worker": self._count,
            "session_id": SESSION,
            "connection_file": str(connection),
            "cwd": str(folder),
        }
        log = str(folder / "worker.log")
        self.control.send({**request, "env": env, "log": log}, fds=[theirs.fileno(), lease.fd])
        theirs.close()
        pid = receive(self.control, "spawned").body["pid"]
        return Worker(self._count, pid, Channel(ours), lease, connection)

    def exited(self, worker: Worker, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
        body = receive(self.control, "exited", timeout_s).body
        assert (body["worker"], body["pid"]) == (worker.number, worker.pid)
        return body

    def retire(self, worker: Worker) -> None:
        """End a worker from outside and forget it."""
        worker.client.stop_channels()
        self.control.send({"type": "kill", "worker": worker.number})
        self.exited(worker)
        worker.channel.close()
        os.close(worker.lease.fd)

    def close(self) -> None:
        self.control.close()
        self.zygote.wait(TIMEOUT_S)


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    host = Host(tmp_path_factory.mktemp("host"), "numpy,pandas,matplotlib.pyplot")
    yield host
    host.close()


@pytest.fixture
def spawn(host: Host) -> Iterator[Callable[..., Worker]]:
    """Spawns workers that end with the test."""
    workers: list[Worker] = []

    def spawn_one(**env: str) -> Worker:
        workers.append(host.spawn(**env))
        return workers[-1]

    yield spawn_one
    for worker in workers:
        try:
            os.kill(worker.pid, 0)
        except ProcessLookupError:
            worker.client.stop_channels()
            continue
        host.retire(worker)


@pytest.fixture
def worker(spawn: Callable[..., Worker]) -> Worker:
    return spawn()


__all__ = ["Cell", "ChannelClosed", "Host", "Lease", "Worker", "receive"]
