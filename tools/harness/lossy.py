"""A TCP proxy that does to connections what bad networks do: it swallows what a server sends, and resets."""

import contextlib
import socket
import struct
import threading
from typing import Self
from urllib.parse import urlsplit

_CHUNK = 64 << 10
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER without time: close() resets


class LossyProxy:
    """In front of one server. `url` is its address for clients."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._server = (parts.hostname, parts.port)
        self._swallowing = threading.Event()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.token = ""  # by which clients come in, for those that share this object
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
        """From now on the server's bytes vanish, until the connections are reset; the server notices nothing."""
        self._swallowing.set()

    def reset(self) -> None:
        """Ends all connections with no farewell, on both sides. New ones work."""
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
            except OSError:  # it starts again: a client finds a closed door here as well
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
        except OSError:  # one side was reset, as by a program that is killed: so is the other
            for one in (source, target):
                _reset(one)


def _reset(one: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is reset or closed already
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        one.shutdown(socket.SHUT_RD)  # wakes the thread that reads it
    one.close()
