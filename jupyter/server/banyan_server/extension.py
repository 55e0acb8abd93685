"""Takes over the paths of Jupyter Server that are about kernels, if a gateway is configured."""

from __future__ import annotations

from typing import Any

from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.utils import url_path_join

from banyan_server.channels import ChannelsHandler
from banyan_server.rest import HistoryHandler, KernelsHandler, KernelSpecHandler, ResourceHandler, SessionsHandler
from banyan_server.upstream import Upstream

# These come before the handlers of Jupyter Server, which answers whatever no pattern here matches.
_HANDLERS: list[tuple[str, type]] = [
    (r"/api/kernels/[^/]+/channels", ChannelsHandler),
    (r"/api/kernels(?:/.*)?", KernelsHandler),
    (r"/api/kernelspecs(?:/.*)?", KernelSpecHandler),
    (r"/kernelspecs/.+", ResourceHandler),
    (r"/api/sessions(?:/.*)?", SessionsHandler),
    (r"/api/banyan(?:/.*)?", HistoryHandler),
]


def load(server: Any) -> None:
    """Add the handlers. Jupyter Server calls it once, with its configuration read. Without a gateway's
    URL, nothing changes.
    """
    client: Any = GatewayClient.instance(parent=server)
    if not client.gateway_enabled:
        server.log.info(
            "banyan_server: no gateway is configured (JUPYTER_GATEWAY_URL or --gateway-url); "
            "kernels are this server's own"
        )
        return
    arguments = {"upstream": Upstream(client)}
    base = server.base_url
    server.web_app.add_handlers(
        ".*$", [(url_path_join(base, pattern), handler, arguments) for pattern, handler in _HANDLERS]
    )
    server.log.info(f"banyan_server: kernels are those of the gateway at {client.url}")
