"""Which files belong together: traces by content, counters by their place beside a trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from timesink.errors import UnreadableError
from timesink.readers.chrome.container import looks_like_events
from timesink.readers.names import rank_in_name
from timesink.readers.run_file import RUN_FILE, RunFile, counters_name, is_run_file, run_file_in
from timesink.readers.source import open_source

_PACKINGS = ("", ".gz")
TRACE_ENDINGS = (".json", ".json.gz", ".zip", ".sqlite", ".sqlite.gz")
"""How the names of files that may be traces end, in small letters."""

_TRACE_MARKS = (b'"rocprofiler-sdk-tool"', b"SQLite format 3\0")
_COUNTER_MARKS = (b'"ID","Process ID"', b"==PROF== ")
"""What files of Nsight Compute hold; they have no timeline."""
_KNOWN_SUFFIX = re.compile(r"\.(gz|zip|json|sqlite|trace|pt)$", re.IGNORECASE)
_PARTNERS = {
    "_perf_data.csv": "_counters_data.csv",
    "micro_event.csv": "macro_counter.csv",
}
_PAIRED = re.compile(
    r"_perf_data\.csv(?=(?:\.gz)?$)|(?<![^_.-])micro_event\.csv(?=(?:\.gz)?$)", re.IGNORECASE
)
_EVENT_TABLE = re.compile(r"(?<![^_.-])micro_event\.csv(?:\.gz)?$", re.IGNORECASE)
_TOPOLOGY = "topo_component.csv"
_HEAD_BYTES = 64 * 1024


def find_beside(path: Path) -> Path | None:
    """The counters that belong to a trace file.

    `<trace>.counters.csv` always does; `counters.csv` does in a folder with no other trace, or
    where `run.json` says that both are of one run.
    `X_counters_data.csv` goes with `X_perf_data.csv`, `macro_counter.csv` with `micro_event.csv`.
    """
    partner = _partner(path)
    if partner is not None:
        return partner
    named = (f"{stem}.counters.csv{packing}" for stem in _stems(path) for packing in _PACKINGS)
    found = next((path.with_name(name) for name in named if path.with_name(name).is_file()), None)
    if found is not None:
        return found
    run = find_run(path)
    shared = None if run is None else counters_of_run(run)
    if run is not None and run.names(path.name) and shared is not None:
        return shared if shared.name != path.name else None
    for packing in _PACKINGS:
        common = path.with_name(f"counters.csv{packing}")
        if common.is_file() and common != path:
            return common if _is_only_trace(path) else None
    return None


def find_run(path: Path) -> RunFile | None:
    """What the recorder of a trace, or of counters, says about the run."""
    if path.name == RUN_FILE:
        return None
    run = run_file_in(path.parent)
    if run is None:
        return None
    return run if run.names(path.name) or _is_only_trace(path) else None


def counters_of_run(run: RunFile) -> Path | None:
    """The counters of a recorded run, where they are there."""
    files = (run.path.with_name(counters_name(run.run) + packing) for packing in _PACKINGS)
    return next((file for file in files if file.is_file()), None)


def find_topology(path: Path) -> Path | None:
    """The description of the machine that some recorders leave beside a trace."""
    files = (path.with_name(_TOPOLOGY + packing) for packing in _PACKINGS)
    return next((file for file in files if file.is_file()), None)


def _partner(path: Path) -> Path | None:
    """The file that some programs write together with one of this name."""
    name, replaced = _PAIRED.subn(lambda found: _PARTNERS[found[0].lower()], path.name)
    if not replaced:
        return None
    stem = re.sub(r"\.gz$", "", name, flags=re.IGNORECASE)
    files = (path.with_name(stem + packing) for packing in _PACKINGS)
    return next((file for file in files if file.is_file()), None)


def _stems(path: Path) -> Iterator[str]:
    name = path.name
    while stripped := _KNOWN_SUFFIX.sub("", name):
        if stripped == name:
            return
        name = stripped
        yield name


def _is_only_trace(path: Path) -> bool:
    return not any(
        other.name != path.name and looks_like_trace(other) for other in path.parent.iterdir()
    )


def looks_like_trace(path: Path) -> bool:
    """Whether a file named like a trace is one."""
    if is_event_table(path):
        return True
    if is_run_file(path):
        return False
    return _is_named_like_trace(path) and _holds_trace(path)


def _holds_trace(path: Path) -> bool:
    with suppress(UnreadableError, OSError):
        return _is_trace(open_source(path).head(_HEAD_BYTES))
    return False


def may_be_trace(path: Path) -> bool:
    """Whether a file named like a trace is one, or was meant to be: other JSON is none."""
    if is_event_table(path):
        return True
    if is_named_by_rank_alone(path.name):
        return path.is_file() and _holds_trace(path)
    if not _is_named_like_trace(path):
        return False
    if path.name == RUN_FILE:
        # Only a trace that can be read as one goes by this name.
        return looks_like_trace(path)
    with suppress(UnreadableError, OSError):
        head = open_source(path).head(_HEAD_BYTES)
        return head_may_be_trace(head, is_whole=len(head) < _HEAD_BYTES)
    return True  # it cannot be read, and whoever opens it will say why


def head_may_be_trace(head: bytes, *, is_whole: bool) -> bool:
    """Whether a file that begins like this is a trace, or was meant to be one."""
    if any(mark in head for mark in _COUNTER_MARKS):
        return False
    return _is_trace(head) or (is_whole and not _is_json(head))


def is_event_table(path: Path) -> bool:
    """Whether a file is named as a CSV of events is: other CSV files are no traces."""
    return is_named_as_event_table(path.name) and path.is_file()


def is_named_by_rank_alone(name: str) -> bool:
    """Whether a name has no ending but states a rank, as some recorders write them."""
    return "." not in name and rank_in_name(name) is not None


def is_named_as_event_table(name: str) -> bool:
    """Whether a name is that of a CSV of events."""
    return _EVENT_TABLE.search(name) is not None


def belongs_beside(name: str, trace: str, *, shared: bool) -> bool:
    """Whether a file is one that is read with a trace beside it, as far as names tell.

    `shared` says that what has the name of no trace is of this one.
    """
    plain = re.sub(r"\.gz$", "", name, flags=re.IGNORECASE)
    partner, paired = _PAIRED.subn(lambda found: _PARTNERS[found[0].lower()], trace)
    own = [f"{stem}.counters.csv" for stem in _stems(Path(trace))]
    own += [re.sub(r"\.gz$", "", partner, flags=re.IGNORECASE)] if paired else []
    common = ("counters.csv", RUN_FILE) if shared else ()
    return plain in (*own, *common, _TOPOLOGY)


def _is_named_like_trace(path: Path) -> bool:
    return path.name.lower().endswith(TRACE_ENDINGS) and path.is_file()


def _is_trace(head: bytes) -> bool:
    return looks_like_events(head) or any(mark in head for mark in _TRACE_MARKS)


def _is_json(content: bytes) -> bool:
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
