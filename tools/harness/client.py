"""A client of the gateway: REST calls, and a WebSocket for each session."""

import json
import socket
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import requests
import websocket

from harness import wire
from harness.wire import V1, Message

_TIMEOUT_S = 60.0


class Gateway:
    """Makes REST calls with the token, over an HTTP connection of its own (`http`)."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.http = requests.Session()
        self.http.headers["Authorization"] = f"token {token}"

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        options.setdefault("timeout", _TIMEOUT_S)
        return self.http.request(method, self.url + path, **options)

    def get(self, path: str) -> Any:
        response = self.call("GET", path)
        response.raise_for_status()
        return response.json()

    def start_kernel(self, **body: Any) -> str:
        """Starts a kernel and returns its id."""
        response = self.call("POST", "/api/kernels", json=body)
        assert response.status_code == 201, f"{response.status_code}: {response.text}"
        return str(response.json()["id"])

    def delete_kernel(self, kernel: str) -> None:
        self.call("DELETE", f"/api/kernels/{kernel}")

    def session(self, kernel: str) -> dict[str, Any]:
        """What the operator sees of a session: replicas, executor, newest commit."""
        return next(dict(row) for row in self.get("/api/banyan/sessions") if row["id"] == kernel)

    def executor(self, kernel: str) -> str:
        """The host that runs the session's cells."""
        host = self.session(kernel)["executor"]
        assert host, f"session {kernel} has no executor"
        return str(host)

    def worker_pid(self, kernel: str, host: str | None = None) -> int:
        """The process of the session's worker on `host`, or on the executor's host; waits until there is one."""

        def pid() -> int:
            session = self.session(kernel)
            wanted = host or session["executor"]
            return next((int(row["pid"]) for row in session["replicas"] if row["host"] == wanted), 0)

        return int(wait_until(pid, f"session {kernel} has a worker"))

    def ask_history(self, kernel: str, question: dict[str, Any] | str) -> requests.Response:
        """Asks a question about a session's history. A `question` that is a string is sent as it is."""
        body = question if isinstance(question, str) else json.dumps(question)
        return self.call("POST", f"/api/banyan/sessions/{kernel}/history", data=body)

    def hosts_up(self) -> set[str]:
        return {row["host"] for row in self.get("/api/banyan/hosts") if row["up"]}


