"""Jupyter messages as the two WebSocket sub-protocols carry them.

Sources: jupyter_server's documentation of `v1.kernel.websocket.jupyter.org`, and what JupyterLab 4
sends for the older one, which has no name."""

import json
import struct
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

V1 = "v1.kernel.websocket.jupyter.org"


@dataclass
class Message:
    """One message of the Jupyter protocol."""

    channel: str
    header: dict[str, Any]
    parent_header: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    buffers: list[bytes] = field(default_factory=list)

    @property
    def type(self) -> str:
        return str(self.header["msg_type"])

    @property
    def id(self) -> str:
        return str(self.header["msg_id"])

    @property
    def parent(self) -> str | None:
        """The msg_id of the request that this belongs to."""
        return self.parent_header.get("msg_id")


def request(channel: str, kind: str, content: dict[str, Any], session: str) -> Message:
    """A new message from a client; `session` is the client's session_id."""
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": kind,
        "session": session,
        "username": "e2e",
        "date": datetime.now(UTC).isoformat(),
        "version": "5.4",
    }
    return Message(channel, header, content=content)


def encode_v1(message: Message) -> bytes:
    parts = [message.channel.encode()]
    parts += [
        json.dumps(part).encode() for part in (message.header, message.parent_header, message.metadata, message.content)
    ]
    parts += message.buffers
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


def decode_v1(frame: bytes) -> Message:
    (count,) = struct.unpack_from("<Q", frame)
    offsets = struct.unpack_from(f"<{count}Q", frame, 8)
    parts = [frame[start:end] for start, end in pairwise(offsets)]
    header, parent, metadata, content = (json.loads(part) for part in parts[1:5])
    return Message(parts[0].decode(), header, parent, metadata, content, list(parts[5:]))


def encode_legacy(message: Message) -> str | bytes:
    text = json.dumps(
        {
            "channel": message.channel,
            "header": message.header,
            "parent_header": message.parent_header,
            "metadata": message.metadata,
            "content": message.content,
        }
    )
    if not message.buffers:
        return text
    parts = [text.encode(), *message.buffers]
    offsets = [4 * (len(parts) + 1)]
    for part in parts[:-1]:
        offsets.append(offsets[-1] + len(part))
    return struct.pack(f">{len(parts) + 1}I", len(parts), *offsets) + b"".join(parts)


def decode_legacy(frame: str | bytes) -> Message:
    buffers: list[bytes] = []
    text: str | bytes = frame
    if isinstance(frame, bytes):
        (count,) = struct.unpack_from(">I", frame)
        offsets = [*struct.unpack_from(f">{count}I", frame, 4), len(frame)]
        parts = [frame[start:end] for start, end in pairwise(offsets)]
        text, buffers = parts[0], list(parts[1:])
    fields = json.loads(text)
    return Message(
        fields["channel"],
        fields["header"],
        fields["parent_header"],
        fields["metadata"],
        fields["content"],
        buffers,
    )
