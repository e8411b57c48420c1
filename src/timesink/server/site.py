"""The table of routes, and how a request becomes a reply; servers are faces of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import blake2b
from http import HTTPStatus
from importlib.resources import files
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, TypeAlias

from isal import igzip
from msgspec.structs import replace

from timesink.answers.plugin import Query
from timesink.answers.plugin.overview import VIEWS as VIEW_NAMES
from timesink.answers.plugin.overview import available_views
from timesink.errors import NotFoundError, TimesinkError
from timesink.model.host_names import is_allowed
from timesink.server.api import API
from timesink.server.jobs import FailedError, Report, StillWorking
from timesink.server.library import Answer, RequestContext, RunLibrary
from timesink.server.replies import (
    METHODS,
    PLUGIN_PATH,
    VIEWS,
    ClientRequest,
    Reply,
    View,
    Views,
    asks_for_gzip,
    error_reply,
    load_view,
    reply_to,
    sentence_reply,
)
from timesink.server.runs import ALL_WORKERS, ServedRun

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


_DISTRIBUTED = "Distributed"


def former_routes(views: Views) -> Mapping[str, Answer]:
    """What answers each route; listings wait for nobody, views for their turn."""
    heavy = {
        "views": _views,
        **{route: partial(_of_trace, target) for route, target in views.of_trace.items()},
        **{route: partial(_of_ranks, target) for route, target in views.of_ranks.items()},
        **{route: partial(_of_pair, target) for route, target in views.of_pair.items()},
    }
    return {
        "runs": _runs,
        "workers": _workers,
        "spans": _spans,
        **{route: partial(_await_answer, answer) for route, answer in heavy.items()},
    }


def _await_answer(answer: Any, desk: RequestContext, query: Query) -> Any:
    """What a view gives, for clients that do not ask again: they wait."""
    return desk.jobs.ask(object(), lambda report: answer(desk, query, report), keep=False)


def _runs(desk: RequestContext, _query: Query) -> Any:
    return {"runs": desk.library.runs(), "loading": False}


def _workers(desk: RequestContext, query: Query) -> list[str]:
    run = desk.library.run(query.required("run"))
    view = query.text("view")
    if view and view not in VIEW_NAMES:
        raise NotFoundError(f"no view is named {view!r}", f"there are {', '.join(VIEW_NAMES)}")
    return [ALL_WORKERS] if view == _DISTRIBUTED else run.workers


def _spans(desk: RequestContext, query: Query) -> list[str]:
    run = desk.library.run(query.required("run"))
    return run.spans(query.required("worker"))


def _views(desk: RequestContext, query: Query, _report: Report) -> list[str]:
    """Views with data for the worker, or for any worker where none is named."""
    run = desk.library.run(query.required("run"))
    traces = desk.library.samples(run, query.text("worker") or ALL_WORKERS)
    views = {view for trace in traces for view in available_views(trace)}
    return [view for view in VIEW_NAMES if view in views]


def _of_trace(target: str | View, desk: RequestContext, query: Query, report: Report) -> Any:
    run = desk.library.run(query.required("run"))
    trace = desk.library.trace(run, query.required("worker"), query.required("span"), report)
    return load_view(target)(trace, _about(run, query))


def _of_ranks(target: str | View, desk: RequestContext, query: Query, report: Report) -> Any:
    """Of all workers of a span their summaries are enough; of one alone its trace is there."""
    run, span = desk.library.run(query.required("run")), query.required("span")
    worker = query.text("worker", ALL_WORKERS)
    if worker == ALL_WORKERS:
        ranks = desk.library.ranks(run, span, report=report)
    else:
        from timesink.analyses.ranks import ranks_of_traces  # noqa: PLC0415 - loads much

        ranks = ranks_of_traces({worker: desk.library.trace(run, worker, span, report)})
    answer = load_view(target)(ranks, _about(run, query))
    if ranks.damaged and isinstance(answer, dict):
        return {**answer, "unreadable": {rank.worker: rank.reason for rank in ranks.damaged}}
    return answer


def _of_pair(target: str | View, desk: RequestContext, query: Query, report: Report) -> Any:
    sides = []
    for prefix in ("", "exp_"):
        run = desk.library.run(query.required(f"{prefix}run"))
        worker, span = query.required(f"{prefix}worker"), query.required(f"{prefix}span")
        sides.append(desk.library.trace(run, worker, span, report))
    return load_view(target)(*sides, _about(desk.library.run(query.required("run")), query))


def _about(run: ServedRun, query: Query) -> Query:
    return replace(query, workers=len(run.workers))


# Who may ask, and what browsers are told about our replies.

HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every reply."""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""Of the page: nothing is loaded from elsewhere, whatever a trace holds."""

_MEDIA: Mapping[str, str] = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
}
STATIC_FILES = tuple(_MEDIA)


def static_reply(folder: Traversable, request: ClientRequest, name: str) -> Reply:
    """A file of the built app; nothing but its mark where the client has it already."""
    if name not in _MEDIA:
        raise NotFoundError(f"no file is named {name!r}", f"there are {', '.join(_MEDIA)}")
    try:
        content = (folder / name).read_bytes()
    except OSError:
        raise NotFoundError(
            f"{name}: the app was not built",
            "install timesink from a wheel, or run  make web  in a checkout",
        ) from None
    mark = f'"{blake2b(content, digest_size=12).hexdigest()}"'
    headers = {
        "Content-Type": _MEDIA[name],
        "Cache-Control": "no-cache",
        "ETag": mark,
        "Vary": "Accept-Encoding",
    }
    if mark in request.headers.get("if-none-match", ""):
        return Reply(304, b"", headers)
    if asks_for_gzip(request):
        content, headers["Content-Encoding"] = igzip.compress(content), "gzip"
    return Reply(200, content, headers)


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>timesink</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="static/app.css">
</head>
<body>
<div id="timesink-app"><noscript>timesink's pages need JavaScript; \
the same answers come as text from <code>timesink analyze</code>.</noscript></div>
<script type="module" src="static/app.js"></script>
</body>
</html>
"""
"""The page of the app; the app finds its server beside its own module."""


