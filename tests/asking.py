"""Asking the application as browsers do: again, until the answer is there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from httpx2 import Response
from starlette.testclient import TestClient

from timesink.server.app import create_app
from timesink.server.library import RunLibrary

_MOST_SECONDS = 60


def client_of(library: RunLibrary, **options: Any) -> TestClient:
    """A client of the application for a library, on the same machine."""
    return TestClient(create_app(library, **options), base_url="http://localhost")


@dataclass(frozen=True)
class Browser:
    """Somebody who asks."""

    client: TestClient

    @classmethod
    def of(cls, logdir: Path, **options: Any) -> Browser:
        return cls(client_of(RunLibrary(logdir, **options)))

    def reply(self, path: str, **parameters: object) -> Response:
        """The reply that is no longer about progress."""
        query = urlencode({key.rstrip("_"): value for key, value in parameters.items()})
        end = time.monotonic() + _MOST_SECONDS
        while (reply := self.client.get(f"/{path}?{query}")).status_code == 202:
            assert time.monotonic() < end, reply.text  # the server waits a while itself
        return reply

    def get(self, path: str, **parameters: object) -> Any:
        """What a reply that is fine says."""
        reply = self.reply(path, **parameters)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def fails(self, path: str, status: int, **parameters: object) -> str:
        """The sentence of a reply that is not."""
        reply = self.reply(path, **parameters)
        assert reply.status_code == status, reply.text
        return f"{reply.json()['error']} / {reply.json()['hint']}"
