"""Tests the proxy that treats connections as bad networks do."""

import socket
import struct

import pytest

from harness.lossy import LossyProxy


def test_a_reset_of_one_side_reaches_the_other() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        LossyProxy(f"http://127.0.0.1:{listener.getsockname()[1]}") as proxy,
    ):
        port = int(proxy.url.rpartition(":")[2])
        for client_resets in (False, True):
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            server, _ = listener.accept()
            server.settimeout(10)
            client.sendall(b"hello")
            assert server.recv(5) == b"hello"
            resets, notices = (client, server) if client_resets else (server, client)
            resets.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            resets.close()
            with notices, pytest.raises(ConnectionResetError):
                notices.recv(1)
