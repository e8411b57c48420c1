"""Recordings in a folder: which files, whose worker, which span, which rank."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from timesink.collect.record.places import CONTROL_FOLDER
from timesink.errors import UnreadableError
from timesink.model.ordering import natural
from timesink.readers.beside import counters_of_run, may_be_trace
from timesink.readers.names import rank_in_head, rank_in_name, worker_and_span
from timesink.readers.run_file import run_file_in
from timesink.readers.source import open_source

_TRACE_NAME = re.compile(r"\.(?:(?:json|sqlite|csv)(?:\.gz)?|json\.zip|parquet)$", re.IGNORECASE)
_PROFILER_NAME = re.compile(r"\.pt\.trace\.json(?:\.gz|\.zip)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recording:
    """One trace file of a run."""

    path: Path
    worker: str
    span: int | None = None
    """1-based place among the worker's spans, in the order of their timestamps."""
    rank: int | None = None
    """Rank the file name states; the trace itself may say more."""

    @property
    def label(self) -> str:
        return self.worker if self.span is None else f"{self.worker} span {self.span}"


def is_named_by_profiler(recording: Recording) -> bool:
    """Whether the file has the name PyTorch's profiler gives its traces.

    >>> is_named_by_profiler(Recording(Path("worker0.1.pt.trace.json.gz"), "worker0"))
    True
    """
    return _PROFILER_NAME.search(recording.path.name) is not None


def find_recordings(path: Path | str) -> list[Recording]:
    """Every trace at a path, ordered by worker and span; a file is its own only recording.

    Names follow the PyTorch profiler (`<worker>.<timestamp>.pt.trace.json[.gz]`); files with
    other names count as well when their ending says that they may be traces.
    """
    path = Path(path)
    if not path.exists():
        raise UnreadableError.missing(path)
    if path.is_file():
        return _numbered([_recording(path)])
    if not path.is_dir():
        raise UnreadableError(
            f"{path}: neither a file nor a folder", "give the trace as a file; pipes are not read"
        )
    # Folders inside a run are not part of it; a folder of runs has no trace of its own.
    files = _recorded_in(path) or [
        file for run in folders_below(path) for file in _recorded_in(run)
    ]
    recordings = [_recording(file) for file in files or _behaviour_tables(path)]
    if not recordings:
        raise _nothing_in(path)
    return _numbered(recordings)


def _nothing_in(folder: Path) -> UnreadableError:
    if (folder / CONTROL_FOLDER).is_dir():
        return UnreadableError(
            f"{folder}: a recording that has not ended",
            "wait until `timesink record` says so; if it was killed, record again",
        )
    run = run_file_in(folder)
    if run is not None:
        return UnreadableError(
            f"{folder}: a recording without a trace and without counters",
            (run.run and run.run.why_partial) or "record a program that uses PyTorch, or counters",
        )
    return UnreadableError(
        f"{folder}: no trace in this folder",
        "traces end in .json, .json.gz, .zip or .sqlite, behaviour tables in _perf_data.csv; "
        "name the file itself otherwise",
    )


def recordings_in(folder: Path) -> list[Recording]:
    """The traces of exactly this folder, ordered by worker and span; none is no error.

    >>> import timesink
    >>> [recording.worker for recording in recordings_in(timesink.sample().parent)]
    ['unet_train']
    """
    return _numbered(_recording(file) for file in _traces_in(folder))


def told_apart(recordings: Iterable[Recording]) -> list[Recording]:
    """Recordings of one run, none with the worker and span of another.

    Where both are the same, as of `a.json` and `a.json.gz`, the second goes by its file's name.

    >>> files = [Recording(Path("a.json"), "a"), Recording(Path("a.json.gz"), "a")]
    >>> [recording.worker for recording in told_apart(files)]
    ['a', 'a.json.gz']
    """
    seen: set[tuple[str, int | None]] = set()
    apart = []
    for recording in recordings:
        named = (recording.worker, recording.span)
        own_name = sayable(recording.path.name)
        apart.append(replace(recording, worker=own_name) if named in seen else recording)
        seen.add(named)
    return apart


