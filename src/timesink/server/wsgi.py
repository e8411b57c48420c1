"""An ASGI application as WSGI applications, one per path, for TensorBoard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from http import HTTPStatus
from typing import Any, TypeAlias

from starlette.types import ASGIApp, Message, Scope

Environment: TypeAlias = "dict[str, Any]"
StartResponse: TypeAlias = Callable[..., Any]
WsgiApp: TypeAlias = Callable[[Environment, StartResponse], Iterable[bytes]]


def wsgi_app(app: ASGIApp, path: str) -> WsgiApp:
    """An application that answers as the other does at a path, wherever the server puts it."""

    def application(environ: Environment, start_response: StartResponse) -> Iterable[bytes]:
        scope = _scope(environ, path)
        messages = _messages(app, scope)
        start = next(messages)
        status = HTTPStatus(start["status"])
        headers = [
            (name.decode("latin-1"), text.decode("latin-1")) for name, text in start["headers"]
        ]
        start_response(f"{status.value} {status.phrase}", headers)
        if scope["method"] == "HEAD":
            messages.close()
            return []
        return _bodies(messages)

    return application


def _bodies(messages: Generator[Message]) -> Iterator[bytes]:
    with closing(messages):
        for message in messages:
            yield message["body"]


def _text(content: bytes) -> str:
    return content.decode("latin-1")


def _scope(environ: Environment, path: str) -> Scope:
    return {
        "type": "http",
        # From 2.4 on nobody waits for the client to go away; the server closes the answer then.
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": environ.get("REQUEST_METHOD", "GET"),
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"),
        "headers": [
            (name[5:].replace("_", "-").lower().encode("latin-1"), text.encode("latin-1"))
            for name, text in environ.items()
            if name.startswith("HTTP_")
        ],
    }


def _messages(app: ASGIApp, scope: Scope) -> Generator[Message]:
    """What the application sends, each message when it is asked for."""
    loop = asyncio.new_event_loop()
    # The next block is made when the last one was taken.
    queue: asyncio.Queue[Message] = asyncio.Queue(1)
    answer = loop.create_task(_run(app, scope, queue))
    try:
        message = loop.run_until_complete(_next_message(queue, answer))
        yield message
        while message["type"] != "http.response.body" or message.get("more_body"):
            message = loop.run_until_complete(_next_message(queue, answer))
            yield message
        loop.run_until_complete(answer)
    finally:
        if not answer.done():
            # Nobody takes the rest.
            answer.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(answer)
        loop.close()


async def _run(app: ASGIApp, scope: Scope, queue: asyncio.Queue[Message]) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app(scope, receive, queue.put)


async def _next_message(queue: asyncio.Queue[Message], answer: asyncio.Task[None]) -> Message:
    """The next message; an answer that fails without one raises its error."""
    message = asyncio.ensure_future(queue.get())
    await asyncio.wait({message, answer}, return_when=asyncio.FIRST_COMPLETED)
    if not message.done():
        message.cancel()
        answer.result()
    return await message
