"""A run of several ranks: one of them open in detail, all of them as summaries."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from timesink.analyses.ranks.rank_set import RankSet
from timesink.engines.engine import Engine
from timesink.errors import TimesinkError
from timesink.model.trace import Trace
from timesink.readers.options import Progress
from timesink.readers.recording import Recording
from timesink.reports.ranks.reading import read_ranks
from timesink.store.cache import Cache
from timesink.store.opening import open_recording


@dataclass(frozen=True, eq=False)
class OpenedSet:
    """The ranks of a run, and the trace of the first of them that can be read."""

    ranks: RankSet
    worker: str
    """Whose trace it is."""
    trace: Trace


def open_set(
    recordings: Sequence[Recording],
    *,
    engine: Engine,
    steps: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> OpenedSet:
    """Read all ranks; this process opens the first itself, while the engine sees to the others.

    The trace in detail is the whole one, whatever `steps` of it the summaries are of.
    """
    store = Cache.default() if cache else None
    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(open_recording, recordings[0], store, jobs=1, in_background=True)
        ranks = read_ranks(
            recordings,
            engine=engine,
            steps=steps,
            cache=cache,
            progress=progress,
            first=first.result,
        )
    readable = set(ranks.names)
    detailed = next(one for one in recordings if one.worker in readable)
    if detailed is recordings[0] and not _failed(first):
        return OpenedSet(ranks, detailed.worker, first.result())
    opened = open_recording(detailed, store, in_background=True)
    return OpenedSet(ranks, detailed.worker, opened)


def _failed(opening: Future[Trace]) -> bool:
    """Whether it cannot be read; its summary may come from the cache all the same."""
    error = opening.exception()
    if error is not None and not isinstance(error, TimesinkError):
        raise error
    return error is not None
