"""The site as an ASGI application, for `timesink serve`."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from timesink.server.answers import sentence_reply
from timesink.server.asked import Asked, Reply
from timesink.server.library import RunLibrary
from timesink.server.routes import VIEWS, Views
from timesink.server.site import Site
from timesink.server.threads import in_thread


def create_app(
    library: RunLibrary,
    path_prefix: str = "",
    views: Views = VIEWS,
    *,
    hosts: Iterable[str] | None = None,
) -> Starlette:
    """The application that answers for the runs of a library.

    `hosts` are the names it may be asked by; None lets any pass.
    """
    return asgi_app(Site(library, views, hosts), path_prefix)


def asgi_app(site: Site, path_prefix: str = "") -> Starlette:
    """A site as an application; every path is its own to answer."""
    return Starlette(routes=[Route("/{path:path}", _Face(site, clean_prefix(path_prefix)))])


def clean_prefix(prefix: str) -> str:
    """A prefix of addresses as it stands before a path."""
    inner = prefix.strip("/")
    return f"/{inner}" if inner else ""


class _Face:
    """An endpoint for every path and every method."""

    def __init__(self, site: Site, base: str) -> None:
        self._site, self._base = site, base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = request.scope["path"]
        if self._base and path in {"/", self._base}:
            await RedirectResponse(f"{self._base}/")(scope, receive, send)
            return
        reply = await self._reply(request, path)
        try:
            whole = isinstance(reply.body, bytes)
            kind: type[Response] = Response if whole else StreamingResponse
            await kind(reply.body, reply.status, reply.headers)(scope, receive, send)
        finally:
            # Whoever waits for the turn of an answer that was broken off gets it at once.
            if isinstance(reply.body, Generator):
                reply.body.close()

    async def _reply(self, request: Request, path: str) -> Reply:
        inner = path.removeprefix(f"{self._base}/") if path.startswith(f"{self._base}/") else path
        asked = Asked(inner, request.url.query, request.headers, request.method)
        try:
            return await in_thread(partial(self._site.reply, asked))
        except asyncio.CancelledError:
            return sentence_reply(asked, "the server is stopping", "start it again", 503)
