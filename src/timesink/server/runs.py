"""Runs below a folder: every folder with traces, its workers and their spans."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from timesink.errors import NotFoundError
from timesink.readers.beside import TRACE_ENDINGS
from timesink.readers.discover import (
    Recording,
    find_recordings,
    is_named_by_profiler,
    recordings_in,
    sayable,
    told_apart,
)

ALL_WORKERS = "All"
"""The worker that stands for all workers of a run."""
_NO_TIMESTAMP = "default"

Files: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, size and time of the files of a folder that may be traces."""


def span_of(recording: Recording) -> str:
    """The span as requests spell it.

    >>> span_of(Recording(Path("a"), "worker0", span=2)), span_of(Recording(Path("a"), "worker0"))
    ('2', 'default')
    """
    return _NO_TIMESTAMP if recording.span is None else str(recording.span)


@dataclass(frozen=True)
class Run:
    """The traces of one folder."""

    name: str
    recordings: tuple[Recording, ...]
    """By worker, and by span within a worker."""

    @cached_property
    def workers(self) -> list[str]:
        return list(dict.fromkeys(recording.worker for recording in self.recordings))

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
        found = [recording for recording in self.recordings if recording.worker == worker]
        if not found:
            raise NotFoundError(
                f"{self.name}: no worker is named {worker!r}", f"it has {_shown(self.workers)}"
            )
        return found


def _shown(names: list[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


@dataclass
class Scan:
    """Looks for runs again and again; what did not change is not looked into twice."""

    logdir: Path
    _known: dict[Path, tuple[Files, tuple[Recording, ...]]] = field(default_factory=dict)

    def runs(self) -> dict[str, Run]:
        """Every run at or below the folder, by name."""
        if self.logdir.is_file():
            name = sayable(self.logdir.name)
            return {name: Run(name, tuple(find_recordings(self.logdir)))}
        found = {folder: self._traces_in(folder, files) for folder, files in folders(self.logdir)}
        self._known = {folder: self._known[folder] for folder in found}
        runs = [
            Run(sayable(folder.relative_to(self.logdir).as_posix()), recordings)
            for folder, recordings in found.items()
            if recordings
        ]
        runs = _without_strays(runs)
        return {run.name: run for run in _with_root_named(runs, self.logdir)}

    def _traces_in(self, folder: Path, files: Files) -> tuple[Recording, ...]:
        known_files, recordings = self._known.get(folder, (None, ()))
        if known_files != files:
            recordings = _recordings(folder) if files else ()
            self._known[folder] = files, recordings
        return recordings


def _without_strays(runs: list[Run]) -> list[Run]:
    """In a folder of runs, files of its own are a run only if the profiler named them."""
    return [
        run
        for run in runs
        if run.name != "." or len(runs) == 1 or any(map(is_named_by_profiler, run.recordings))
    ]


def _with_root_named(runs: list[Run], logdir: Path) -> Iterator[Run]:
    """The run that is the folder itself takes its name, unless a run below has it already."""
    whole = os.path.abspath(logdir)  # noqa: PTH100 - a link keeps its own name
    name = sayable(Path(whole).name)
    taken = {run.name for run in runs} | {""}
    for run in runs:
        yield replace(run, name=name) if run.name == "." and name not in taken else run


def folders(root: Path) -> Iterator[tuple[Path, Files]]:
    """Every folder at or below a path with its files that may be traces; links are followed.

    A folder that several links lead to is entered through the first of them only, and a link to a
    folder it lies in is not followed, so that circles end.
    """
    reached: set[Path] = set()
    for place, names, files in os.walk(root, followlinks=True):
        folder = Path(place)
        names[:] = sorted(name for name in names if _leads_on(folder, name, reached))
        yield folder, tuple(_described(folder, files))


def _leads_on(folder: Path, name: str, reached: set[Path]) -> bool:
    place = folder / name
    if not place.is_symlink():
        return True
    target = place.resolve()
    if target in reached or folder.resolve().is_relative_to(target):
        return False
    reached.add(target)
    return True


def _described(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    for name in sorted(names):
        if name.lower().endswith(TRACE_ENDINGS):
            with suppress(OSError):
                stat = (folder / name).stat()
                yield name, stat.st_size, stat.st_mtime_ns


def _recordings(folder: Path) -> tuple[Recording, ...]:
    with suppress(OSError):
        return tuple(told_apart(recordings_in(folder)))
    return ()
