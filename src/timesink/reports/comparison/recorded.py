"""Recordings as runs: several at once, and from the cache where it has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from timesink.errors import TimesinkError, UnreadableError
from timesink.model.trace import Trace
from timesink.readers.discover import Recording
from timesink.reports.ahead import Helpers, Question
from timesink.reports.comparison import kept_runs
from timesink.reports.comparison.runs import Failure, ReadOptions, SideRun, run_or_failure
from timesink.reports.comparison.sides import SideSource
from timesink.store.cache import Cache
from timesink.store.many import Opened, open_each
from timesink.store.opening import open_recording

Found = tuple[object, SideRun | Failure]
"""Key of a source, and what came of it."""


def recorded_runs(recorded: Mapping[Recording, SideSource], how: ReadOptions) -> Iterator[Found]:
    """What came of each recording."""
    finding = how.finding
    if not how.cache or finding.metric_map is not None:
        # What goes by a map of one's own is not kept, so nobody else can find it.
        opened = open_each(list(recorded), cache=how.cache, jobs=how.jobs, progress=how.progress)
        yield from (_found(recorded[one.recording], one, how) for one in opened)
        return
    with Helpers(list(recorded), Question(finding.marker, finding.by), how.jobs) as helpers:
        own = [one for one in recorded if not helpers.have(one)]
        for one in own:
            yield _found(recorded[one], _opened(one, helpers.cores, how), how)
        others = [one for one in recorded if helpers.have(one)]
        helpers.wait()
    for one in others:
        yield _found(recorded[one], _opened(one, how.jobs, how), how)


def _opened(recording: Recording, cores: int | None, how: ReadOptions) -> Opened:
    """One recording, kept in the cache while its cycles are looked for."""
    store = Cache.default()
    try:
        trace = open_recording(
            recording, store, jobs=cores, progress=how.progress, in_background=store.is_writable()
        )
    except TimesinkError as error:
        return Opened(recording, None, error)
    return Opened(recording, trace)


def _found(source: SideSource, opened: Opened, how: ReadOptions) -> Found:
    if opened.trace is None:
        error = opened.error or UnreadableError.empty(source.path)
        return source.key, Failure(source, error)
    return source.key, _kept_or_found(source, opened.trace, how)


def _kept_or_found(source: SideSource, trace: Trace, how: ReadOptions) -> SideRun | Failure:
    """The run of a recording: as it was kept, else found and kept."""
    if not how.cache:
        return run_or_failure(source, trace, how.finding)
    place = kept_runs.place_for(source, how.finding)
    kept = None if place is None else kept_runs.load_run(place, source, trace)
    if kept is not None:
        return kept
    found = run_or_failure(source, trace, how.finding)
    if place is not None and isinstance(found, SideRun) and found.trace is not None:
        kept_runs.save_run(place, found)
    return found