def wait_until(condition: Callable[[], Any], what: str, timeout: float = 30.0, pause: float = 0.05) -> Any:
    """Waits for a true value of `condition` and returns it. Fails with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        if value := condition():
            return value
        assert time.monotonic() < deadline, f"not within {timeout:.0f} s: {what}"
        time.sleep(pause)


@dataclass
class Cell:
    """Everything that a client received for one execute_request."""

    reply: dict[str, Any]
    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> str:
        return str(self.reply["status"])

    def stream(self, name: str) -> str:
        return "".join(m.content["text"] for m in self.messages if m.type == "stream" and m.content["name"] == name)

    @property
    def stdout(self) -> str:
        return self.stream("stdout")

    @property
    def stderr(self) -> str:
        return self.stream("stderr")

    @property
    def result(self) -> str | None:
        """The text/plain of the value of the last expression; None when there is none."""
        for message in self.messages:
            if message.type == "execute_result":
                return str(message.content["data"]["text/plain"])
        return None

    @property
    def shown(self) -> str:
        """The text/plain of the displays that stay: the progress bar of a restore, for example, is cleared at its
        end."""
        texts: list[str] = []
        for message in self.messages:
            if message.type == "clear_output":
                texts.clear()
            elif message.type == "display_data":
                texts.append(str(message.content["data"]["text/plain"]))
        return "\n".join(texts)

    def of_type(self, kind: str) -> list[Message]:
        return [message for message in self.messages if message.type == kind]

    @property
    def states(self) -> list[str]:
        return [message.content["execution_state"] for message in self.of_type("status")]


class Connection:
    """A WebSocket on the channels of a kernel, with one session_id."""

    def __init__(
        self,
        gateway: Gateway,
        kernel: str,
        *,
        session_id: str | None = None,
        protocol: str | None = V1,
        small_window: bool = False,
        drops_repeats: bool = False,
    ) -> None:
        """`protocol`: None speaks the older sub-protocol. `small_window` asks for a receive buffer of a few KB.
        `drops_repeats` tells the gateway that this client drops repeated messages; the caller must do that."""
        self.gateway = gateway
        self.kernel = kernel
        self.session_id = session_id or uuid.uuid4().hex
        self.protocol = protocol
        self.drops_repeats = drops_repeats
        self.inbox: list[Message] = []
        options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        if small_window:
            options.append((socket.SOL_SOCKET, socket.SO_RCVBUF, 8192))
        self.socket = websocket.create_connection(
            f"{gateway.url.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels"
            f"?session_id={self.session_id}{'&repeats=dropped' if drops_repeats else ''}",
            header=[f"Authorization: token {gateway.token}"],
            subprotocols=[protocol] if protocol else None,
            timeout=_TIMEOUT_S,
            sockopt=options,
            skip_utf8_validation=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close(timeout=1)

    def cut(self) -> None:
        """Drops the TCP connection without closing the WebSocket, as a lost network does."""
        assert self.socket.sock is not None
        self.socket.sock.close()

    def reconnect(self) -> "Connection":
        """A new connection with the same session_id, as a client makes after it lost one."""
        return Connection(
            self.gateway,
            self.kernel,
            session_id=self.session_id,
            protocol=self.protocol,
            drops_repeats=self.drops_repeats,
        )

    def send(
        self,
        channel: str,
        kind: str,
        content: dict[str, Any],
        *,
        buffers: Sequence[bytes] = (),
        parent: Message | None = None,
        subshell: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Sends a message and returns its msg_id."""
        message = wire.request(channel, kind, content, self.session_id)
        message.metadata = metadata or {}
        if subshell is not None:
            message.header["subshell_id"] = subshell
        message.buffers = list(buffers)
        if parent is not None:
            message.parent_header = parent.header
        if self.protocol:
            self.socket.send_binary(wire.encode_v1(message))
        else:
            frame = wire.encode_legacy(message)
            self.socket.send(frame) if isinstance(frame, str) else self.socket.send_binary(frame)
        return message.id

    def receive(self, timeout: float = _TIMEOUT_S) -> Message:
        """Waits for the next message; `inbox` keeps it too."""
        self.socket.settimeout(timeout)
        opcode, data = self.socket.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            code = int.from_bytes(data[:2], "big")
            raise ConnectionError(f"the gateway closed the WebSocket: {code} {data[2:].decode()}")
        if self.protocol:
            message = wire.decode_v1(data)
        else:
            message = wire.decode_legacy(data.decode() if opcode == websocket.ABNF.OPCODE_TEXT else data)
        self.inbox.append(message)
        return message

    def wait_for(self, condition: Callable[[Message], bool], timeout: float = _TIMEOUT_S) -> Message:
        """The first message that meets the condition, among those received so far and those that come next."""
        for message in self.inbox:
            if condition(message):
                return message
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no such message within {timeout:.0f} s")
            message = self.receive(left)
            if condition(message):
                return message

    def ask(self, channel: str, kind: str, content: dict[str, Any], timeout: float = _TIMEOUT_S) -> dict[str, Any]:
        """Sends a request and returns the content of its reply."""
        request = self.send(channel, kind, content)
        return self.wait_for(lambda m: m.parent == request and m.type.endswith("_reply"), timeout).content

    def start(
        self,
        code: str,
        *,
        stdin: bool = False,
        tags: Sequence[str] = (),
        cell_id: str = "",
        more_metadata: Mapping[str, Any] | None = None,
        **content: Any,
    ) -> str:
        """Sends a cell and returns its msg_id. `tags` and `cell_id` are those of the cell, as JupyterLab sends them."""
        metadata: dict[str, Any] = {**({"tags": list(tags)} if tags else {}), **(more_metadata or {})}
        if cell_id:
            metadata["cellId"] = cell_id
        return self.send(
            "shell",
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": stdin,
                "stop_on_error": True,
                **content,
            },
            metadata=metadata,
        )

    def finish(self, cell: str, timeout: float = _TIMEOUT_S) -> Cell:
        """Waits for the cell's reply and its idle status."""
        deadline = time.monotonic() + timeout
        reply = self.wait_for(lambda m: m.parent == cell and m.type == "execute_reply", timeout)
        self.wait_for(
            lambda m: m.parent == cell and m.type == "status" and m.content["execution_state"] == "idle",
            max(0.001, deadline - time.monotonic()),
        )
        outputs = [m for m in self.inbox if m.parent == cell and m.channel == "iopub"]
        self.inbox = [m for m in self.inbox if m.parent != cell]
        return Cell(reply.content, outputs)

    def run(self, code: str, *, timeout: float = _TIMEOUT_S, **content: Any) -> Cell:
        return self.finish(self.start(code, **content), timeout)
