"""What is done for each rank, wherever that may be: read its trace, keep its summary alone."""

from __future__ import annotations

from timesink.analyses.ranks.summary import RankSummary, summarise_rank
from timesink.analyses.ranks.summary_tables import to_parquet
from timesink.analyses.ranks.thinning import within_limits
from timesink.analyses.restrict import within_steps
from timesink.errors import UnreadableError
from timesink.model.trace import Trace
from timesink.readers.discover import Recording
from timesink.store.cache import Cache
from timesink.store.opening import key_of, open_recording


def summarise_recording(
    recording: Recording, *, steps: str | None = None, cache: bool = True
) -> bytes:
    """The summary of one recording as Parquet; its trace is not kept, but used where it is.

    >>> import timesink
    >>> from timesink.readers.discover import find_recordings
    >>> summarise_recording(*find_recordings(timesink.sample()))[:4]
    b'PAR1'
    """
    store = Cache.default() if cache else None
    if store is not None and not store.holds(key_of(recording, store)):
        store = None
    return to_parquet(summary_of(open_recording(recording, store, jobs=1), steps=steps))


def summary_of(trace: Trace, *, steps: str | None = None) -> RankSummary:
    """The summary of a trace, or of some of its steps."""
    if not trace.has_timeline:
        raise UnreadableError.no_timeline(trace.metadata.source)
    part = trace if steps is None else within_steps(trace, steps)
    return within_limits(summarise_rank(part), part)
