"""A run: the recordings of one folder, its workers and their spans."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from timesink.errors import NotFoundError
from timesink.readers.discover import Recording
from timesink.server.inside import Inside

ALL_WORKERS = "All"
"""The worker that stands for all workers of a run."""
_NO_TIMESTAMP = "default"

Files: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, size and time of the files of a folder that may matter."""


def span_of(recording: Recording) -> str:
    """The span as requests spell it."""
    return _NO_TIMESTAMP if recording.span is None else str(recording.span)


@dataclass(frozen=True)
class ServedRun:
    """What was recorded in one folder."""

    name: str
    folder: Path
    """Or the one file that is served."""
    inside: Inside
    """What of its files may be reached."""
    recordings: tuple[Recording, ...] = ()
    """Timelines by worker, and by span within a worker."""
    tables: tuple[Path, ...] = ()
    """Behaviour tables."""
    counters: tuple[Path, ...] = ()
    """Files of Nsight Compute."""
    files: Files = ()
    recorded_now: bool = False
    """Whether a recorder is at work in the folder."""

    @cached_property
    def _by_worker(self) -> dict[str, list[Recording]]:
        found: dict[str, list[Recording]] = {}
        for recording in self.recordings:
            found.setdefault(recording.worker, []).append(recording)
        return found

    @property
    def workers(self) -> list[str]:
        return list(self._by_worker)

    @property
    def state(self) -> tuple[object, ...]:
        """Changes when anything of the run does."""
        return self.name, self.files, self.recorded_now

    def spans(self, worker: str) -> list[str]:
        """Spans of a worker, or of all workers together, in the order of time."""
        chosen = self.of_worker(worker)
        # A worker whose files carry no timestamp has one span, without a number.
        order = {span_of(recording): recording.span or 0 for recording in chosen}
        return sorted(order, key=lambda span: order[span])

    def recording(self, worker: str, span: str) -> Recording:
        """The trace of one worker and span."""
        if worker == ALL_WORKERS:
            raise NotFoundError(
                f"{self.name}: this view is of one worker, not of {ALL_WORKERS}",
                f"it has {_shown(self.workers)}",
            )
        return self.span(span, worker)[0]

    def span(self, span: str, worker: str = ALL_WORKERS) -> list[Recording]:
        """The traces of one span, of one worker or of all."""
        chosen = self.of_worker(worker)
        found = [recording for recording in chosen if span_of(recording) == span]
        if not found:
            raise NotFoundError(
                f"{self.name}: {worker} has no span {span!r}",
                f"it has {_shown(self.spans(worker))}",
            )
        return found

    def of_worker(self, worker: str) -> list[Recording]:
        """The traces of one worker, or of all."""
        if worker == ALL_WORKERS:
            return list(self.recordings)
        found = self._by_worker.get(worker)
        if not found:
            raise NotFoundError(
                f"{self.name}: no worker is named {worker!r}", f"it has {_shown(self.workers)}"
            )
        return found


def _shown(names: list[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
