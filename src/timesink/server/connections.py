"""Connections that do not wait for ever, for `timesink serve`."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class BoundedConnection(H11Protocol):
    """Closed when no whole request comes, or when an answer is not taken.

    The server below closes what is idle after an answer only.  Without this, clients that begin a
    request and stop would hold files of the server, and those that stop reading an export its turn.
    """

    seconds_to_ask: ClassVar[float] = 15.0
    seconds_to_take: ClassVar[float] = 60.0
    """So long nothing at all of an answer may be taken."""
    _asking: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._asking, self._taking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taking = self.loop.call_later(self.seconds_to_take, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()

    def _expect_request(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self._asking = self.loop.call_later(self.seconds_to_ask, self._close_unless_asked)

    def _close_unless_asked(self) -> None:
        # There is none before the first request, though its type does not say so.
        if getattr(self.cycle, "response_complete", True):
            self.transport.close()
