"""Captures of graphs that lie beside a recording, or that a user named, and how they are read.

`<trace>.captures.json` is what the recorder writes.  A folder `capture_traces` holds traces of the
time in which graphs were captured; `execution_details.json` in it says which batch size each is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.formats.file_names import rank_in_name, stem_of
from timesink.formats.small_files import DamagedError, read_small_json

if TYPE_CHECKING:
    from timesink.model.captures import Capture
    from timesink.model.trace import Trace

FOLDER = "capture_traces"
DETAILS = "execution_details.json"
ENDING = ".captures.json"
_PACKINGS = ("", ".gz")
_TRACES = (".json", ".json.gz")
MAX_FILES = 512
"""Programs capture a graph per batch size, some fifty; a file for each is the most there is."""
_HINT = "name a trace of the time of capture, a folder of them, or a file *.captures.json"


class CaptureFile(msgspec.Struct, frozen=True):
    """A file that says what was captured."""

    path: Path
    label: str = ""
    batch_size: int | None = None
    is_eager: bool = False
    """Whether it is a recording of the program run eagerly."""


def captures_beside(trace: Path) -> list[CaptureFile]:
    """What lies beside a trace: the file of the recorder, else traces of captures."""
    stem = stem_of(trace.name)
    for packing in _PACKINGS:
        file = trace.with_name(f"{stem}{ENDING}{packing}")
        if file != trace and file.is_file():
            return [CaptureFile(file)]
    folder = trace.parent / FOLDER
    return files_in(folder, rank_in_name(trace.name)) if folder.is_dir() else []


def named_captures(place: Path, rank: int | None = None) -> list[CaptureFile]:
    """The captures at a place that a user named: a file, or a folder of them."""
    if place.is_file():
        return [CaptureFile(place)]
    if not place.exists():
        raise UnreadableError.missing(place)
    folder = place / FOLDER if (place / FOLDER).is_dir() else place
    files = files_in(folder, rank) if folder.is_dir() else []
    if not files:
        raise UsageError(f"--capture: {place} holds no captures", _HINT)
    return files


def files_in(folder: Path, rank: int | None) -> list[CaptureFile]:
    """Captures in a folder, in the order of its description or of their names.

    Of several ranks those of the rank that is asked for, where the names say it.
    """
    described = _details(folder)
    with suppress(OSError):
        names = sorted(file.name for file in folder.iterdir() if file.is_file())
        files = [
            described.get(name, CaptureFile(folder / name))
            for name in [*described, *(name for name in names if name not in described)]
            if name in names and name.lower().endswith(_TRACES) and name != DETAILS
        ]
        of_rank = [file for file in files if rank_in_name(file.path.name) == rank]
        return (of_rank if rank is not None and of_rank else files)[:MAX_FILES]
    return []


def _details(folder: Path) -> dict[str, CaptureFile]:
    """What the description of a folder says of its files; only plain names can lie in it."""
    try:
        rows: Any = read_small_json(folder / DETAILS, shape=list)
    except (FileNotFoundError, NotADirectoryError, DamagedError):
        return {}
    described = {}
    for row in rows[:MAX_FILES]:
        name = row.get("file") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name or Path(name).name != name:
            continue
        size, mode = row.get("batch_size"), row.get("mode")
        is_number = isinstance(size, int) and not isinstance(size, bool)
        words = [f"batch size {size}"] * is_number + [str(mode)[:40]] * isinstance(mode, str)
        described[name] = CaptureFile(folder / name, ", ".join(words), size if is_number else None)
    return described


def with_captures(trace: Trace, files: Sequence[CaptureFile], traces: Sequence[Any]) -> Trace:
    """The trace with names from captures; `traces` are those of the files that are traces.

    A file that cannot be read does not make the trace unreadable.
    """
    from timesink.captures.capture_traces import captures_in, eager_capture  # noqa: PLC0415 - start-up time
    from timesink.captures.naming import with_captured_calls  # noqa: PLC0415 - as above
    from timesink.formats.graph_captures import read_captures  # noqa: PLC0415 - as above

    captures: list[Capture] = []
    failures = []
    problems: list[str] = []
    opened = dict(zip((file.path for file in files if is_trace(file)), traces, strict=True))
    for file in files:
        if not is_trace(file):
            try:
                read, failed = read_captures(file.path)
            except (TimesinkError, OSError) as error:
                problems.append(getattr(error, "message", str(error)))
                continue
            captures += read
            failures += failed
            continue
        capture_trace = opened[file.path]
        if isinstance(capture_trace, TimesinkError):
            problems.append(capture_trace.message)
        elif file.is_eager:
            eager = eager_capture(capture_trace, file.path.name)
            captures += [] if eager is None else [eager]
        else:
            read = captures_in(capture_trace, file.path.name, file.label)
            sized = [
                msgspec.structs.replace(capture, batch_size=file.batch_size) for capture in read
            ]
            captures += sized if file.batch_size is not None else read
    return with_captured_calls(trace, captures, failures=failures, problems=problems)


def is_trace(file: CaptureFile) -> bool:
    """Whether a file is a trace, and not one that the recorder wrote about captures."""
    return not any(file.path.name.endswith(f"{ENDING}{packing}") for packing in _PACKINGS)
