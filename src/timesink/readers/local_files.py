"""Files of this machine that are traces: at a path, in a folder, or where a pattern fits."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from timesink.collect.record.places import CONTROL_FOLDER
from timesink.errors import UnreadableError
from timesink.readers.beside import counters_of_run, is_trace_file
from timesink.readers.names import is_named_as_table, is_profiler_name
from timesink.readers.run_file import run_file_in


def files_at(path: Path) -> list[Path]:
    """The traces at a path: the file itself, or those of the folder, else of folders below it."""
    if not path.exists():
        raise UnreadableError.missing(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UnreadableError(
            f"{path}: neither a file nor a folder", "give the trace as a file; pipes are not read"
        )
    # Folders inside a run are not part of it; a folder of runs has no trace of its own.
    files = _recorded_in(path) or _recorded_below(path) or _behaviour_tables(path)
    if not files:
        raise _nothing_in(path)
    return files


def matching(pattern: str) -> list[Path]:
    """Traces that a pattern of paths fits, and those in folders that it fits."""
    # The pattern may begin anywhere, which pathlib does not take.
    matches = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207
    named = [file for file in matches if file.is_file()]
    folders = [folder for folder in matches if folder.is_dir()]
    traces = [file for file in named if is_trace_file(file)]
    traces += [file for folder in folders for file in _recorded_in(folder)]
    traces = traces or [file for folder in folders for file in _recorded_below(folder)]
    found = traces or [file for file in named if is_named_as_table(file.name)] or named
    if not found:
        raise UnreadableError.no_match(pattern)
    return _each_once(found)


def _each_once(files: list[Path]) -> list[Path]:
    """A file is there once, however many ways and links lead to it; the first of them counts."""
    return list({file.resolve(): file for file in reversed(files)}.values())[::-1]


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
    return UnreadableError.no_trace(folder)


def traces_in(folder: Path) -> list[Path]:
    """Traces of one folder: those with the profiler's names if there are any, else by content."""
    listed = sorted(folder.iterdir())
    named = [file for file in listed if is_profiler_name(file.name) and file.is_file()]
    return _each_once(named or [file for file in listed if is_trace_file(file)])


def traces_left_out(folder: Path) -> list[Path]:
    """Traces of a folder that `traces_in` does not take, because others have a profiler's names."""
    taken = set(traces_in(folder))
    if not any(is_profiler_name(file.name) for file in taken):
        return []
    others = (file for file in sorted(folder.iterdir()) if not is_profiler_name(file.name))
    return [file for file in others if is_trace_file(file)]


def _recorded_in(folder: Path) -> list[Path]:
    """Traces of one folder; of a recording without any, its counters."""
    traces = traces_in(folder)
    if traces:
        return traces
    run = run_file_in(folder)
    counters = None if run is None else counters_of_run(run)
    return [] if counters is None else [counters]


def _recorded_below(folder: Path) -> list[Path]:
    return [file for run in folders_below(folder) for file in _recorded_in(run)]


def _behaviour_tables(folder: Path) -> list[Path]:
    """What a folder without traces may hold instead."""
    from timesink.readers.behaviour.finding import (  # noqa: PLC0415 - few folders need it
        find_behaviour_tables,
    )

    return find_behaviour_tables(folder)


def folders_below(path: Path) -> Iterator[Path]:
    """A folder and every one below it, in the order of names; links are followed, none twice."""
    seen: set[Path] = set()
    for folder, names, _ in os.walk(path, followlinks=True):
        names[:] = sorted(name for name in names if name != CONTROL_FOLDER)
        real = Path(folder).resolve()
        if real in seen:
            names.clear()
            continue
        seen.add(real)
        yield Path(folder)
