"""The table of routes, and how a request becomes a reply; servers are faces of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import BoundedSemaphore

from timesink.errors import NotFoundError, TimesinkError
from timesink.server.answers import error_reply, reply_to, sentence_reply
from timesink.server.api import API
from timesink.server.asked import METHODS, Asked, Reply
from timesink.server.desk import Answer, Desk
from timesink.server.former import former_routes
from timesink.server.jobs import FailedError, StillWorking
from timesink.server.library import RunLibrary
from timesink.server.routes import PLUGIN_PATH, VIEWS, Views
from timesink.server.safety import CONTENT_POLICY, HEADERS, is_allowed
from timesink.server.static import PAGE, StaticFiles

MOST_AT_ONCE = 64
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
    static: StaticFiles = field(default_factory=StaticFiles)
    _room: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MOST_AT_ONCE))

    @cached_property
    def desk(self) -> Desk:
        return Desk(self.library)

    @cached_property
    def routes(self) -> Mapping[str, Answer]:
        """What answers each path."""
        former = former_routes(self.views)
        plugin = PLUGIN_PATH.strip("/")
        return {
            **{f"api/{name}": answer for name, answer in API.items()},
            **{f"{plugin}/{name}": answer for name, answer in former.items()},
        }

    def reply(self, asked: Asked) -> Reply:
        """The reply to a request, whatever happens."""
        if not self._room.acquire(blocking=False):
            told = "too many requests at once"
            reply = sentence_reply(asked, told, "ask again in a moment", 503)
        else:
            try:
                reply = self._checked(asked)
            finally:
                self._room.release()
        reply.headers.update(HEADERS)
        return reply

    def _checked(self, asked: Asked) -> Reply:
        if not is_allowed(asked.headers.get("host", ""), self.hosts):
            told = "this server is asked by a name it does not go by"
            hint = "open it at localhost, or start it with --allow-host NAME"
            return sentence_reply(asked, told, hint, 403)
        if asked.method not in METHODS:
            told = f"{asked.method} /{asked.path}: this route answers {' and '.join(METHODS)} only"
            reply = sentence_reply(asked, told, "ask with GET", 405)
            reply.headers["Allow"] = ", ".join(METHODS)
            return reply
        try:
            return self._answered(asked)
        except StillWorking as work:
            return reply_to(asked, work.told(), 202)
        except TimesinkError as error:
            return error_reply(asked, error)
        except Exception:  # noqa: BLE001 - one request must not end the others
            _LOG.exception("no answer to %s?%s", asked.path, asked.query)
            return error_reply(asked, FailedError.by_mistake())

    def _answered(self, asked: Asked) -> Reply:
        if not asked.path:
            headers = {
                "Content-Type": "text/html; charset=utf-8",
                "Cache-Control": "no-cache",
                "Content-Security-Policy": CONTENT_POLICY,
            }
            return Reply(200, PAGE.encode(), headers)
        if asked.path.startswith(_STATIC):
            return self.static.reply(asked, asked.path.removeprefix(_STATIC))
        answer = self.routes.get(asked.path)
        if answer is None:
            raise NotFoundError(
                f"{asked.method} /{asked.path}: no such route", "the page at / lists the runs"
            )
        reply = reply_to(asked, answer(self.desk, asked.parameters()))
        if not isinstance(reply.body, bytes):
            # Nobody reads it where only the headers are asked for.
            reply.body = b"" if asked.method == "HEAD" else self.desk.in_turn(reply.body)
        return reply
