"""The gateway client of jupyter_server, with a token on its WebSocket.

The stock GatewayKernelClient sends its token on REST calls only, so a gateway that asks for one answers its WebSocket
with 403. Tools that accept the class of a kernel manager (nbclient, nbconvert) can use this one.
"""

from functools import partial
from typing import Any
from unittest import mock

import websocket
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.gateway.managers import GatewayKernelClient, GatewayKernelManager


class TokenKernelClient(GatewayKernelClient):
    """Adds the Authorization header that the stock client leaves out."""

    async def start_channels(  # type: ignore[override]
        self, *args: Any, **kwargs: Any
    ) -> None:
        header = [f"Authorization: token {GatewayClient.instance().auth_token}"]
        connect = partial(websocket.create_connection, header=header)
        with mock.patch.object(websocket, "create_connection", connect):
            await super().start_channels(*args, **kwargs)


class TokenKernelManager(GatewayKernelManager):
    """Makes clients that send the token."""

    client_class = f"{__name__}.TokenKernelClient"
    client_factory = TokenKernelClient
