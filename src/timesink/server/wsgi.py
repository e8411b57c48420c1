"""The site as WSGI applications, one per route, for servers that route by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeAlias

from timesink.server.asked import Asked, Reply
from timesink.server.site import Site

Environment: TypeAlias = "dict[str, Any]"
StartResponse: TypeAlias = Callable[..., Any]
WsgiApp: TypeAlias = Callable[[Environment, StartResponse], Iterable[bytes]]


def wsgi_app(site: Site, path: str) -> WsgiApp:
    """An application that answers as the site does at a path, wherever the server puts it."""

    def application(environ: Environment, start_response: StartResponse) -> Iterable[bytes]:
        asked = Asked(
            path,
            environ.get("QUERY_STRING", ""),
            _headers(environ),
            environ.get("REQUEST_METHOD", "GET"),
        )
        reply = site.reply(asked)
        start_response(_status(reply), list(_with_length(reply).items()))
        if asked.method == "HEAD":
            return []
        return [reply.body] if isinstance(reply.body, bytes) else reply.body

    return application


def _headers(environ: Environment) -> dict[str, str]:
    return {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }


def _status(reply: Reply) -> str:
    return f"{reply.status} {HTTPStatus(reply.status).phrase}"


def _with_length(reply: Reply) -> dict[str, str]:
    if isinstance(reply.body, bytes) and reply.status != HTTPStatus.NOT_MODIFIED:
        return {**reply.headers, "Content-Length": str(len(reply.body))}
    return reply.headers
