"""What a folder of recordings offers: its runs, kept up to date, and their traces, kept open."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore, Lock, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError, TimesinkError, UnreadableError
from timesink.formats.read_options import Progress
from timesink.formats.stored_names import SERIES, STORE
from timesink.model.units import count, count_noun
from timesink.runtime.memory import return_free_memory
from timesink.server.jobs import Jobs, Report
from timesink.server.replies import Encoded
from timesink.server.runs import ALL_WORKERS, ReachableFiles, Scan, ServedAb, ServedRun, ServedWatch
from timesink.sources.recordings import Recording
from timesink.sources.sidecars import sidecars_of

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet
    from timesink.answers.timeline.opening import Timeline
    from timesink.model.trace import Trace
    from timesink.runtime.engine import Engine
    from timesink.sources.opening import Opened


# Values kept between requests: traces that are open, sets of ranks that were read.

MAX_EVENTS = 8_000_000
"""About 2 GB of tables; the traces used last stay, up to so many events together."""
_MIN_TRACES = 2
"""A comparison needs two, whatever their size."""


class TimelineSort(msgspec.Struct, frozen=True):
    """Which timeline of a trace is meant."""

    on_program_clock: bool = False
    """Whether it is on the clock without profiler overhead."""
    overlaid: bool = False
    """Whether what is drawn over it is there as well."""


Value = TypeVar("Value")
Outcomes: TypeAlias = Iterable[tuple["Value | None", "BaseException | None", int]]
"""A value or why there is none, and how large it is."""


class KeptValue(msgspec.Struct, Generic[Value], eq=False):
    """A value that is there, or being made, and what was made of it."""

    future: Future[Value] = msgspec.field(default_factory=Future)
    report: Report = msgspec.field(default_factory=Report)
    """How far whoever makes it has come."""
    timelines: dict[TimelineSort, Timeline] = msgspec.field(default_factory=dict)
    """Of a trace, laid out: worth keeping as long as the trace is."""
    size: int = 0


class TraceCache(Generic[Value]):
    """The values used last.  Each is made once, however many requests wait for it.

    What could not be made is remembered as such, by the key that tells its content.
    """

    def __init__(self, most: int, fewest: int = 1) -> None:
        """Up to `most` of all sizes together are kept, and `fewest` values whatever their size."""
        self._most, self._fewest = most, fewest
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, KeptValue[Value]] = OrderedDict()

    def peek(self, key: Hashable) -> KeptValue[Value] | None:
        """One that is there already."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None:
                self._kept.move_to_end(key)
        return entry if entry is not None and entry.future.done() else None

    def get(
        self,
        keys: Sequence[Hashable],
        make: Callable[[list[int], Report], Outcomes[Value]],
        report: Report | None = None,
    ) -> list[KeptValue[Value]]:
        """The value of each key, made or failed.

        `make` is given the places of keys that nobody has asked for yet, and gives what came of
        each in turn; what it raises is remembered of none of them, so the next request tries again.
        """
        job_report = report or Report()
        with self._lock:
            missing = {key: place for place, key in enumerate(keys) if key not in self._kept}
            self._kept.update((key, KeptValue(report=job_report)) for key in missing)
            entries = [self._kept[key] for key in keys]
            for key in keys:
                self._kept.move_to_end(key)
        waiting = list(missing)
        try:
            for value, error, size in make(list(missing.values()), job_report) if missing else ():
                new_entry = entries[missing[waiting.pop(0)]]
                new_entry.size = size
                if value is not None:
                    new_entry.future.set_result(value)
                else:
                    new_entry.future.set_exception(error)
        except BaseException as error:
            with self._lock:
                for key in waiting:
                    self._kept.pop(key, None)
            for key in waiting:
                entries[missing[key]].future.set_exception(error)
            raise
        for entry in entries:
            if report is not None and not entry.future.done():
                # Another request is making it.
                report.follow(entry.report)
            entry.future.exception()
        with self._lock:
            self._let_go()
        return entries

    def _let_go(self) -> None:
        """Drop the values used longest ago beyond the limit; the lock is held."""
        surplus = sum(entry.size for entry in self._kept.values()) - self._most
        for key in list(self._kept)[: -self._fewest]:
            if surplus <= 0:
                return
            surplus -= self._kept[key].size
            if self._kept[key].future.done():
                del self._kept[key]


