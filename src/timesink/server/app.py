"""The web application: the routes of the former TensorBoard plugin, and a page of links."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from timesink.errors import NotFoundError, TimesinkError
from timesink.model.trace import Trace
from timesink.reports.plugin.query import Query
from timesink.reports.plugin.views import VIEWS as VIEW_NAMES
from timesink.reports.plugin.views import available_views
from timesink.server.answers import (
    error_response,
    json_response,
    sentence_response,
    stream_response,
)
from timesink.server.index import run_page, runs_page
from timesink.server.library import RunLibrary
from timesink.server.routes import PLUGIN_PATH, VIEWS, View, Views, load_view
from timesink.server.runs import ALL_WORKERS
from timesink.server.threads import in_thread

_VIEWS_AT_ONCE = 16
_DISTRIBUTED = "Distributed"
_METHODS = ("GET", "HEAD")
_LOG = logging.getLogger(__name__)

Answer: TypeAlias = Callable[[RunLibrary, Query], Any]
Turn: TypeAlias = AbstractAsyncContextManager[Any]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def create_app(library: RunLibrary, path_prefix: str = "", views: Views = VIEWS) -> Starlette:
    """The application that answers for the runs of a library."""
    base = clean_prefix(path_prefix)
    # Listings need not wait for their turn, so that they answer while many traces are read.
    turns = asyncio.Semaphore(_VIEWS_AT_ONCE)
    routes = [
        *_routes(f"{base}{PLUGIN_PATH}/", _LISTINGS, library, nullcontext()),
        *_routes(f"{base}{PLUGIN_PATH}/", _answers(views), library, turns),
        *_routes(f"{base}/", {"": partial(_page, views, base)}, library, nullcontext()),
    ]
    if base:
        routes.append(Route("/", lambda _: RedirectResponse(f"{base}/")))
    return Starlette(routes=routes, exception_handlers={HTTPException: _http_error})


def clean_prefix(prefix: str) -> str:
    """A prefix of addresses as it stands before a path.

    >>> clean_prefix("profiles/"), clean_prefix("/")
    ('/profiles', '')
    """
    inner = prefix.strip("/")
    return f"/{inner}" if inner else ""


def _answers(views: Views) -> dict[str, Answer]:
    return {
        "views": _views,
        **{route: partial(_of_trace, target) for route, target in views.of_trace.items()},
        **{route: partial(_of_span, target) for route, target in views.of_span.items()},
        **{route: partial(_of_pair, target) for route, target in views.of_pair.items()},
    }


def _routes(
    start: str, answers: Mapping[str, Answer], library: RunLibrary, turn: Turn
) -> Iterator[Route]:
    for name, answer in answers.items():
        yield Route(f"{start}{name}", _endpoint(partial(_respond, answer, library), turn))


def _endpoint(respond: Callable[[Request], Response], turn: Turn) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        try:
            async with turn:
                return await in_thread(partial(respond, request))
        except asyncio.CancelledError:
            return sentence_response("the server is stopping", "start it again", request, 503)

    return endpoint


def _respond(answer: Answer, library: RunLibrary, request: Request) -> Response:
    try:
        value = answer(library, Query(dict(request.query_params)))
        if isinstance(value, Response):
            return value
        if isinstance(value, Iterator):
            return stream_response(value, request)
        return json_response(value, request)
    except TimesinkError as error:
        return error_response(error, request)
    except Exception:  # noqa: BLE001 - one request must not end the others
        _LOG.exception("no answer to %s", request.url)
        told = "this view failed on this trace; the server's log says where"
        return sentence_response(told, "this is a bug: report it with the log", request, 500)


def _http_error(request: Request, error: Exception) -> Response:
    """Addresses that lead nowhere, and methods other than GET."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    where = f"{request.method} {request.url.path}"
    if status != HTTPStatus.METHOD_NOT_ALLOWED:
        hint = "the page at / lists them"
        return sentence_response(f"{where}: no such route", hint, request, status)
    told = f"{where}: this route answers {' and '.join(_METHODS)} only"
    response = sentence_response(told, "ask with GET", request, status)
    response.headers["Allow"] = ", ".join(_METHODS)
    return response


def _page(views: Views, base: str, library: RunLibrary, query: Query) -> Response:
    name = query.text("run")
    if name:
        return HTMLResponse(run_page(library.run(name), views, base))
    return HTMLResponse(runs_page(str(library.logdir), library.runs(), base))


def _runs(library: RunLibrary, _query: Query) -> Any:
    return {"runs": library.runs(), "loading": False}


def _workers(library: RunLibrary, query: Query) -> list[str]:
    run = library.run(query.required("run"))
    view = query.text("view")
    if view and view not in VIEW_NAMES:
        raise NotFoundError(f"no view is named {view!r}", f"there are {', '.join(VIEW_NAMES)}")
    return [ALL_WORKERS] if view == _DISTRIBUTED else run.workers


def _spans(library: RunLibrary, query: Query) -> list[str]:
    run = library.run(query.required("run"))
    return run.spans(query.required("worker"))


_LISTINGS: dict[str, Answer] = {"runs": _runs, "workers": _workers, "spans": _spans}


def _views(library: RunLibrary, query: Query) -> list[str]:
    """Views with data for the worker, or for any worker where none is named."""
    run = library.run(query.required("run"))
    traces = library.samples(run, query.text("worker") or ALL_WORKERS)
    found = {view for trace in traces for view in available_views(trace)}
    return [view for view in VIEW_NAMES if view in found]


def _of_trace(target: str | View, library: RunLibrary, query: Query) -> Any:
    run = library.run(query.required("run"))
    trace = library.trace(run, query.required("worker"), query.required("span"))
    return load_view(target)(trace, replace(query, workers=len(run.workers)))


def _of_span(target: str | View, library: RunLibrary, query: Query) -> Any:
    run = library.run(query.required("run"))
    worker = query.text("worker", ALL_WORKERS)
    traces, unreadable = library.span(run, query.required("span"), worker)
    answer = load_view(target)(traces, replace(query, workers=len(run.workers)))
    if unreadable and isinstance(answer, dict):
        return {**answer, "unreadable": unreadable}
    return answer


def _of_pair(target: str | View, library: RunLibrary, query: Query) -> Any:
    left, right = (_side(library, query, prefix) for prefix in ("", "exp_"))
    run = library.run(query.required("run"))
    return load_view(target)(left, right, replace(query, workers=len(run.workers)))


def _side(library: RunLibrary, query: Query, prefix: str) -> Trace:
    run = library.run(query.required(f"{prefix}run"))
    worker, span = query.required(f"{prefix}worker"), query.required(f"{prefix}span")
    return library.trace(run, worker, span)
