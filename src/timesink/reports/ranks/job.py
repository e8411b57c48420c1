"""What is done for each rank, wherever that may be: read its trace, keep its summary alone."""

from __future__ import annotations

from timesink.analyses.columns import device_columns
from timesink.analyses.names import is_collective_call
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
    # Of what describes an event, a summary needs the inputs of collectives and no more.
    part = _part(open_recording(recording, store, jobs=1, brief=is_collective_call), steps)
    if store is None and not device_columns(part).height:
        # Without a device, the inputs of all operators tell how much there is to do.
        part = _part(open_recording(recording, store, jobs=1), steps)
    return to_parquet(_summary(part))


def summary_of(trace: Trace, *, steps: str | None = None) -> RankSummary:
    """The summary of a trace, or of some of its steps."""
    return _summary(_part(trace, steps))


def _part(trace: Trace, steps: str | None) -> Trace:
    if not trace.has_timeline:
        raise UnreadableError.no_timeline(trace.metadata.source)
    return trace if steps is None else within_steps(trace, steps)


def _summary(part: Trace) -> RankSummary:
    return within_limits(summarise_rank(part), part)
