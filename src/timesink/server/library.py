"""What a folder of recordings offers: its runs, kept up to date, and their traces, kept open."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from timesink.errors import NotFoundError, TimesinkError, UnreadableError
from timesink.readers.discover import Recording
from timesink.server.opened import OpenTraces
from timesink.server.runs import ALL_WORKERS, Run, Scan

if TYPE_CHECKING:
    from timesink.model.trace import Trace
    from timesink.store.many import Opened

_LOOK_AGAIN_SECONDS = 1.0
_MOST_SAMPLES = 8
"""Workers that are asked what a run has; more would make large runs wait for little."""
_SHARE_OF_LOOKING = 0.1
"""A tree that takes long to walk is walked less often, so that walking stays a small share."""


class RunLibrary:
    """The runs at or below a path, and their traces.

    >>> import timesink
    >>> library = RunLibrary(timesink.sample())
    >>> library.runs(), library.run("unet_train.pt.trace.json.gz").workers
    (['unet_train.pt.trace.json.gz'], ['unet_train'])
    """

    def __init__(self, logdir: Path | str, *, cache: bool = True, jobs: int | None = None) -> None:
        self.logdir = Path(logdir)
        if not self.logdir.exists():
            raise UnreadableError.missing(self.logdir)
        self._cache, self._jobs = cache, jobs
        self._scan = Scan(self.logdir)
        self._runs: dict[str, Run] = {}
        self._next_look = 0.0
        self._looking = Lock()
        self._opened = OpenTraces(self._open_each)

    def runs(self) -> list[str]:
        """Names of the runs there are now, sorted."""
        return sorted(self._look())

    def run(self, name: str) -> Run:
        runs = self._look()
        if name not in runs:
            raise NotFoundError(
                f"{self.logdir}: no run is named {name!r}", "the runs route lists those there are"
            )
        return runs[name]

    def trace(self, run: Run, worker: str, span: str) -> Trace:
        """The trace of one worker and span."""
        return self._opened.get([run.recording(worker, span)])[0].result()

    def span(
        self, run: Run, span: str, worker: str = ALL_WORKERS
    ) -> tuple[dict[str, Trace], dict[str, str]]:
        """The traces of one span by worker, and why those that are missing could not be read."""
        recordings = run.span(span, worker)
        places = dict(zip(recordings, self._opened.get(recordings), strict=True))
        reasons = {recording: place.exception() for recording, place in places.items()}
        unreadable = {
            recording.worker: reason.message
            for recording, reason in reasons.items()
            if isinstance(reason, TimesinkError)
        }
        if len(unreadable) == len(recordings):
            places[recordings[0]].result()
        traces = {
            recording.worker: place.result()
            for recording, place in places.items()
            if recording.worker not in unreadable
        }
        return traces, unreadable

    def samples(self, run: Run, worker: str = ALL_WORKERS) -> list[Trace]:
        """A trace of the worker, or of each of the first few workers; if none can be read, why."""
        workers = run.workers if worker == ALL_WORKERS else [worker]
        spans = [run.of_worker(name) for name in workers]
        # At once, so that they are read side by side.
        self._opened.get([recordings[0] for recordings in spans[:_MOST_SAMPLES]])
        found: list[Trace] = []
        reasons: list[TimesinkError] = []
        for recordings in spans:
            if len(found) < _MOST_SAMPLES:
                try:
                    found.append(self._first_readable(recordings))
                except TimesinkError as error:
                    reasons.append(error)
        if not found:
            raise reasons[-1]
        return found

    def _first_readable(self, recordings: Sequence[Recording]) -> Trace:
        *others, last = recordings
        for recording in others:
            with suppress(TimesinkError):
                return self._opened.get([recording])[0].result()
        return self._opened.get([last])[0].result()

    def _look(self) -> dict[str, Run]:
        with self._looking:
            started = time.monotonic()
            if started >= self._next_look:
                self._runs = self._scan.runs()
                ended = time.monotonic()
                pause = max(_LOOK_AGAIN_SECONDS, (ended - started) / _SHARE_OF_LOOKING)
                self._next_look = ended + pause
            return self._runs

    def _open_each(self, recordings: Sequence[Recording]) -> Iterator[Opened]:
        from timesink.store.many import open_each  # noqa: PLC0415 - loads what it needs itself

        for one in open_each(recordings, cache=self._cache, jobs=self._jobs):
            if one.trace is None or one.trace.has_timeline:
                yield one
            else:
                path = one.recording.path
                behaves = one.trace.has_behaviour
                why = UnreadableError.only_behaviour if behaves else UnreadableError.no_timeline
                error = why(path)
                yield replace(one, trace=None, error=error)