def _key(recording: Recording) -> Hashable:
    """Which content a recording has, as far as the file system tells."""
    beside: list[Path] = []
    with suppress(OSError):
        # Logs of collectives are a folder, whose files grow.
        is_folder = recording.path.is_dir()
        beside = (
            sorted(recording.path.iterdir()) if is_folder else sidecars_of(recording.path).files
        )
    named = (recording.path, recording.worker, recording.span)
    return (*named, _state(recording.path), *((file.name, _state(file)) for file in beside))


def _state(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


MAX_RANKS = 4096
"""Of sets used before; the one used last is kept whatever its size."""


class _RanksTold(msgspec.Struct, frozen=True):
    """Progress of a set in words."""

    report: Report

    def __call__(self, done: int, total: int) -> None:
        self.of_set(done, total, 0)

    def of_set(self, done: int, total: int, damaged: int) -> None:
        lost = f", {count(damaged)} damaged" if damaged else ""
        self.report.tell(f"reading ranks: {count(done)} of {count(total)}{lost}", done / total)


_LOOK_AGAIN_SECONDS = 1.0
_PATIENCE_SECONDS = 0.5
_MAX_SAMPLES = 8
"""Workers that are asked what a run has; more would make large runs wait for little."""
_SHARE_OF_LOOKING = 0.1
"""A tree that takes long to walk is walked less often, so that walking stays a small share."""


OpenTraces: TypeAlias = "Callable[[Sequence[Recording], Progress], Iterable[Opened]]"


class RunLibrary:
    """The runs at or below a path, and their traces."""

    def __init__(
        self,
        logdir: Path | str,
        *,
        folders: Mapping[str, Path] | None = None,
        cache: bool = True,
        jobs: int | None = None,
        follow_links: bool = False,
        max_events: int = MAX_EVENTS,
        max_ranks: int = MAX_RANKS,
        engine: Engine | None = None,
        open_traces: OpenTraces | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`folders` are those the runs lie in, by what the names of their runs begin with.

        Unless they are given it is the path itself, which has to be there.  The `engine` makes
        summaries of ranks; `max_events` and `max_ranks` are kept of what was used before.
        """
        if folders is None and not Path(logdir).exists():
            raise UnreadableError.missing(logdir)
        self.logdir, self.cache, self.jobs = str(logdir), cache, jobs
        folders = {"": Path(logdir)} if folders is None else folders
        self._scans = [
            Scan(ReachableFiles(place, follow_links), name) for name, place in folders.items()
        ]
        self._runs: dict[str, ServedRun] = {}
        self._in_turn: dict[str, ServedAb] = {}
        self._watched: dict[str, ServedWatch] = {}
        self._next_look = 0.0
        self._looking = Lock()
        self._opened: TraceCache[Trace] = TraceCache(max_events, _MIN_TRACES)
        self._sets: TraceCache[RankSet] = TraceCache(max_ranks)
        self._engine, self._open_traces = engine, open_traces or self._open_each
        self._clock = clock

    def runs(self) -> list[str]:
        """Names of the runs with a timeline there are now, sorted."""
        return sorted(name for name, run in self._look().items() if run.recordings)

    def all_runs(self) -> list[ServedRun]:
        """Whatever was recorded, sorted by name."""
        return [run for _, run in sorted(self._look().items())]

    def in_turn(self) -> list[ServedAb]:
        """Runs of two versions in turn, sorted by name."""
        self._look()
        return [served_ab for _, served_ab in sorted(self._in_turn.items())]

    def ab(self, name: str) -> ServedAb:
        """One of them."""
        self._look()
        return self._named(self._in_turn, name, "no runs in turn are named")

    def watched(self) -> list[ServedWatch]:
        """Programs that are watched, sorted by name."""
        self._look()
        return [watch for _, watch in sorted(self._watched.items())]

    def watch(self, name: str) -> ServedWatch:
        """One of them."""
        self._look()
        return self._named(self._watched, name, "no watched program is named")

    @property
    def baselines(self) -> Path:
        """The store of baselines below the served folder, else beside it."""
        inside = self._scans[0].inside if self._scans else ReachableFiles(Path(self.logdir))
        root = inside.root if inside.root.is_dir() else inside.root.parent
        below = root / STORE
        return below if below.is_dir() and inside.holds(below) else root.absolute().parent / STORE

    def histories(self) -> tuple[tuple[str, int], ...]:
        """Series of commits in that store, each with when it changed last."""
        with suppress(OSError):
            folders = sorted(self.baselines.glob(f"*{SERIES}"))
            return tuple(
                (folder.stem, folder.stat().st_mtime_ns) for folder in folders if folder.is_dir()
            )
        return ()

    def holds_runs(self) -> bool:
        """Whether there are runs, as far as is known; a long search goes on in the background."""
        if not self._looking.locked():
            searching = Thread(target=self._look, name="timesink search", daemon=True)
            searching.start()
            searching.join(_PATIENCE_SECONDS)
        return bool(self._runs or self._in_turn or self._watched)

    def run(self, name: str) -> ServedRun:
        return self._named(self._look(), name, "no run is named")

    def _named(self, by_name: Mapping[str, Value], name: str, none: str) -> Value:
        if name not in by_name:
            hint = "the runs route lists all runs"
            raise NotFoundError(f"{self.logdir}: {none} {name!r}", hint)
        return by_name[name]

    def trace(self, run: ServedRun, worker: str, span: str, report: Report | None = None) -> Trace:
        """The trace of one worker and span."""
        return self._get(run, [run.recording(worker, span)], report)[0].future.result()

    def timeline(
        self, run: ServedRun, recording: Recording, sort: TimelineSort, report: Report
    ) -> Timeline:
        """The timeline of a trace, laid out once, and kept as long as the trace is."""
        from timesink.answers.timeline.opening import OVERLAYS, open_timeline  # noqa: PLC0415 - loads much

        place = self._get(run, [recording], report)[0]
        trace = place.future.result()
        report.start(
            f"drawing the timeline{' without profiler overhead' if sort.on_program_clock else ''}"
        )
        timeline = open_timeline(trace, is_corrected=sort.on_program_clock)
        for name in OVERLAYS if sort.overlaid else ():
            timeline.overlay(name)
        place.timelines[sort] = timeline
        return timeline

    def timeline_at_hand(
        self, run: ServedRun, recording: Recording, sort: TimelineSort
    ) -> Timeline | None:
        """The timeline of a trace that is open; None where it is not laid out yet."""
        run.inside.check([recording.path])
        place = self._opened.peek(_key(recording))
        return None if place is None else place.timelines.get(sort)

    def ranks(
        self,
        run: ServedRun,
        span: str,
        worker: str = ALL_WORKERS,
        *,
        steps: str = "",
        report: Report | None = None,
    ) -> RankSet:
        """Summaries of all workers of a span; the trace of a `worker` is opened beside, if named.

        Traces of the others stay closed, so that memory grows with workers, not with events.
        """
        recordings = run.span(span)
        for recording in recordings:
            run.inside.check([recording.path])
        first = None
        if worker != ALL_WORKERS:
            worker_recording = run.recording(worker, span)
            recordings = [
                worker_recording,
                *(other for other in recordings if other is not worker_recording),
            ]
            first = partial(self.trace, run, worker, span)

        def read(_places: list[int], job_report: Report) -> Outcomes[RankSet]:
            from timesink.analyses.ranks.reading import read_ranks  # noqa: PLC0415
            from timesink.runtime.engine import LocalEngine  # noqa: PLC0415 - loads what it needs

            job_report.start(f"reading {count_noun(len(recordings), 'ranks')}")
            # A bar with a count from the beginning: the first rank takes longest.
            _RanksTold(job_report)(0, len(recordings))
            ranks = read_ranks(
                recordings,
                engine=self._engine or LocalEngine(self.jobs),
                steps=steps or None,
                cache=self.cache,
                progress=_RanksTold(job_report),
                first=first,
            )
            return [(ranks, None, len(recordings))]

        progress_report, key = report or Report(), (run.name, run.state, span, steps)
        ranks = self._sets.get([key], read, progress_report)[0].future.result()
        progress_report.start("comparing the ranks")
        return ranks

    def samples(self, run: ServedRun, worker: str = ALL_WORKERS) -> list[Trace]:
        """A trace of the worker, or of each of the first few workers; if none can be read, why."""
        workers = run.workers if worker == ALL_WORKERS else [worker]
        spans = [run.of_worker(name) for name in workers]
        # At once, so that they are read side by side.
        self._get(run, [recordings[0] for recordings in spans[:_MAX_SAMPLES]])
        traces: list[Trace] = []
        reason: TimesinkError | None = None
        for recordings in spans:
            for recording in recordings if len(traces) < _MAX_SAMPLES else ():
                try:
                    traces.append(self._get(run, [recording])[0].future.result())
                    break
                except TimesinkError as error:
                    reason = error
        if not traces and reason is not None:
            raise reason
        return traces

    def _get(
        self, run: ServedRun, recordings: Sequence[Recording], report: Report | None = None
    ) -> list[KeptValue[Trace]]:
        """Each recording with its trace, or why there is none; that stands until a file changes."""
        for recording in recordings:
            run.inside.check([recording.path])
            with suppress(OSError):
                run.inside.check(sidecars_of(recording.path).files)

        def opened(places: list[int], job_report: Report) -> Outcomes[Trace]:
            chosen = [recordings[place] for place in places]
            what = chosen[0].path.name if len(chosen) == 1 else count_noun(len(chosen), "traces")
            advance = job_report.start(f"reading {what}", f"putting {what} together")
            for result in self._open_traces(chosen, advance):
                yield (
                    result.trace,
                    result.error,
                    result.trace.metadata.events if result.trace else 0,
                )

        entries = self._opened.get(
            [_key(trace_recording) for trace_recording in recordings], opened, report
        )
        if report is not None:
            report.start("analysing")
        return entries

    def _look(self) -> dict[str, ServedRun]:
        """The runs there are; while somebody else looks, those known from before."""
        if not self._looking.acquire(blocking=not self._next_look):
            return self._runs
        try:
            started = self._clock()
            if started >= self._next_look:
                self._runs = {
                    name: run for scan in self._scans for name, run in scan.runs().items()
                }
                self._in_turn = {
                    name: served_ab
                    for scan in self._scans
                    for name, served_ab in scan.in_turn().items()
                }
                self._watched = {
                    name: watch for scan in self._scans for name, watch in scan.watched().items()
                }
                ended = self._clock()
                pause = max(_LOOK_AGAIN_SECONDS, (ended - started) / _SHARE_OF_LOOKING)
                self._next_look = ended + pause
        finally:
            self._looking.release()
        return self._runs

    def _open_each(self, recordings: Sequence[Recording], progress: Progress) -> Iterator[Opened]:
        from timesink.sources.opening import open_each  # noqa: PLC0415 - loads what it needs itself

        for result in open_each(recordings, cache=self.cache, jobs=self.jobs, progress=progress):
            if result.trace is None or result.trace.has_timeline:
                yield result
            else:
                behaves = result.trace.has_behaviour
                why = UnreadableError.only_behaviour if behaves else UnreadableError.no_timeline
                yield replace(result, trace=None, error=why(result.recording.path))


# Where routes get their answers from: the runs, and somebody who does heavy work.

STREAMS_AT_ONCE = 2
WAIT_SECONDS = 0.25
"""What takes longer is told as progress, and the client asks again."""


def _size(value: Any) -> int:
    return len(value.text) if isinstance(value, Encoded) else 0


class RequestContext(msgspec.Struct, frozen=True):
    """What every route is given."""

    library: RunLibrary
    jobs: Jobs = msgspec.field(default_factory=lambda: Jobs(size=_size, after=return_free_memory))
    _streams: BoundedSemaphore = msgspec.field(
        default_factory=lambda: BoundedSemaphore(STREAMS_AT_ONCE)
    )

    def document(self, key: Hashable, work: Callable[[Report], Any]) -> Encoded:
        """What the work gives, a document or a block of one, as JSON that is kept for a while."""

        def written(report: Report) -> Encoded:
            from timesink.output.json import to_json  # noqa: PLC0415 - loads what it needs itself

            return Encoded(to_json(work(report)))

        document: Encoded = self.jobs.ask(key, written, wait_s=WAIT_SECONDS)
        return document

    def in_turn(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """A long answer that is made while it is sent; few of them are made at once."""
        with self._streams:
            yield from blocks


Answer: TypeAlias = Callable[[RequestContext, Query], Any]
"""A route: what it answers to a query."""
