"""What every request passes before its route: how many at once, by which name, by which method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import BoundedSemaphore

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from timesink.model.host_names import is_allowed
from timesink.server.replies import sentence_reply

MAX_AT_ONCE = 64
"""Requests that are answered at the same time; they wait little, heavy work is done elsewhere."""
METHODS = ("GET", "HEAD")
HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every reply."""


class CarefulHeaders:
    """Tells browsers with every reply to be careful with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_carefully(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, send_carefully)


class BoundedRequests:
    """Refuses requests while too many are being answered; sending an answer does not count."""

    def __init__(self, app: ASGIApp, most: int = MAX_AT_ONCE) -> None:
        self._app = app
        # TensorBoard answers each request in a thread of its own.
        self._room = BoundedSemaphore(most)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if not self._room.acquire(blocking=False):
            message, hint = "too many requests at once", "try again in a moment"
            await sentence_reply(Request(scope), message, hint, 503)(scope, receive, send)
            return
        is_answered = False

        async def send_and_leave(message: Message) -> None:
            nonlocal is_answered
            if not is_answered:
                is_answered = True
                self._room.release()
            await send(message)

        try:
            await self._app(scope, receive, send_and_leave)
        finally:
            if not is_answered:
                self._room.release()


class AllowedHosts:
    """Refuses requests by names the server is not known by; None lets any pass."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope) if scope["type"] == "http" else None
        if request is None or is_allowed(request.headers.get("host", ""), self._hosts):
            await self._app(scope, receive, send)
            return
        message = "unknown host name in the request"
        hint = "open it at localhost, or start it with --allow-host NAME"
        await sentence_reply(request, message, hint, 403)(scope, receive, send)


class ReadOnly:
    """Refuses methods that ask for more than an answer, whatever the route below the prefix."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in METHODS:
            await self._app(scope, receive, send)
            return
        route = f"{scope['method']} {scope['path'].removeprefix(self._prefix)}"
        message = f"{route}: this route allows only {' and '.join(METHODS)}"
        reply = sentence_reply(Request(scope), message, "ask with GET", 405)
        reply.headers["Allow"] = ", ".join(METHODS)
        await reply(scope, receive, send)
