"""Frames of the state channel and of the zygote's control socket (docs/internals/worker.md).

`Channel` sends and receives them, `Blobs` collects the bytes of one to be sent, and `Message` is one that came.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from banyan import _native
from banyan.process import json_text

if TYPE_CHECKING:
    from typing_extensions import Buffer

PROTOCOL = 1  # To be raised when host agents and workers of different versions can no longer talk.
_HEADER = struct.Struct("<IIQ")
_FDS_MAX = 4
_JSON_MAX = 256 << 20
MEMFD_BLOB_MIN = 64 * 1024
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE


class ChannelClosed(Exception):
    """The other end of the channel is closed."""


class ChannelError(Exception):
    """The other end broke the protocol."""


@dataclass(slots=True)
class Message:
    """A frame that was received. Its file descriptors belong to the caller, except for the memfd."""

    body: dict[str, Any]
    fds: list[int]
    _payload: bytearray
    _memfd: _native.Mapping | None

    def blob(self, reference: Mapping[str, Any]) -> Buffer:
        """The bytes that a BLOB in the body refers to: writable, and private to the receiver."""
        where, at, size = reference.get("in"), reference.get("at"), reference.get("size")
        if not isinstance(at, int) or not isinstance(size, int) or at < 0 or size < 0:
            raise ChannelError(f"not a blob: {reference!r}")
        if where == "payload" and at + size <= len(self._payload):
            return self._payload[at : at + size]
        if where == "memfd" and self._memfd is not None and at + size <= len(self._memfd):
            return memoryview(self._memfd.slice(at, size))
        raise ChannelError(f"a blob lies outside its frame: {reference!r}")

    def joined(self, references: Sequence[Mapping[str, Any]]) -> Buffer | None:
        """The bytes of BLOBs that follow each other in the memfd, without a copy. None for any others."""
        end = references[0].get("at")
        for reference in references:
            if reference.get("in") != "memfd" or reference.get("at") != end or not isinstance(end, int):
                return None
            end += reference["size"]
        first = references[0]["at"]
        return self.blob({"in": "memfd", "at": first, "size": end - first})


@dataclass(slots=True)
class Blobs:
    """The blobs of a frame to be sent. Nothing is copied: the buffers must stay unchanged until
    `Channel.send` returns.
    """

    payload: list[memoryview] = field(default_factory=list)
    memfd: list[memoryview] = field(default_factory=list)
    spool: _native.Spool = field(default_factory=_native.Spool)  # The memfd, in which some blobs may lie already.
    _payload_end: int = 0
    _memfd_end: int = field(init=False)
    _needs_memfd: bool = False

    def __post_init__(self) -> None:
        self._memfd_end = self.spool.end

    def add(self, data: Buffer) -> dict[str, Any]:
        view = memoryview(data).cast("B")
        size = view.nbytes
        if size < MEMFD_BLOB_MIN:
            at = self._payload_end
            self.payload.append(view)
            self._payload_end += size
            return {"in": "payload", "at": at, "size": size}
        at = self._memfd_end
        self._needs_memfd = True
        self.memfd.append(view)
        self._memfd_end += -(-size // _native.BLOB_ALIGNMENT) * _native.BLOB_ALIGNMENT
        return {"in": "memfd", "at": at, "size": size}

    def add_spooled(self, at: int, size: int) -> dict[str, Any]:
        """Refer to bytes that are in the spool already. at: their offset."""
        self._needs_memfd = True
        return {"in": "memfd", "at": at, "size": size}

    def seal(self) -> int | None:
        """The memfd, which the caller has to close; None when no blob needs one. Call it once."""
        if not self._needs_memfd:
            return None
        self.spool.add(self.memfd)
        return self.spool.seal()


def _map(fd: int) -> _native.Mapping:
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    if seals & _SEALS != _SEALS:
        os.close(fd)
        raise ChannelError("a memfd is not sealed: its sender could change it under the reader")
    return _native.Mapping(fd)


class Channel:
    """One end of a Unix stream socket that carries frames. Calls block; use it from one thread."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(True)
        self._socket = end

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, body: Mapping[str, Any], blobs: Blobs | None = None, fds: Sequence[int] = ()) -> None:
        """Send one frame. `fds` go with its first byte; the caller keeps and closes them. Raises ChannelClosed."""
        blobs = blobs or Blobs()
        memfd = blobs.seal()
        if memfd is None:
            self._send(body, blobs.payload, fds)
            return
        try:
            self._send({**body, "memfd": True}, blobs.payload, [memfd])
        finally:
            os.close(memfd)

    def _send(self, body: Mapping[str, Any], payload: Sequence[memoryview], fds: Sequence[int]) -> None:
        text = json_text.encode(body).encode(errors="replace")
        header = _HEADER.pack(len(text), 0, sum(part.nbytes for part in payload))
        parts = [memoryview(header + text), *payload]
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            while parts:
                sent = self._socket.sendmsg(parts[:512], ancillary)
                ancillary = []
                while parts and sent >= parts[0].nbytes:
                    sent -= parts.pop(0).nbytes
                if sent:
                    parts[0] = parts[0][sent:]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChannelClosed from error

    def receive(self) -> Message:
        """Wait for the next frame. Raises ChannelClosed at the end of the stream, also in the middle of a frame."""
        header, fds = self._receive_start()
        json_size, _, payload_size = _HEADER.unpack(header)
        if json_size > _JSON_MAX:
            raise ChannelError(f"a frame claims {json_size} bytes of JSON")
        text = self._receive_exactly(bytearray(json_size))
        try:
            body = json_text.decode(text.decode())
        except ValueError as error:
            raise ChannelError(f"a frame has no JSON: {error}") from error
        if not isinstance(body, dict):
            raise ChannelError("a frame's JSON is no object")
        payload = self._receive_exactly(bytearray(payload_size))
        memfd = None
        if body.get("memfd"):
            if not fds:
                raise ChannelError("a frame names a memfd and brings none")
            memfd = _map(fds.pop(0))
        return Message(body, fds, payload, memfd)

    def _receive_start(self) -> tuple[bytearray, list[int]]:
        space = socket.CMSG_SPACE(_FDS_MAX * array.array("i").itemsize)
        header = bytearray(_HEADER.size)
        try:
            got, ancillary, _, _ = self._socket.recvmsg_into([header], space, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError as error:
            raise ChannelClosed from error
        if got == 0:
            raise ChannelClosed
        fds = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        self._receive_exactly(header, got)
        return header, list(fds)

    def _receive_exactly(self, data: bytearray, got: int = 0) -> bytearray:
        view = memoryview(data)
        while got < len(data):
            try:
                count = self._socket.recv_into(view[got:])
            except ConnectionResetError as error:
                raise ChannelClosed from error
            if count == 0:
                raise ChannelClosed
            got += count
        return data
