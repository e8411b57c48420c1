"""The application: its routes, what every request passes, and what becomes of errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from timesink.errors import NotFoundError, TimesinkError
from timesink.server.api import API
from timesink.server.former import PLUGIN_PATH, VIEWS, Views, former_routes
from timesink.server.jobs import FailedError, StillWorking, in_thread
from timesink.server.library import Answer, RequestContext, RunLibrary
from timesink.server.middleware import (
    MAX_AT_ONCE,
    AllowedHosts,
    BoundedRequests,
    CarefulHeaders,
    ReadOnly,
)
from timesink.server.pages import page_reply, static_reply
from timesink.server.replies import error_reply, parameters, reply_to, sentence_reply

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_LOG = logging.getLogger(__name__)


def create_app(
    library: RunLibrary,
    path_prefix: str = "",
    views: Views = VIEWS,
    *,
    hosts: Iterable[str] | None = None,
    static: Traversable | None = None,
    max_at_once: int = MAX_AT_ONCE,
) -> Starlette:
    """The application that answers for the runs of a library.

    `hosts` are the names it may be asked by; None lets any pass.  `static` is the folder of the
    built app, where it is not the one of this package.
    """
    prefix, context = clean_prefix(path_prefix), RequestContext(library)
    folder = static or files("timesink.output") / "static"
    routes = [
        Route(f"{prefix}/", page_reply),
        Route(f"{prefix}/static/{{name:path}}", _in_thread(partial(static_reply, folder=folder))),
        *(Route(f"{prefix}/api/{name}", _answers(answer, context)) for name, answer in API.items()),
        *(
            Route(f"{prefix}{PLUGIN_PATH}/{name}", _answers(answer, context))
            for name, answer in former_routes(views).items()
        ),
    ]
    if prefix:
        page = RedirectResponse(f"{prefix}/")
        routes += [Route("/", page), Route(prefix, page)]
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(CarefulHeaders),
            Middleware(BoundedRequests, max_at_once),
            Middleware(AllowedHosts, hosts),
            Middleware(ReadOnly, prefix),
        ],
        exception_handlers={
            404: partial(_no_route, prefix),
            StillWorking: _progress_reply,
            TimesinkError: _error_reply,
        },
    )
    app.router.redirect_slashes = False
    return app


def clean_prefix(prefix: str) -> str:
    """A prefix of addresses as it stands before a path."""
    inner = prefix.strip("/")
    return f"/{inner}" if inner else ""


def _answers(answer: Answer, context: RequestContext) -> Endpoint:
    """An endpoint that sends what a route answers."""

    def reply(request: Request) -> Response:
        try:
            value = answer(context, parameters(request))
            return reply_to(request, value, in_turn=context.in_turn)
        except (StillWorking, TimesinkError):
            raise
        except Exception:  # noqa: BLE001 - one request must not end the others
            _LOG.exception("no answer to %s?%s", request.url.path, request.url.query)
            raise FailedError.by_mistake() from None

    return _in_thread(reply)


def _in_thread(reply: Callable[[Request], Response]) -> Endpoint:
    """An endpoint that answers while others are answered."""

    async def endpoint(request: Request) -> Response:
        try:
            return await in_thread(partial(reply, request))
        except asyncio.CancelledError:
            return sentence_reply(request, "the server is stopping", "start it again", 503)

    return endpoint


async def _no_route(prefix: str, request: Request, _error: Exception) -> Response:
    route = f"{request.method} {request.scope['path'].removeprefix(prefix)}"
    return error_reply(
        request, NotFoundError(f"{route}: no such route", "the page at / lists the runs")
    )


async def _progress_reply(request: Request, work: Any) -> Response:
    return reply_to(request, work.progress_fields(), 202)


async def _error_reply(request: Request, error: Any) -> Response:
    return error_reply(request, error)
