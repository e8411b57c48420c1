"""Which files belong together: traces by content, counters by their place beside a trace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from timesink.errors import UnreadableError
from timesink.formats.chrome.container import looks_like_events
from timesink.formats.file_names import rank_in_name, stem_of
from timesink.formats.memory_snapshot.signature import sniff as sniff_snapshot
from timesink.formats.nsys_parquet import is_table_of_folder
from timesink.formats.small_files import DamagedError, read_small_json
from timesink.formats.source_file import open_source
from timesink.model.recorded_run import SCHEMA, RecordedRun, recorded_run
from timesink.patterns import regex
from timesink.sources.captures import ENDING as CAPTURES_ENDING
from timesink.sources.captures import CaptureFile, captures_beside
from timesink.sources.compiled import ENDING as COMPILED_ENDING
from timesink.sources.compiled import compiled_beside

# `run.json` beside a trace: found and read without anything heavy, as it is asked for early.

RUN_FILE = "run.json"
_FAMILY = SCHEMA.rpartition("/")[0]
_MARK = f'"{_FAMILY}/'.encode()
_OWN_TRACE = regex(r"^trace(?:\.(?:rank|pid)\d+)?\.json(?:\.gz)?$")
"""How a recorder names the traces it writes."""


class RunFile(msgspec.Struct, frozen=True):
    """A description of a run: what it says, and what of it could not be used."""

    path: Path
    run: RecordedRun | None
    """None where the file as a whole cannot be read."""
    unused: tuple[str, ...] = ()

    def names(self, file: str) -> bool:
        """Whether it says that a file beside it is part of the run.

        What a broken one would say is clear from how recorders name their files.
        """
        if self.run is None:
            return file == "counters.csv" or _OWN_TRACE.match(file) is not None
        return self.run.process_of(file) is not None or file == counters_name(self.run)


def counters_name(run: RecordedRun | None) -> str:
    """The name of the counters of a run; only a plain name can lie beside it."""
    name = None if run is None else run.counters.file
    return name if name and Path(name).name == name else "counters.csv"


def run_file_in(folder: Path) -> RunFile | None:
    """The description of the run recorded into a folder; None where there is none.

    A broken one counts where the folder looks like a recording; other programs have such names too.
    """
    path = folder / RUN_FILE
    if not path.is_file():
        return None
    try:
        values: Any = read_small_json(path, shape=object)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except DamagedError as error:
        is_own = _MARK in error.content or any(
            _OWN_TRACE.match(file.name) for file in folder.iterdir()
        )
        return RunFile(path, None, (f"{RUN_FILE}: damaged ({error.reason})",)) if is_own else None
    if not isinstance(values, dict) or not str(values.get("schema")).startswith(f"{_FAMILY}/"):
        return None
    run, unused = recorded_run(values)
    if run.schema != SCHEMA:
        unused.append(f"schema: {run.schema!r}, and {SCHEMA} is known here")
    return RunFile(path, run, tuple(f"{RUN_FILE}: {text}" for text in unused))


_PACKINGS = ("", ".gz")
_PACKED = regex(r"\.gz$", re.IGNORECASE)
TRACE_ENDINGS = (
    *(".json", ".json.gz", ".zip", ".sqlite", ".sqlite.gz", ".nsys-rep", "stringids.parquet"),
    *(".pftrace", ".pftrace.gz", ".perfetto-trace", ".xplane.pb", ".xplane.pb.gz", "results.db"),
)
"""How the names of files that may be traces end, in small letters."""
_BINARY_ENDINGS = (
    *(".nsys-rep", "stringids.parquet", ".pftrace", ".pftrace.gz", ".perfetto-trace"),
    *(".xplane.pb", ".xplane.pb.gz"),
)
"""Those that say by themselves what a file is."""

_TRACE_MARKS = (b'"rocprofiler-sdk-tool"', b"SQLite format 3\0")
_COUNTER_MARKS = (b'"ID","Process ID"', b"==PROF== ")
"""What files of Nsight Compute hold; they have no timeline."""
_KNOWN_SUFFIX = regex(
    r"\.(gz|zip|json|sqlite|trace|pt|nsys-rep|pftrace|perfetto-trace|xplane|pb|db)$", re.IGNORECASE
)
_OWN_FILE = regex(rb'"schema"\s*:\s*"timesink/')
_SCHEMA_WITHIN = 200
"""Files of timesink say first what they are."""
_PARTNERS = {"_perf_data.csv": "_counters_data.csv", "micro_event.csv": "macro_counter.csv"}
_PAIRED = regex(
    r"_perf_data\.csv(?=(?:\.gz)?$)|(?<![^_.-])micro_event\.csv(?=(?:\.gz)?$)", re.IGNORECASE
)
_EVENT_TABLE = regex(r"(?<![^_.-])micro_event\.csv(?:\.gz)?$", re.IGNORECASE)
_TOPOLOGY = "topo_component.csv"
HEAD_BYTES = 64 * 1024
"""So much of a file is looked at."""


def is_named_by_rank_alone(name: str) -> bool:
    """Whether a name has no ending but states a rank, as some recorders write them."""
    return "." not in name and rank_in_name(name) is not None


def is_named_as_event_table(name: str) -> bool:
    """Whether a name is that of a CSV of events: other CSV files are no traces."""
    return _EVENT_TABLE.search(name) is not None


SNAPSHOT_ENDINGS = (".pickle", ".pkl", ".pickle.gz", ".pkl.gz", ".pickle.zip", ".pkl.zip")
"""Of memory snapshots."""


def is_named_as_snapshot(name: str) -> bool:
    """Whether a name is one that memory snapshots have."""
    return _PACKED.sub("", name.lower()).endswith((".pickle", ".pkl"))


def is_snapshot_file(path: Path) -> bool:
    """Whether a file holds a memory snapshot."""
    try:
        return sniff_snapshot(open_source(path).head(HEAD_BYTES), path.name)
    except (UnreadableError, OSError):
        return False


def is_named_like_trace(name: str) -> bool:
    """Whether a name is one that traces have; what the file holds may still be something else."""
    is_named = name.lower().endswith(TRACE_ENDINGS) or is_named_as_event_table(name)
    return is_named or is_named_by_rank_alone(name)


def is_sure_by_name(name: str) -> bool:
    """Whether a name says that a file is a trace, whatever its first bytes are.

    >>> is_sure_by_name("run.pftrace"), is_sure_by_name("run.json")
    (True, False)
    """
    return name.lower().endswith(_BINARY_ENDINGS)


def is_trace_file(path: Path, *, certain: bool = False) -> bool:
    """Whether a file of this machine is a trace, or (unless `certain`) was meant to be one.

    Only what can be read as one goes by a name without an ending, or by that of a recorder's
    description.  Of others, those that cannot be read count: whoever opens them will say why.
    """
    name = path.name
    # Most files are told by their names, without a look at the disk.
    if not is_named_like_trace(name) or not path.is_file():
        return False
    if is_named_as_event_table(name):
        return True
    if is_sure_by_name(name):
        # A report that was exported already is the same recording once more.
        return not (name.endswith(".nsys-rep") and path.with_suffix(".sqlite").is_file())
    certain = certain or name == RUN_FILE or is_named_by_rank_alone(name)
    try:
        head = open_source(path).head(HEAD_BYTES)
    except (UnreadableError, OSError):
        return not certain
    if certain:
        is_description = name == RUN_FILE and _MARK in head
        return _is_trace(head) and not is_description
    return head_may_be_trace(head, is_whole=len(head) < HEAD_BYTES)


def head_may_be_trace(head: bytes, *, is_whole: bool) -> bool:
    """Whether a file that begins like this is a trace, or was meant to be one."""
    if any(mark in head for mark in _COUNTER_MARKS):
        return False
    if _is_trace(head):
        return True
    if _OWN_FILE.search(head[:_SCHEMA_WITHIN]):
        return False
    try:
        msgspec.json.decode(head, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return is_whole  # and broken
    return False


def _is_trace(head: bytes) -> bool:
    return looks_like_events(head) or any(mark in head for mark in _TRACE_MARKS)


def find_beside(path: Path) -> Path | None:
    """The counters that belong to a trace file.

    `<trace>.counters.csv` always does; `counters.csv` does in a folder with no other trace, or
    where `run.json` says that both are of one run.
    `X_counters_data.csv` goes with `X_perf_data.csv`, `macro_counter.csv` with `micro_event.csv`.
    """
    return _counters_beside(path, find_run(path))


def _counters_beside(path: Path, run: RunFile | None) -> Path | None:
    counters = _first_beside(path, *_own_counters(path.name))
    if counters is not None:
        return counters
    shared = None if run is None else counters_of_run(run)
    if run is not None and run.names(path.name) and shared is not None:
        return shared if shared.name != path.name else None
    common = _first_beside(path, "counters.csv")
    return common if common not in (None, path) and _is_only_trace(path) else None


def find_run(path: Path) -> RunFile | None:
    """What the recorder of a trace, or of counters, says about the run."""
    if path.name == RUN_FILE:
        return None
    run = run_file_in(path.parent)
    if run is None:
        return None
    return run if run.names(path.name) or _is_only_trace(path) else None


class Sidecars(msgspec.Struct, frozen=True):
    """What is read together with a trace: counters, the machine, what the recorder says."""

    counters: Path | None
    topology: Path | None
    run: RunFile | None
    memory: Path | None = None
    tables: tuple[Path, ...] = ()
    """Further tables of a recording that is a folder of them."""
    captures: tuple[CaptureFile, ...] = ()
    compiled: tuple[Path, ...] = ()
    """What says something of compiled code."""

    @property
    def files(self) -> list[Path]:
        """All of them that are there."""
        run = None if self.run is None else self.run.path
        captures = (file.path for file in self.captures)
        beside = (self.counters, self.topology, run, self.memory, *captures)
        return [*(file for file in beside if file is not None), *self.tables, *self.compiled]


def sidecars_of(path: Path) -> Sidecars:
    """What belongs to a trace, looked up once."""
    run = find_run(path)
    tables: tuple[Path, ...] = ()
    if is_table_of_folder(path.name):
        others = (file for file in path.parent.glob("*.parquet") if file != path)
        tables = tuple(sorted(file for file in others if is_table_of_folder(file.name)))
    captures = tuple(captures_beside(path))
    counters, topology, memory = (
        _counters_beside(path, run),
        find_topology(path),
        find_memory(path, run),
    )
    compiled = compiled_beside(path)
    return Sidecars(counters, topology, run, memory, tables, captures, compiled)


def find_memory(path: Path, run: RunFile | None) -> Path | None:
    """The memory snapshot that belongs to a trace.

    `<trace>.memory.pickle` does, and the one that `run.json` names for its process.
    """
    if is_named_as_snapshot(path.name):
        return None
    process = None if run is None or run.run is None else run.run.process_of(path.name)
    name = None if process is None else process.memory
    if name and Path(name).name == name:
        return _first_beside(path, name)
    return _first_beside(path, *_names_beside(path.name, "memory.pickle"))


def recorded_at(place: Path) -> RecordedRun | None:
    """What a recorder says about the recording of a folder, or of a file."""
    run_file = run_file_in(place) if place.is_dir() else find_run(place)
    return None if run_file is None else run_file.run


def counters_of_run(run: RunFile) -> Path | None:
    """The counters of a recorded run, where they are there."""
    return _first_beside(run.path, counters_name(run.run))


def find_topology(path: Path) -> Path | None:
    """The description of the machine that some recorders leave beside a trace."""
    return _first_beside(path, _TOPOLOGY)


def belongs_beside(name: str, trace: str, *, shared: bool) -> bool:
    """Whether a file is one that is read with a trace beside it, as far as names tell.

    `shared` says that what has the name of no trace is of this one.
    """
    common = ("counters.csv", RUN_FILE) if shared else ()
    own = (*_own_counters(trace), *_names_beside(trace, "memory.pickle"))
    stem = stem_of(trace)
    facts = (f"{stem}{CAPTURES_ENDING}", f"{stem}{COMPILED_ENDING}")
    return _PACKED.sub("", name) in (*own, *common, _TOPOLOGY, *facts)


def _first_beside(path: Path, *names: str) -> Path | None:
    """The first of some files beside another that is there, packed or not."""
    files = (path.with_name(name + packing) for name in names for packing in _PACKINGS)
    return next((file for file in files if file.is_file()), None)


def _own_counters(trace: str) -> list[str]:
    """What the counters of a trace of this name are called, without their packing."""
    partner, paired = _PAIRED.subn(lambda match: _PARTNERS[match[0].lower()], trace)
    names = [_PACKED.sub("", partner)] if paired else []
    return [*names, *_names_beside(trace, "counters.csv")]


def _names_beside(trace: str, ending: str) -> list[str]:
    """What a file beside a trace may be called, by the name of the trace with fewer endings."""
    names = []
    while (shorter := _KNOWN_SUFFIX.sub("", trace)) not in ("", trace):
        trace = shorter
        names.append(f"{trace}.{ending}")
    return names


def _is_only_trace(path: Path) -> bool:
    return not any(
        other.name != path.name and is_trace_file(other, certain=True)
        for other in path.parent.iterdir()
    )
