"""What a folder of recordings offers: its runs, kept up to date, and their traces, kept open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from timesink.errors import NotFoundError, TimesinkError, UnreadableError
from timesink.readers.discover import Recording
from timesink.readers.options import Progress
from timesink.server.inside import Inside
from timesink.server.opened import KeptValue, OpenTraces
from timesink.server.progress import Report
from timesink.server.rank_sets import RankSets
from timesink.server.runs import ALL_WORKERS, ServedRun
from timesink.server.scanning import Scan
from timesink.store.opening import files_beside

if TYPE_CHECKING:
    from timesink.analyses.ranks.rank_set import RankSet
    from timesink.model.trace import Trace
    from timesink.store.many import Opened

_LOOK_AGAIN_SECONDS = 1.0
_PATIENCE_SECONDS = 0.5
_MOST_SAMPLES = 8
"""Workers that are asked what a run has; more would make large runs wait for little."""
_SHARE_OF_LOOKING = 0.1
"""A tree that takes long to walk is walked less often, so that walking stays a small share."""


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
    ) -> None:
        """`folders` are those the runs lie in, by what the names of their runs begin with.

        Unless they are given it is the path itself, which has to be there.
        """
        if folders is None and not Path(logdir).exists():
            raise UnreadableError.missing(logdir)
        self.logdir, self.cache, self.jobs = str(logdir), cache, jobs
        folders = {"": Path(logdir)} if folders is None else folders
        self._scans = [Scan(Inside(place, follow_links), name) for name, place in folders.items()]
        self._runs: dict[str, ServedRun] = {}
        self._next_look = 0.0
        self._looking = Lock()
        self._opened = OpenTraces(self._open_each)
        self._sets = RankSets(cache=cache, jobs=jobs)

    def runs(self) -> list[str]:
        """Names of the runs with a timeline there are now, sorted."""
        return sorted(name for name, run in self._look().items() if run.recordings)

    def all_runs(self) -> list[ServedRun]:
        """Whatever was recorded, sorted by name."""
        return [run for _, run in sorted(self._look().items())]

    def holds_runs(self) -> bool:
        """Whether there are runs, as far as is known; a long search goes on in the background."""
        if not self._looking.locked():
            searching = Thread(target=self._look, name="timesink search", daemon=True)
            searching.start()
            searching.join(_PATIENCE_SECONDS)
        return bool(self._runs)

    def run(self, name: str) -> ServedRun:
        runs = self._look()
        if name not in runs:
            raise NotFoundError(
                f"{self.logdir}: no run is named {name!r}", "the runs route lists those there are"
            )
        return runs[name]

    def trace(self, run: ServedRun, worker: str, span: str, report: Report | None = None) -> Trace:
        """The trace of one worker and span."""
        return self._get(run, [run.recording(worker, span)], report)[0].future.result()

    def made(
        self,
        run: ServedRun,
        recording: Recording,
        name: str,
        make: Callable[[Trace], Any],
        report: Report | None = None,
    ) -> Any:
        """What is made of a trace, once, and kept as long as the trace is."""
        place = self._get(run, [recording], report)[0]
        trace = place.future.result()
        if report is not None:
            report.start(f"laying out the {name}")
        with place.making:
            if name not in place.made:
                place.made[name] = make(trace)
            return place.made[name]

    def made_already(self, run: ServedRun, recording: Recording, name: str) -> Any | None:
        """What was made of a trace that is open; None where nothing is there yet."""
        run.inside.check([recording.path])
        place = self._opened.known(recording)
        return None if place is None else place.made.get(name)

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
            own = run.recording(worker, span)
            recordings = [own, *(one for one in recordings if one is not own)]
            first = partial(self.trace, run, worker, span)
        key = (run.name, run.state, span, steps)
        return self._sets.get(key, recordings, steps=steps or None, first=first, report=report)

    def samples(self, run: ServedRun, worker: str = ALL_WORKERS) -> list[Trace]:
        """A trace of the worker, or of each of the first few workers; if none can be read, why."""
        workers = run.workers if worker == ALL_WORKERS else [worker]
        spans = [run.of_worker(name) for name in workers]
        # At once, so that they are read side by side.
        self._get(run, [recordings[0] for recordings in spans[:_MOST_SAMPLES]])
        found: list[Trace] = []
        reasons: list[TimesinkError] = []
        for recordings in spans:
            if len(found) < _MOST_SAMPLES:
                try:
                    found.append(self._first_readable(run, recordings))
                except TimesinkError as error:
                    reasons.append(error)
        if not found:
            raise reasons[-1]
        return found

    def _first_readable(self, run: ServedRun, recordings: Sequence[Recording]) -> Trace:
        *others, last = recordings
        for recording in others:
            with suppress(TimesinkError):
                return self._get(run, [recording])[0].future.result()
        return self._get(run, [last])[0].future.result()

    def _get(
        self, run: ServedRun, recordings: Sequence[Recording], report: Report | None = None
    ) -> list[KeptValue[Trace]]:
        for recording in recordings:
            run.inside.check([recording.path])
            with suppress(OSError):
                run.inside.check(files_beside(recording.path))
        return self._opened.get(recordings, report)

    def _look(self) -> dict[str, ServedRun]:
        """The runs there are; while somebody else looks, those known from before."""
        if not self._looking.acquire(blocking=not self._next_look):
            return self._runs
        try:
            started = time.monotonic()
            if started >= self._next_look:
                self._runs = {
                    name: run for scan in self._scans for name, run in scan.runs().items()
                }
                ended = time.monotonic()
                pause = max(_LOOK_AGAIN_SECONDS, (ended - started) / _SHARE_OF_LOOKING)
                self._next_look = ended + pause
        finally:
            self._looking.release()
        return self._runs

    def _open_each(self, recordings: Sequence[Recording], progress: Progress) -> Iterator[Opened]:
        from timesink.store.many import open_each  # noqa: PLC0415 - loads what it needs itself

        for one in open_each(recordings, cache=self.cache, jobs=self.jobs, progress=progress):
            if one.trace is None or one.trace.has_timeline:
                yield one
            else:
                behaves = one.trace.has_behaviour
                why = UnreadableError.only_behaviour if behaves else UnreadableError.no_timeline
                yield replace(one, trace=None, error=why(one.recording.path))
