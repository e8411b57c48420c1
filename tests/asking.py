"""Asking a site as browsers do: again, until the answer is there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from timesink.server.library import RunLibrary
from timesink.server.replies import ClientRequest, Reply
from timesink.server.site import Site

_MOST_SECONDS = 60


@dataclass(frozen=True)
class Browser:
    """Somebody who asks."""

    site: Site

    @classmethod
    def of(cls, logdir: Path, **options: Any) -> Browser:
        return cls(Site(RunLibrary(logdir, **options)))

    def reply(self, path: str, **parameters: object) -> Reply:
        """The reply that is no longer about progress."""
        request = ClientRequest(
            path, urlencode({key.rstrip("_"): value for key, value in parameters.items()})
        )
        end = time.monotonic() + _MOST_SECONDS
        while (reply := self.site.reply(request)).status == 202 and time.monotonic() < end:
            pass  # the site waits a while itself
        return reply

    def get(self, path: str, **parameters: object) -> Any:
        """What a reply that is fine says."""
        reply = self.reply(path, **parameters)
        assert reply.status == 200, reply.body
        return decode_reply(reply)

    def fails(self, path: str, status: int, **parameters: object) -> str:
        """The sentence of a reply that is not."""
        reply = self.reply(path, **parameters)
        assert reply.status == status, reply.body
        return f"{decode_reply(reply)['error']} / {decode_reply(reply)['hint']}"


def decode_reply(reply: Reply) -> Any:
    """What a reply says, where it is JSON."""
    assert isinstance(reply.body, bytes)
    return msgspec.json.decode(reply.body)