def _traces_in(folder: Path) -> list[Path]:
    """Traces of one folder: those with the profiler's names if there are any, else by content."""
    listed = sorted(folder.iterdir())
    named = [file for file in listed if _PROFILER_NAME.search(file.name) and file.is_file()]
    found = named or [file for file in listed if may_be_trace(file)]
    # A link to a neighbour is not another trace.
    return list({file.resolve(): file for file in reversed(found)}.values())[::-1]


def _recorded_in(folder: Path) -> list[Path]:
    """Traces of one folder; of a recording without any, its counters."""
    traces = _traces_in(folder)
    if traces:
        return traces
    run = run_file_in(folder)
    counters = None if run is None else counters_of_run(run)
    return [] if counters is None else [counters]


def _behaviour_tables(folder: Path) -> list[Path]:
    """What a folder without traces may hold instead."""
    from timesink.readers.behaviour.finding import (  # noqa: PLC0415 - few folders need it
        find_behaviour_tables,
    )

    return find_behaviour_tables(folder)


def folders_below(path: Path) -> Iterator[Path]:
    """A folder and every one below it, in the order of names; links are followed, none twice.

    >>> import timesink
    >>> [folder.name for folder in folders_below(timesink.sample().parent)]
    ['samples']
    """
    seen: set[Path] = set()
    for folder, names, _ in os.walk(path, followlinks=True):
        names[:] = sorted(name for name in names if name != CONTROL_FOLDER)
        real = Path(folder).resolve()
        if real in seen:
            names.clear()
            continue
        seen.add(real)
        yield Path(folder)


def _recording(file: Path) -> Recording:
    worker, timestamp = worker_and_span(file.name)
    return Recording(
        path=file,
        worker=sayable(worker or re.sub(_TRACE_NAME, "", file.name)),
        span=timestamp,
        rank=rank_in_name(file.name),
    )


def sayable(name: str) -> str:
    r"""A name that fits into JSON and into an address; not every file name is proper text.

    >>> sayable("caf\udce9")
    'caf\\xe9'
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _numbered(recordings: Iterable[Recording]) -> list[Recording]:
    """Spans as 1, 2, ...: timestamps are compared as numbers, so that 10 follows 9.

    Files without a timestamp come first and have no number; equal timestamps are one span.
    """
    of_worker: defaultdict[tuple[Path, str], list[Recording]] = defaultdict(list)
    for recording in recordings:
        of_worker[recording.path.parent, recording.worker].append(recording)
    numbered = []
    for key in sorted(of_worker, key=lambda key: (str(key[0]), natural(key[1]))):
        own = sorted(of_worker[key], key=lambda r: (r.span is not None, r.span or 0))
        stamps = sorted({recording.span for recording in own if recording.span is not None})
        number: dict[int | None, int] = {stamp: place for place, stamp in enumerate(stamps, 1)}
        numbered += [replace(recording, span=number.get(recording.span)) for recording in own]
    return numbered


def choose_recording(
    recordings: Iterable[Recording],
    *,
    worker: str | None = None,
    span: int | None = None,
    rank: int | None = None,
) -> list[Recording]:
    """Recordings that fit; a filter that is None fits everything."""
    return [
        recording
        for recording in recordings
        if worker in (None, recording.worker)
        and span in (None, recording.span)
        and (rank is None or _rank_of(recording) == rank)
    ]


def _rank_of(recording: Recording) -> int | None:
    """The rank the file states in its first bytes, else its name: a trace is not read for it."""
    stated = None
    with suppress(UnreadableError, OSError):
        stated = rank_in_head(open_source(recording.path).head())
    return recording.rank if stated is None else stated


def distinct_labels(recordings: Sequence[Recording], root: Path) -> list[str]:
    """Labels that tell recordings apart; paths where worker and span do not."""
    labels = [recording.label for recording in recordings]
    if len(set(labels)) == len(labels):
        return labels
    return [str(recording.path.relative_to(root)) for recording in recordings]
