"""The companion's connections to the gateway."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

from tornado.httpclient import HTTPClientError, HTTPRequest, HTTPResponse
from tornado.simple_httpclient import SimpleAsyncHTTPClient
from tornado.websocket import WebSocketClientConnection, websocket_connect

# The most bytes of one message or answer. It is so large that only the gateway's own limits count.
SIZE_MAX = 1 << 40
_CONNECT_S = 10.0
# How long a page that opens a WebSocket waits for a gateway that is being restarted. JupyterLab tries seven times.
_PATIENCE_S = 30.0
_PAUSE_S = 0.2


# A gateway whose machine is gone, or to which the network drops everything, closes no connection. TCP keepalive asks
# the machine and not the gateway, because the gateway may have to wait for a slow page.
_ASK_AFTER_S = 10
_SILENT_MAX_S = 60


class Unreachable(Exception):
    """Nobody answers at the gateway's address. The text is for the user."""


class Upstream:
    """Knows the gateway's address and how to sign in. `client` is jupyter_server's GatewayClient, configured."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._http: Any = SimpleAsyncHTTPClient(force_instance=True, max_clients=256, max_body_size=SIZE_MAX)

    async def request(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str],
        *,
        on_header: Callable[[str], None] | None = None,
        on_chunk: Callable[[bytes], None] | None = None,
    ) -> HTTPResponse:
        """Send a request and return the answer, whatever its status. Raises Unreachable.

        target: path and query.
        on_header, on_chunk: called with the answer as it comes; its body is then empty.
        """
        request = HTTPRequest(
            self._client.url.rstrip("/") + target,
            **self._arguments(headers),
            method=method,
            body=body,
            allow_nonstandard_methods=True,
            follow_redirects=False,
            header_callback=on_header,
            streaming_callback=on_chunk,
        )
        try:
            response: HTTPResponse = await self._http.fetch(request, raise_error=False)
        except OSError as error:
            raise self._unreachable(error) from error
        if response.code == 599:  # tornado uses this status when there was no answer.
            raise self._unreachable(response.error or "no answer")
        return response

    async def channels(self, target: str, protocols: list[str]) -> WebSocketClientConnection:
        """Open a WebSocket, and wait for a gateway that is being started. Raises Unreachable, and HTTPClientError when
        the gateway refuses.
        """
        url = self._client.ws_url.rstrip("/") + target
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                channels = await websocket_connect(
                    HTTPRequest(url, **self._arguments({})), subprotocols=protocols, max_message_size=SIZE_MAX
                )
            except HTTPClientError as error:
                if error.code != 599:
                    raise
                reason: object = error
            except OSError as error:
                reason = error
            else:
                # Send small messages at once, without waiting for acknowledgements of those before them.
                channels.protocol.set_nodelay(True)  # type: ignore[union-attr]
                _end_when_silent(channels.protocol.stream.socket)  # type: ignore[union-attr]
                return channels
            if time.monotonic() > deadline:
                raise self._unreachable(reason)
            await asyncio.sleep(_PAUSE_S)

    def _arguments(self, headers: dict[str, str]) -> dict[str, Any]:
        """Arguments of HTTPRequest: how to sign in, certificates, timeouts."""
        arguments: dict[str, Any] = self._client.load_connection_args(headers=dict(headers))
        # A move or an export may take any time.
        return arguments | {"connect_timeout": _CONNECT_S, "request_timeout": 0}

    def _unreachable(self, reason: object) -> Unreachable:
        return Unreachable(
            f"The Banyan gateway at {self._client.url} does not answer ({reason}). Notebooks and their variables are "
            "safe; start the gateway again, or correct JUPYTER_GATEWAY_URL."
        )


def _end_when_silent(connection: socket.socket | None) -> None:
    """Let the connection end with an error when the other side's machine does not answer for a minute."""
    if connection is None:  # The connection has ended already.
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", _ASK_AFTER_S),
        ("TCP_KEEPINTVL", _ASK_AFTER_S),
        ("TCP_KEEPCNT", _SILENT_MAX_S // _ASK_AFTER_S),
        ("TCP_USER_TIMEOUT", _SILENT_MAX_S * 1000),  # In milliseconds, for the case that data is on its way.
    ):
        if hasattr(socket, option):  # Not every system has these options.
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
