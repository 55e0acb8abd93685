"""The WebSocket of a page, and its twin: a WebSocket of the gateway that carries the same messages."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.httpclient import HTTPClientError
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, WebSocketHandler

from banyan_server.rest import Discreet, may, target_of
from banyan_server.upstream import SIZE_MAX, Unreachable, Upstream

_V1 = "v1.kernel.websocket.jupyter.org"
# With this query, a client tells the gateway that it confirms messages by itself, with _CONFIRMED. The gateway's own
# pings would be answered by this server's WebSocket library, and so confirm what no page has received.
_UNASKED = ("confirmations", "unasked")
_CONFIRMED = b"confirmed %d"
# How long to wait before a page is asked what it has received, so that many messages need one question. No
# message waits for it.
_ASK_AFTER_S = 0.01
_SERVICE_RESTART = 1012  # A close code in the registry of RFC 6455. It tells the client that it may try again.


class ChannelsHandler(Discreet, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """`/api/kernels/ID/channels`. Both sockets use the same sub-protocol, so that frames pass without being read."""

    auth_resource = "kernels"
    _twin: WebSocketClientConnection | None = None
    _passing: asyncio.Task[None] | None = None
    _protocol: str | None = None
    _passed = 0  # How many messages were written to the page.
    _confirmed = 0  # How many of them the page has received.
    _asked = 0  # How many messages the ping that is on its way asks about. 0: no ping is on its way.
    _asking: asyncio.TimerHandle | None = None

    def initialize(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def set_default_headers(self) -> None:
        """Set none: the headers of other answers to a page make no sense for a WebSocket."""

    def get_compression_options(self) -> dict[str, Any] | None:
        """None, unless the server's administrator has asked for compression, which costs time."""
        options: dict[str, Any] | None = self.settings.get("websocket_compression_options")
        return options

    @property
    def max_message_size(self) -> int:
        return SIZE_MAX

    @ws_authenticated
    async def get(self, *_arguments: str) -> None:
        if not await may(self, "execute", "kernels"):
            raise web.HTTPError(403)
        offered = self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        self._protocol = _V1 if _V1 in (name.strip() for name in offered) else None
        # tornado checks it again, but nobody should be able to make this server connect to the gateway in vain.
        if not self.check_origin():
            raise web.HTTPError(403)
        try:
            self._twin = await self._upstream.channels(self._target(), [self._protocol] if self._protocol else [])
        except Unreachable as error:
            raise web.HTTPError(503, str(error)) from error
        except HTTPClientError as error:
            raise web.HTTPError(error.code, error.message) from error
        await super().get()
        if self.ws_connection is None:  # There was no handshake, because the request was none for a WebSocket.
            self._twin.close()

    def _target(self) -> str:
        return target_of(self, without=_UNASKED[0], adding=_UNASKED)

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        return self._protocol if self._protocol in subprotocols else None

    def open(self, *_arguments: str) -> None:
        super().open()
        self.set_nodelay(True)
        self._passing = asyncio.create_task(self._pass_back())

    async def on_message(self, message: str | bytes) -> None:
        """Pass a message on. The next one is read once this one has been written."""
        assert self._twin is not None
        try:
            await self._twin.write_message(message, binary=isinstance(message, bytes))
        except WebSocketClosedError:
            self._end()

    def on_close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        if self._twin is not None:
            self._twin.close()

    async def _pass_back(self) -> None:
        assert self._twin is not None
        with contextlib.suppress(WebSocketClosedError):  # The page has closed its WebSocket.
            while (message := await self._twin.read_message()) is not None:
                await self.write_message(message, binary=isinstance(message, bytes))
                self._passed += 1
                self._ask_soon()
        self._end()

    def _ask_soon(self) -> None:
        if self._asking is None and not self._asked and self._confirmed < self._passed:
            self._asking = asyncio.get_running_loop().call_later(_ASK_AFTER_S, self._ask)

    def _ask(self) -> None:
        """Ping the page. Whoever answers a ping has read all that was sent before; browsers answer by themselves."""
        self._asking = None
        self._asked = self._passed
        ping(self, b"%d" % self._asked)

    def on_pong(self, data: bytes) -> None:
        super().on_pong(data)
        if data.isdigit() and self._confirmed < (messages := int(data)) <= self._passed:
            self._confirmed = messages
            if self._twin is not None:
                ping(self._twin, _CONFIRMED % messages)
        # The answer to a keepalive ping also answers all pings before it.
        self._asked = 0
        self._ask_soon()

    def _end(self) -> None:
        """Close the page's WebSocket: the gateway sends what was missed only on a new connection."""
        code = self._twin.close_code if self._twin is not None else None
        self.close(code if code is not None and code not in (1005, 1006) else _SERVICE_RESTART)


def ping(socket: WebSocketHandler | WebSocketClientConnection, data: bytes) -> None:
    """Ping, unless the connection is gone. Whoever waits for a message from there is told of that.

    A connection that broke just now raises what the stream raises, not what the WebSocket does. From a callback of
    tornado's, that would break the other connection too, with no close code to say why."""
    with contextlib.suppress(WebSocketClosedError, StreamClosedError):
        socket.ping(data)
