"""A TCP proxy that treats connections as bad networks do: it swallows what a server sends, and resets connections."""

import contextlib
import socket
import struct
import threading
from typing import Self
from urllib.parse import urlsplit

_CHUNK = 64 << 10
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER with a time of 0: close() resets the connection


class LossyProxy:
    """A proxy in front of one server. Clients connect to `url`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._server = (parts.hostname, parts.port)
        self._swallowing = threading.Event()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.token = ""  # the token of the server, kept here for tests that hand the proxy around
        self.swallowed = 0  # bytes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        self.reset()

    def swallow(self) -> None:
        """Drops the bytes that the server sends from now on, until reset(). The server notices nothing."""
        self._swallowing.set()

    def reset(self) -> None:
        """Resets all connections on both sides. New connections work as before."""
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for one in sockets:
            _reset(one)
        self._swallowing.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._server)
            except OSError:  # while the server restarts, a client must not be connected here either
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets += [client, server]
            threading.Thread(target=self._carry, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, from_server: bool) -> None:
        try:
            while chunk := source.recv(_CHUNK):
                if from_server and self._swallowing.is_set():
                    self.swallowed += len(chunk)
                else:
                    target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)
        except OSError:  # one side was reset (its program was killed, say), so the other side is too
            for one in (source, target):
                _reset(one)


def _reset(one: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is reset or closed already
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        one.shutdown(socket.SHUT_RD)  # wakes the thread that reads it
    one.close()