MAX_AT_ONCE = 64
"""Requests that are answered at the same time; they wait little, heavy work is done elsewhere."""
_STATIC = "static/"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Site:
    """Answers requests about the runs of a library."""

    library: RunLibrary
    views: Views = VIEWS
    hosts: Iterable[str] | None = None
    """Names the server is known by; None for any."""
    static: Traversable = field(default_factory=lambda: files("timesink.output") / "static")
    """The folder of the built app."""
    _room: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_AT_ONCE))

    @cached_property
    def desk(self) -> RequestContext:
        return RequestContext(self.library)

    @cached_property
    def routes(self) -> Mapping[str, Answer]:
        """What answers each path."""
        former = former_routes(self.views)
        plugin = PLUGIN_PATH.strip("/")
        return {
            **{f"api/{name}": answer for name, answer in API.items()},
            **{f"{plugin}/{name}": answer for name, answer in former.items()},
        }

    def reply(self, request: ClientRequest) -> Reply:
        """The reply to a request, whatever happens."""
        if not self._room.acquire(blocking=False):
            message = "too many requests at once"
            reply = sentence_reply(request, message, "try again in a moment", 503)
        else:
            try:
                reply = self._checked(request)
            finally:
                self._room.release()
        reply.headers.update(HEADERS)
        return reply

    def _checked(self, request: ClientRequest) -> Reply:
        if not is_allowed(request.headers.get("host", ""), self.hosts):
            message = "unknown host name in the request"
            hint = "open it at localhost, or start it with --allow-host NAME"
            return sentence_reply(request, message, hint, 403)
        if request.method not in METHODS:
            message = (
                f"{request.method} /{request.path}: this route allows only {' and '.join(METHODS)}"
            )
            reply = sentence_reply(request, message, "ask with GET", 405)
            reply.headers["Allow"] = ", ".join(METHODS)
            return reply
        try:
            return self._answered(request)
        except StillWorking as work:
            return reply_to(request, work.progress_fields(), 202)
        except TimesinkError as error:
            return error_reply(request, error)
        except Exception:  # noqa: BLE001 - one request must not end the others
            _LOG.exception("no answer to %s?%s", request.path, request.query)
            return error_reply(request, FailedError.by_mistake())

    def _answered(self, request: ClientRequest) -> Reply:
        if not request.path:
            headers = {
                "Content-Type": "text/html; charset=utf-8",
                "Cache-Control": "no-cache",
                "Content-Security-Policy": CONTENT_POLICY,
            }
            return Reply(200, PAGE.encode(), headers)
        if request.path.startswith(_STATIC):
            return static_reply(self.static, request, request.path.removeprefix(_STATIC))
        answer = self.routes.get(request.path)
        if answer is None:
            raise NotFoundError(
                f"{request.method} /{request.path}: no such route", "the page at / lists the runs"
            )
        reply = reply_to(request, answer(self.desk, request.parameters()))
        if not isinstance(reply.body, bytes):
            # Nobody reads it where only the headers are asked for.
            reply.body = b"" if request.method == "HEAD" else self.desk.in_turn(reply.body)
        return reply


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
        reply = site.reply(ClientRequest(path, environ.get("QUERY_STRING", ""), headers, method))
        if isinstance(reply.body, bytes) and reply.status != HTTPStatus.NOT_MODIFIED:
            reply.headers["Content-Length"] = str(len(reply.body))
        status = f"{reply.status} {HTTPStatus(reply.status).phrase}"
        start_response(status, list(reply.headers.items()))
        if method == "HEAD":
            return []
        return [reply.body] if isinstance(reply.body, bytes) else reply.body

    return application
