"""The site as WSGI applications, one per route, for servers that route by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeAlias

from timesink.server.replies import Asked
from timesink.server.site import Site

Environment: TypeAlias = "dict[str, Any]"
StartResponse: TypeAlias = Callable[..., Any]
WsgiApp: TypeAlias = Callable[[Environment, StartResponse], Iterable[bytes]]


def wsgi_app(site: Site, path: str) -> WsgiApp:
    """An application that answers as the site does at a path, wherever the server puts it."""

    def application(environ: Environment, start_response: StartResponse) -> Iterable[bytes]:
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        method = environ.get("REQUEST_METHOD", "GET")
        reply = site.reply(Asked(path, environ.get("QUERY_STRING", ""), headers, method))
        if isinstance(reply.body, bytes) and reply.status != HTTPStatus.NOT_MODIFIED:
            reply.headers["Content-Length"] = str(len(reply.body))
        status = f"{reply.status} {HTTPStatus(reply.status).phrase}"
        start_response(status, list(reply.headers.items()))
        if method == "HEAD":
            return []
        return [reply.body] if isinstance(reply.body, bytes) else reply.body

    return application
