"""An application behind a server of the other interface, as TensorBoard is one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from timesink.server.replies import BlockResponse
from timesink.server.wsgi import wsgi_app

STARTED: list[tuple[str, list[tuple[str, str]]]] = []


def start_response(status: str, headers: list[tuple[str, str]]) -> None:
    STARTED.append((status, headers))


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """What was asked, as JSON."""
    request = Request(scope, receive)
    words = [request.method, request.url.path, request.url.query, request.headers["if-none-match"]]
    await JSONResponse(words, 404)(scope, receive, send)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_request_reaches_its_path_wherever_the_server_puts_it(method: str):
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": "/data/plugin/timesink/api/runs",
        "QUERY_STRING": "a=%20b",
        "HTTP_IF_NONE_MATCH": "mark",
    }
    body = b"".join(wsgi_app(echo, "/api/runs")(environ, start_response))
    content = f'["{method}","/api/runs","a=%20b","mark"]'.encode()
    assert body == (b"" if method == "HEAD" else content)
    status, headers = STARTED[-1]
    assert (status, dict(headers)["content-length"]) == ("404 Not Found", str(len(content)))


def test_blocks_are_made_when_they_are_asked_for_until_the_answer_is_closed():
    numbers: list[int] = []
    ends: list[bool] = []

    def blocks() -> Iterator[bytes]:
        try:
            for number in count():
                numbers.append(number)
                yield b"%d," % number
        finally:
            ends.append(True)

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await BlockResponse(blocks(), {})(scope, receive, send)

    answer = wsgi_app(endless, "/")({}, start_response)
    assert [next(iter(answer)) for _ in range(3)] == [b"0,", b"1,", b"2,"]
    answer.close()
    assert ends
    assert len(numbers) < 8


def test_an_application_that_fails_tells_its_server():
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wsgi_app(broken, "/")({}, start_response)
