"""The site as an ASGI application, for `timesink serve`."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from functools import partial
from typing import ClassVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from timesink.server.jobs import in_thread
from timesink.server.library import RunLibrary
from timesink.server.replies import VIEWS, ClientRequest, Reply, Views, sentence_reply
from timesink.server.site import Site


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
    face = AsgiEndpoint(Site(library, views, hosts), clean_prefix(path_prefix))
    return Starlette(routes=[Route("/{path:path}", face)])


def clean_prefix(prefix: str) -> str:
    """A prefix of addresses as it stands before a path."""
    inner = prefix.strip("/")
    return f"/{inner}" if inner else ""


class AsgiEndpoint:
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
            is_complete = isinstance(reply.body, bytes)
            kind: type[Response] = Response if is_complete else StreamingResponse
            await kind(reply.body, reply.status, reply.headers)(scope, receive, send)
        finally:
            # Whoever waits for the turn of an answer that was broken off gets it at once.
            if isinstance(reply.body, Generator):
                reply.body.close()

    async def _reply(self, request: Request, path: str) -> Reply:
        inner = path.removeprefix(f"{self._base}/") if path.startswith(f"{self._base}/") else path
        site_request = ClientRequest(inner, request.url.query, request.headers, request.method)
        try:
            return await in_thread(partial(self._site.reply, site_request))
        except asyncio.CancelledError:
            return sentence_reply(site_request, "the server is stopping", "start it again", 503)


class BoundedConnection(H11Protocol):
    """Closed when no whole request comes, or when an answer is not taken.

    The server below closes what is idle after an answer only.  Without this, clients that begin a
    request and stop would hold files of the server, and those that stop reading an export its turn.
    """

    seconds_to_ask: ClassVar[float] = 15.0
    seconds_to_take: ClassVar[float] = 60.0
    """So long nothing at all of an answer may be taken."""
    _asking: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._asking, self._taking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taking = self.loop.call_later(self.seconds_to_take, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()

    def _expect_request(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self._asking = self.loop.call_later(self.seconds_to_ask, self._close_unless_asked)

    def _close_unless_asked(self) -> None:
        # There is none before the first request, though its type does not say so.
        if getattr(self.cycle, "response_complete", True):
            self.transport.close()
