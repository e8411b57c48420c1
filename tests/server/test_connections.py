"""Clients that begin and do not go on lose their connection; others are answered."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest
import uvicorn
from starlette.responses import Response

from timesink import sample
from timesink.server.app import create_app
from timesink.server.connections import BoundedConnection
from timesink.server.former import PLUGIN_PATH, Views
from timesink.server.library import RunLibrary

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
TRACE = (
    f"{PLUGIN_PATH}/trace?run=unet_train.pt.trace.json.gz&worker=unet_train&span=default".encode()
)
BLOCK = os.urandom(1 << 20)
"""Packed or not, more than a socket takes while nobody reads."""


async def hello(scope, receive, send):
    await Response("hello")(scope, receive, send)


@contextmanager
def run_server(app, **seconds: float) -> Iterator[tuple[str, int]]:
    """The address of a server with patience of its own."""
    protocol = type("Connection", (BoundedConnection,), seconds)
    config = uvicorn.Config(app, http=protocol, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


def read_to_end(client: socket.socket) -> bytes:
    """What comes until the server closes the connection; it has to."""
    return b"".join(iter(lambda: client.recv(1 << 16), b""))


@pytest.fixture(scope="module")
def impatient() -> Iterator[tuple[str, int]]:
    """A server that waits a moment for what it is asked."""
    with run_server(hello, seconds_to_ask=0.05) as address:
        yield address


@pytest.mark.parametrize("request_part", [b"", b"GET / HT", REQUEST[:-2]])
def test_a_request_that_is_not_finished_is_not_waited_for(impatient, request_part):
    with socket.create_connection(impatient, timeout=20) as client:
        client.sendall(request_part)
        assert read_to_end(client) == b""


def test_nor_is_one_after_an_answer(impatient):
    with socket.create_connection(impatient, timeout=20) as client:
        client.sendall(REQUEST + REQUEST[:20])
        assert read_to_end(client).endswith(b"hello")


def test_an_answer_nobody_takes_is_given_up_and_its_turn_is_free():
    ended = Event()

    def endless(_trace: Any, _query: Any) -> Iterator[bytes]:
        try:
            while True:
                yield BLOCK
        finally:
            ended.set()

    app = create_app(RunLibrary(sample()), views=Views({"trace": endless}, {}, {}))
    with (
        run_server(app, seconds_to_take=0.05) as address,
        socket.create_connection(address) as client,
    ):
        client.sendall(REQUEST.replace(b"/", TRACE, 1))
        assert ended.wait(20)
