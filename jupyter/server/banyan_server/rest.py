"""Passes requests of REST on to the gateway, and its answers back."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.utils import ensure_async, url_path_join
from tornado import web
from tornado.httputil import HTTPHeaders

from banyan_server.upstream import Unreachable, Upstream

# With these, a page signs in to Jupyter Server. The gateway has no use for them, and would take `token` for its own.
_OF_JUPYTER_SERVER = frozenset({"token", "_xsrf"})
_REQUEST_HEADERS = ("Accept", "Content-Type", "If-None-Match", "If-Modified-Since", "Range")
# Headers that are not passed back: those about one connection, and cookies, by which the gateway knows its own pages.
_NOT_PASSED = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "set-cookie", "transfer-encoding", "vary"}
)


def target_of(handler: Any, *, without: str | None = None, adding: tuple[str, str] | None = None) -> str:
    """Path and query of a request at the gateway. without: a name to leave out of the query; adding: an
    item to add to it.
    """
    request = handler.request
    path = request.path[len(handler.base_url.rstrip("/")) :]
    dropped = _OF_JUPYTER_SERVER | {without}
    query = [item for item in parse_qsl(request.query, keep_blank_values=True) if item[0] not in dropped]
    query += [adding] if adding is not None else []
    return f"{path}?{urlencode(query)}" if query else str(path)


class Discreet:
    """A mixin for handlers: the log line of a request that failed has no query, because that may
    hold a page's token.
    """

    request: Any

    def _request_summary(self) -> str:
        return f"{self.request.method} {self.request.path} ({self.request.remote_ip})"


class _Passing(Discreet):
    """A mixin for handlers of Jupyter Server: `pass_on` answers a request as the gateway does."""

    upstream: Upstream

    def initialize(self, upstream: Upstream) -> None:
        self.upstream = upstream

    async def pass_on(self, body: bytes | None = None) -> None:
        handler: Any = self
        answer = _Answer(handler)
        headers = {name: value for name in _REQUEST_HEADERS if (value := self.request.headers.get(name))}
        sent = body if body is not None else self.request.body
        if self.request.method in ("GET", "HEAD") and not sent:
            sent = None
        try:
            await self.upstream.request(
                self.request.method,
                target_of(handler),
                sent,
                headers,
                on_header=answer.take_header,
                on_chunk=answer.take_chunk,
            )
        except Unreachable as error:
            raise web.HTTPError(503, str(error)) from error
        answer.end()


class _Answer:
    """The gateway's answer on its way through a handler: status and headers, then the body in parts."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self._headers = HTTPHeaders()
        self._status = 0
        self._begun = False

    def take_header(self, line: str) -> None:
        if line.startswith("HTTP/"):
            self._status = int(line.split(" ", 2)[1])
            self._headers = HTTPHeaders()
        elif line.strip():
            self._headers.parse_line(line)

    def take_chunk(self, chunk: bytes) -> None:
        self._begin()
        self._handler.write(chunk)
        self._handler.flush()

    def end(self) -> None:
        self._begin()
        self._handler.finish()

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        self._handler.set_status(self._status)
        self._handler.clear_header("Content-Type")
        for name, value in self._headers.get_all():
            if name.lower() == "location":
                value = url_path_join(self._handler.base_url, value)
            if name.lower() not in _NOT_PASSED:
                self._handler.set_header(name, value)


class _Api(_Passing, APIHandler):
    """All methods that the gateway may know. The gateway itself refuses those that a path does not have."""

    auth_resource = "kernels"

    @web.authenticated
    @authorized
    async def get(self) -> None:
        await self.pass_on()

    @web.authenticated
    @authorized
    async def post(self) -> None:
        await self.pass_on(await self.changed_body())

    @web.authenticated
    @authorized
    async def put(self) -> None:
        await self.pass_on()

    @web.authenticated
    @authorized
    async def patch(self) -> None:
        await self.pass_on(await self.changed_body())

    @web.authenticated
    @authorized
    async def delete(self) -> None:
        await self.pass_on()

    async def changed_body(self) -> bytes | None:
        """The body that goes to the gateway. None: the page's own."""
        return None

    def finish(self, *arguments: Any, **options: Any) -> Any:
        """Keep the content type that the gateway has sent: APIHandler.finish would say that every answer is JSON."""
        return JupyterHandler.finish(self, *arguments, **options)


class HistoryHandler(_Api):
    """`/api/banyan`: questions to the history of a session, moves, exports."""


class KernelsHandler(_Api):
    """`/api/kernels`: a kernel begins in the folder that the page names."""

    async def changed_body(self) -> bytes | None:
        return _with_folder(self, lambda body: (body, body.get("path")))


class SessionsHandler(_Api):
    """`/api/sessions`: the gateway keeps which notebook has which kernel, also when this server is restarted."""

    auth_resource = "sessions"

    async def changed_body(self) -> bytes | None:
        def kernel_of(body: dict[str, Any]) -> tuple[dict[str, Any] | None, object]:
            kernel = body.setdefault("kernel", {})
            notebook = body.get("notebook")
            path = body.get("path") or (notebook.get("path") if isinstance(notebook, dict) else None)
            return (kernel if isinstance(kernel, dict) else None), path

        if self.request.method == "PATCH" and b'"kernel"' not in self.request.body:
            return None  # A notebook that is renamed keeps its kernel.
        return _with_folder(self, kernel_of)


class KernelSpecHandler(_Api):
    """`/api/kernelspecs`."""

    auth_resource = "kernelspecs"

    @web.authenticated
    @authorized
    async def get(self) -> None:
        if self.base_url == "/":
            return await self.pass_on()
        return await self._get_with_base()

    async def _get_with_base(self) -> None:
        """Answer with paths of resources that begin with this server's base URL."""
        try:
            answer = await self.upstream.request("GET", target_of(self), None, {})
        except Unreachable as error:
            raise web.HTTPError(503, str(error)) from error
        model = json.loads(answer.body)
        for spec in model.get("kernelspecs", {"": model}).values():
            resources = spec.get("resources", {})
            spec["resources"] = {name: url_path_join(self.base_url, path) for name, path in resources.items()}
        self.set_status(answer.code)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(model))


class ResourceHandler(_Passing, JupyterHandler):
    """`/kernelspecs/NAME/FILE`: a kernelspec's logo."""

    auth_resource = "kernelspecs"

    @web.authenticated
    @authorized
    async def get(self) -> None:
        await self.pass_on()


def _with_folder(
    handler: Any, kernel_of: Callable[[dict[str, Any]], tuple[dict[str, Any] | None, object]]
) -> bytes | None:
    """The body, with the folder of its path, and this server's KERNEL_ variables, added to the kernel's environment.
    None for a body that the gateway will refuse.
    """
    try:
        body = json.loads(handler.request.body or b"{}")
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    kernel, path = kernel_of(body)
    if kernel is None:
        return None
    env = kernel.setdefault("env", {})
    if not isinstance(env, dict):
        return None
    for name, value in os.environ.items():
        if name.startswith("KERNEL_") and name != "KERNEL_ID":  # As Jupyter Server says to a gateway itself.
            env.setdefault(name, value)
    env.setdefault("KERNEL_WORKING_DIR", handler.kernel_manager.cwd_for_path(path if isinstance(path, str) else ""))
    return json.dumps(body).encode()


async def may(handler: Any, action: str, resource: str) -> bool:
    """Whether Jupyter Server's authorizer allows the user of this request an action on a resource."""
    allowed: Awaitable[bool] | bool = handler.authorizer.is_authorized(handler, handler.current_user, action, resource)
    return bool(await ensure_async(allowed))
