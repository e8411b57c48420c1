"""Where routes get their answers from: the runs, and somebody who does heavy work."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import Any, TypeAlias

from timesink.reports.plugin.query import Query
from timesink.server.answers import Encoded, encoded
from timesink.server.jobs import Jobs
from timesink.server.library import RunLibrary
from timesink.server.progress import Report
from timesink.store.free_memory import return_free_memory

STREAMS_AT_ONCE = 2
WAIT_SECONDS = 0.25
"""What takes longer is told as progress, and the client asks again."""


def _size(value: Any) -> int:
    return len(value.text) if isinstance(value, Encoded) else 0


@dataclass(frozen=True)
class Desk:
    """What every route is given."""

    library: RunLibrary
    jobs: Jobs = field(default_factory=lambda: Jobs(size=_size, after=return_free_memory))
    _streams: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(STREAMS_AT_ONCE))

    def soon(self, key: Hashable, work: Callable[[Report], Any]) -> Any:
        """What the work gives, once; `StillWorking` is raised while it is not there."""
        return self.jobs.ask(key, work, wait_s=WAIT_SECONDS, keep=False)

    def document(self, key: Hashable, work: Callable[[Report], Any]) -> Encoded:
        """What the work gives as JSON, kept for a while."""
        told: Encoded = self.jobs.ask(
            key, lambda report: encoded(work(report)), wait_s=WAIT_SECONDS
        )
        return told

    def awaited(self, work: Callable[[Report], Any]) -> Any:
        """What the work gives, for clients that do not ask again: they wait."""
        return self.jobs.ask(object(), work, keep=False)

    def in_turn(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """A long answer that is made while it is sent; few of them are made at once."""
        with self._streams:
            yield from blocks


Answer: TypeAlias = Callable[[Desk, Query], Any]
"""A route: what it answers to a query."""
