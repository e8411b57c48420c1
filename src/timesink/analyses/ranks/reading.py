"""What is done for each rank, wherever that may be: read its trace, keep its summary alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter

import msgspec
from msgspec import structs

from timesink.analyses.columns import device_columns
from timesink.analyses.fitness import carry_fitness
from timesink.analyses.ranks.rank_set import (
    DamagedRank,
    NamedRecording,
    RankSet,
    ranks_of,
    ranks_of_traces,
)
from timesink.analyses.ranks.runs import RankIdentity, recorded_runs
from timesink.analyses.ranks.summary import (
    RankSummary,
    from_parquet,
    from_parquets,
    summarise_rank,
    thinned_to,
    to_parquet,
    within_limits,
)
from timesink.analyses.steps import within_steps
from timesink.errors import AmbiguousError, NotFoundError, TimesinkError, UnreadableError
from timesink.formats.file_names import is_profiler_name, worker_and_span
from timesink.formats.read_options import Progress, tell_of_set
from timesink.model.trace import Trace
from timesink.model.units import count_noun, join_names
from timesink.model.vendors import is_collective_call
from timesink.runtime.engine import Call, Done, Engine
from timesink.sources.cache import Cache
from timesink.sources.kept_answers import KeptSummaries
from timesink.sources.opening import key_of, open_recording
from timesink.sources.recordings import Recording
from timesink.sources.sidecars import find_run


def summarise_recording(
    recording: Recording, *, steps: str | None = None, cache: bool = True
) -> bytes:
    """The summary of one recording as Parquet; its trace is not kept, but used where it is."""
    store = Cache.default() if cache else None
    if store is not None and not store.holds(key_of(recording, store)):
        store = None
    # Of what describes an event, a summary needs the inputs of collectives and no more.
    part = _part(open_recording(recording, store, jobs=1, brief=is_collective_call), steps)
    if store is None and not device_columns(part).height:
        # Without a device, the inputs of all operators tell how much there is to do.
        part = _part(open_recording(recording, store, jobs=1), steps)
    return to_parquet(within_limits(summarise_rank(part), part))


def summary_of(trace: Trace, *, steps: str | None = None) -> RankSummary:
    """The summary of a trace, or of some of its steps."""
    part = _part(trace, steps)
    return within_limits(summarise_rank(part), part)


def _part(trace: Trace, steps: str | None) -> Trace:
    if not trace.has_timeline:
        raise UnreadableError.no_timeline(trace.metadata.source)
    return trace if steps is None else carry_fitness(within_steps(trace, steps), trace)


# From recordings to a set of ranks: what is known comes from the cache, an engine makes the rest.
#
# This process holds summaries only, so its memory grows with ranks and functions, not with
# events.

_AT_ONCE = 64
_MAX_CALLS = 1_000_000
"""Collectives of all ranks together that this process holds; of more, some steps are left out."""
_MIN_CALLS = 256
_IS_A_BUG = "this is a bug: report it with the output of --debug"
_JOB = ("timesink.analyses.ranks.reading", "summarise_recording")


def read_ranks(
    recordings: Sequence[Recording],
    *,
    engine: Engine,
    steps: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    first: Callable[[], Trace] | None = None,
) -> RankSet:
    """The ranks of one run.  A rank that cannot be read is told, and the others stand.

    Ranks without any of the `steps` are left out.  `first` opens the first recording, where this
    process does that anyway: then nobody else reads it.
    """
    summary_cache = KeptSummaries(Cache.default(), steps or "") if cache else None
    keys = (
        []
        if summary_cache is None
        else [_kept_key(recording, summary_cache.store) for recording in recordings]
    )
    reading = _Reading(recordings, summary_cache, keys, progress)
    reading.take_kept()
    missing = reading.missing()
    with ThreadPoolExecutor(1) as beside:
        first_future = None
        if first is not None and 0 in missing:
            first_future = beside.submit(lambda: to_parquet(summary_of(first(), steps=steps)))
            missing.remove(0)
        call = Call(*_JOB, {"steps": steps, "cache": cache})
        for done in engine.run(call, [recordings[place] for place in missing]) if missing else ():
            reading.take(missing[done.place], done)
        if first_future is not None:
            try:
                done = Done(0, first_future.result())
            except TimesinkError as error:
                done = Done(0, None, error)
            reading.take(0, done)
    return reading.finished()


class _Reading(msgspec.Struct, eq=False):
    """What is known so far of each recording, by its place."""

    recordings: Sequence[Recording]
    summary_cache: KeptSummaries | None
    keys: Sequence[str]
    """What summaries are kept by, where they are."""
    progress: Progress | None = None
    summaries: dict[int, RankSummary] = msgspec.field(default_factory=dict)
    unread: dict[int, bytes] = msgspec.field(default_factory=dict)
    errors: dict[int, TimesinkError] = msgspec.field(default_factory=dict)
    fresh_places: set[int] = msgspec.field(default_factory=set)
    """Places of those that were made just now."""

    def missing(self) -> list[int]:
        return [place for place in range(len(self.recordings)) if place not in self.summaries]

    def take_kept(self) -> None:
        """What the cache has; what is broken there is made again."""
        if self.summary_cache is None:
            return
        for place in self.missing():
            written = self.summary_cache.load(self.keys[place])
            if written is not None:
                self._take(place, written)
        for place in self._read() if self.unread else ():
            self.summary_cache.forget(self.keys[place])

    def take(self, place: int, done: Done) -> None:
        """What was made just now; it is kept for the next question."""
        if done.value is not None:
            self.fresh_places.add(place)
            self._take(place, done.value)
            if self.summary_cache is not None:
                self.summary_cache.save(self.keys[place], done.value)
        elif done.error is not None:
            self.errors[place] = done.error
        ready = len(self.summaries) + len(self.unread) + len(self.errors)
        tell_of_set(self.progress, ready, len(self.recordings), len(self.errors))

    def _take(self, place: int, written: bytes) -> None:
        self.unread[place] = written
        if len(self.unread) >= _AT_ONCE:
            self._read()

    def _read(self) -> list[int]:
        """Summaries from their bytes, many at once; places of those that are broken."""
        batch, self.unread = self.unread, {}
        try:
            summaries = dict(zip(batch, from_parquets([*batch.values()]), strict=True))
        except ValueError:
            summaries = {}
            for place, written in batch.items():
                with suppress(ValueError):
                    summaries[place] = from_parquet(written)
        for place, summary in summaries.items():
            # Equal files share a summary, so where it came from is said here.
            about = structs.replace(summary.about, source=self.recordings[place].source)
            most = max(_MAX_CALLS // len(self.recordings), _MIN_CALLS)
            self.summaries[place] = thinned_to(structs.replace(summary, about=about), most)
        broken = [place for place in batch if place not in summaries]
        for place in self.fresh_places.intersection(broken):
            # Whoever made it would make it again: the rank is told, not lost.
            source = self.recordings[place].source
            self.errors[place] = TimesinkError(f"{source}: its summary is broken", _IS_A_BUG)
        return broken

    def finished(self) -> RankSet:
        if self.unread:
            self._read()
        if self.summary_cache is not None and self.fresh_places:
            self.summary_cache.store.settle()
        if not self.summaries:
            raise self.errors[min(self.errors)]
        missing_places = [p for p, error in self.errors.items() if isinstance(error, NotFoundError)]
        at = self.recordings
        named = [
            (NamedRecording(at[place].worker, summary.about.rank, at[place].rank), summary)
            for place, summary in sorted(self.summaries.items(), key=itemgetter(0))
        ]
        left_out = [
            NamedRecording(at[place].worker, None, at[place].rank)
            for place in sorted(missing_places)
        ]
        damaged = (
            DamagedRank(at[place].worker, at[place].source, str(error), at[place].rank)
            for place, error in sorted(self.errors.items(), key=itemgetter(0))
            if place not in missing_places
        )
        summaries = [(at[place], summary) for place, summary in sorted(self.summaries.items())]
        ranks = ranks_of(named, tuple(damaged), left_out)
        return replace(ranks, runs=_recorded_runs(summaries))


def set_of_traces(recordings: Sequence[Recording], traces: Mapping[str, Trace]) -> RankSet:
    """The set of traces that are open already, by the names of the workers of its recordings."""
    ranks = ranks_of_traces(traces)
    summaries = [
        (recording, summarise_rank(traces[recording.worker]))
        for recording in recordings
        if recording.worker in traces
    ]
    return replace(ranks, runs=_recorded_runs(summaries))


def _recorded_runs(
    summaries: Sequence[tuple[Recording, RankSummary]],
) -> tuple[tuple[str, ...], ...]:
    """The workers of each run; one entry where all recordings are of one."""
    return recorded_runs([_identity(*entry) for entry in summaries])


def _identity(recording: Recording, summary: RankSummary) -> RankIdentity:
    """What a recording, its name and its recorder say of the run it is of."""
    name = recording.path.name
    run = find_run(recording.path) if recording.remote is None else None
    return RankIdentity(
        summary,
        recording.worker,
        recording.rank,
        job="" if run is None else str(run.path),
        pattern=re.sub("[0-9]+", "", name),
        is_named_by_profiler=is_profiler_name(name),
        written_ms=worker_and_span(name)[1],
    )


def _kept_key(recording: Recording, store: Cache) -> str:
    """Of a recording as it lies there: its folder may say which rank and host it is."""
    content = key_of(recording, store)
    return content and f"{content} {recording.rank} {recording.host}"


class UnrelatedRunsError(AmbiguousError):
    """One run was asked for, and the recordings at the place are no ranks of one."""

    def __init__(self, place: str, recordings: Sequence[Recording], ranks: RankSet) -> None:
        by_worker = {recording.worker: recording for recording in recordings}
        self.place = place
        self.runs = [[by_worker[worker] for worker in run] for run in ranks.runs]
        """The recordings of each run."""
        self.damaged = ranks.damaged
        names = [run[0].worker for run in self.runs]
        super().__init__(
            f"{place}: holds {count_noun(len(names), 'recordings')} that are no ranks of one run "
            f"({join_names(names, most=_MAX_NAMED)})",
            f"name one of them, e.g. {self.runs[0][0].source}",
        )


_MAX_NAMED = 4


# A run of several ranks: one of them open in detail, all of them as summaries.


def open_set(
    recordings: Sequence[Recording],
    *,
    engine: Engine,
    steps: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> tuple[RankSet, str, Trace]:
    """The ranks of a run, and the first of them that can be read, by worker and trace.

    This process opens the first rank itself, while the engine sees to the others.  The trace in
    detail is the whole one, whatever `steps` of it the summaries are of.
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
    detailed = next(recording for recording in recordings if recording.worker in readable)
    if detailed is recordings[0]:
        # The summary of one that cannot be read may come from the cache all the same.
        with suppress(TimesinkError):
            return ranks, detailed.worker, first.result()
    return ranks, detailed.worker, open_recording(detailed, store, in_background=True)
