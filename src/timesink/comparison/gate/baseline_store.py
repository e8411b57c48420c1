"""Baselines in a store: their names, where they are kept, and the bytes of one.

A name is a file in every store, and never a way out of it.  A store is a folder, or whatever a URL
names (fsspec: s3://, gs://, sftp://).  The bytes have a version and a checksum.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.comparison.inputs import (
    LEFT_OUT,
    RecordingRef,
    RunInput,
    SideReadOptions,
    find_cases,
    find_side,
)
from timesink.comparison.prefetch import CycleSearch
from timesink.comparison.reading import RunReader, read_sides, run_of_tables, tables_of
from timesink.comparison.repeated import RepeatedSide, distinct, expand_paths, timed_side
from timesink.comparison.repeated_runs import TimedRun
from timesink.comparison.results import Run
from timesink.comparison.untimed import SIDES, UntimedSide, untimed_side
from timesink.errors import (
    NotFoundError,
    OutputError,
    TimesinkError,
    UnreadableError,
    UsageError,
    reason_of,
)
from timesink.formats.small_files import small_content
from timesink.formats.stored_names import BASELINE_ENDING, SERIES, STORE
from timesink.model.units import join_names
from timesink.patterns import regex
from timesink.sources.kept_answers import Tables, from_bytes, to_bytes
from timesink.sources.places import without_password
from timesink.sources.recordings import Recording
from timesink.sources.remote import connect, wrap_errors
from timesink.sources.untimed import WORDS, untimed_kind
from timesink.version import __version__

VARIABLE = "TIMESINK_BASELINES"
"""Names another store for all commands."""
FORMAT = 1
"""Raised whenever what is kept of a run, or what it means, changes."""
_SAFE = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REFERENCE = "@"
_RENAMING = frozenset({"file", "local", "sftp", "ssh", "smb", "hdfs", "dir", "memory"})
"""File systems that show a file while it is written; others show whole objects only."""
_MISSING = (FileNotFoundError, NotADirectoryError)
_MAX_BYTES = 2 << 30
"""Baselines hold tables; this one is of thousands of ranks."""
_MARK = b"timesink baseline "
_DIGEST_BYTES = 16
_BETWEEN = "/"
_BEGIN, _END = r"(?<![\w./-])", r"(?![\w-]|[./]\w)"
"""Around a path that is not a part of another one."""
_RECORDING = ("worker", "span", "rank")
_SOURCE = ("is_table", "job", "suffix")
"""What is kept of a file beside its name."""
_TIMED = ("started_us", "probe_ns", "name", "by")
"""The same of several runs."""
_AGAIN = "save it again from its recording, with --force"


def is_reference(text: str) -> bool:
    """Whether a baseline is meant, and no path."""
    return text.startswith(_REFERENCE)


def checked_name(text: str) -> str:
    """The name of a baseline, given with its @ or without; refused where it is not safe."""
    name = text.removeprefix(_REFERENCE)
    if _SAFE.fullmatch(name) is None:
        raise UsageError(
            f"{text!r} cannot be the name of a baseline",
            "begin with a letter or a digit; letters, digits, . _ and - may follow, 100 in all",
        )
    return name


def reference(name: str) -> str:
    """How a baseline is named where paths are."""
    return f"{_REFERENCE}{name}"


def store_at(place: str | Path | None = None) -> FolderStore:
    """The store of a folder or URL; without one that of the environment, or of this folder."""
    chosen = os.environ.get(VARIABLE) or STORE if place is None else place
    if isinstance(chosen, str) and "://" in chosen:
        return RemoteStore(chosen)
    if not str(chosen):
        raise UsageError("the store of baselines is empty", "name a folder or a URL with --store")
    return FolderStore(Path(chosen))


class FolderStore:
    """Baselines by name as files of a folder, which is made when it is needed.

    Names were checked before (`checked_name`).
    """

    place: str
    """Where it is, as the user knows it."""
    ending = BASELINE_ENDING
    """Of its files."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.place = folder, str(folder)

    def below(self, folder: str, ending: str) -> FolderStore:
        """The store in a folder of this one, of files with another ending."""
        inside = copy(self)
        inside._move(folder)  # noqa: SLF001 - a copy of this one
        inside.ending = ending
        return inside

    def _move(self, folder: str) -> None:
        self._folder /= folder
        self.place = str(self._folder)

    def read(self, name: str) -> bytes | None:
        """The content of a baseline; None where there is none."""
        try:
            return self._read(f"{name}{self.ending}")
        except _MISSING:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Keep a baseline, in the place of one of its name; nobody ever reads half of it."""
        self._put(name, content, Path.replace)

    def add(self, name: str, content: bytes) -> bool:
        """Keep a baseline where there is none of its name; False where there is."""
        try:
            self._put(name, content, _link)
        except FileExistsError:
            return False
        return True

    def names(self) -> list[str]:
        """All baselines, in order; what is being written is none."""
        return self._ending_in(self.ending)

    def series(self) -> list[str]:
        """All series of rows (`history_rows`), in order."""
        return self._ending_in(SERIES)

    def _ending_in(self, ending: str) -> list[str]:
        try:
            files = list(self._files())
        except _MISSING:
            return []
        return sorted(
            file.removesuffix(ending)
            for file in files
            if file.endswith(ending) and not file.startswith(".")
        )

    def remove(self, name: str) -> bool:
        """Take a baseline away; False where there is none."""
        try:
            self._remove(f"{name}{self.ending}")
        except _MISSING:
            return False
        return True

    def _put(self, name: str, content: bytes, move: Callable[[Path, Path], object]) -> None:
        """Write aside and move: a reader sees all of it, or what was there before."""
        file = self._folder / f"{name}{self.ending}"
        aside = self._folder / f".writing-{uuid.uuid4().hex}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with aside.open("xb") as stream:
                stream.write(content)
            move(aside, file)
        except OSError as error:
            # Somebody has the name; where it is the folder's, nothing can be written at all.
            if isinstance(error, FileExistsError) and self._folder.is_dir():
                raise
            message = f"{file}: cannot be written ({reason_of(error)})"
            raise OutputError(message, "choose another place with --store") from None
        finally:
            with suppress(OSError):
                aside.unlink()

    def _read(self, file: str) -> bytes:
        with _refusals_as(lambda why: UnreadableError.denied(self._folder / file, why)):
            return small_content(self._folder / file, most_bytes=_MAX_BYTES)

    def _files(self) -> Iterable[str]:
        with _refusals_as(lambda why: UnreadableError.denied(self._folder, why)):
            paths = (
                path for path in self._folder.iterdir() if path.is_file() or path.suffix == SERIES
            )
            return [path.name for path in paths]

    def _remove(self, file: str) -> None:
        message, hint = f"{self._folder / file}: cannot be removed", "the permissions of the folder"
        with _refusals_as(
            lambda why: OutputError(f"{message} ({reason_of(why)})", f"check {hint}")
        ):
            (self._folder / file).unlink()


@contextmanager
def _refusals_as(error_for: Callable[[OSError], TimesinkError]) -> Iterator[None]:
    """What the file system refuses, in words; that something is missing is no refusal."""
    try:
        yield
    except _MISSING:
        raise
    except OSError as error:
        raise error_for(error) from None


def _link(aside: Path, file: Path) -> None:
    """Give a file its name; of several at once one succeeds, and others find it taken."""
    try:
        file.hardlink_to(aside)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links: the name is taken first, and filled then.
        file.open("xb").close()
        aside.replace(file)


class RemoteStore(FolderStore):
    """The same behind a URL."""

    def __init__(self, url: str) -> None:
        self.place = without_password(url)
        self._system, self._root = connect(url, otherwise="name a folder with --store")

    def _move(self, folder: str) -> None:
        self.place, self._root = f"{self.place}/{folder}", f"{self._root}/{folder}"

    def write(self, name: str, content: bytes) -> None:
        file = f"{self._root}/{name}{self.ending}"
        names = self._system.protocol
        with wrap_errors(self.place, "cannot be written", OutputError):
            self._system.makedirs(self._root, exist_ok=True)
            if _RENAMING.isdisjoint({names} if isinstance(names, str) else names):
                self._system.pipe_file(file, content)
                return
            aside = f"{self._root}/.writing-{uuid.uuid4().hex}"
            try:
                self._system.pipe_file(aside, content)
                self._system.mv(aside, file)
            except BaseException:
                with suppress(Exception):
                    self._system.rm_file(aside)
                raise

    def add(self, name: str, content: bytes) -> bool:
        # Few file systems can do both at once.
        if name in self.names():
            return False
        self.write(name, content)
        return True

    def _read(self, file: str) -> bytes:
        with wrap_errors(self.place, "cannot be read"):
            content: bytes = self._system.cat_file(f"{self._root}/{file}")
        return content

    def _files(self) -> Iterable[str]:
        with wrap_errors(self.place, "cannot be listed"):
            self._system.invalidate_cache()
            paths = self._system.ls(self._root, detail=False)
        return [str(path).rstrip("/").rpartition("/")[2] for path in paths]

    def _remove(self, file: str) -> None:
        with wrap_errors(self.place, "cannot be removed", OutputError):
            if not self._system.exists(f"{self._root}/{file}"):
                raise FileNotFoundError(file)
            self._system.rm_file(f"{self._root}/{file}")


# -- the bytes of a baseline -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Baseline:
    """What recordings of a run say cycle by cycle, under a name; their files may be gone."""

    name: str
    runs: tuple[Run, ...]
    """One per recording, such as a rank; none has a trace, and their paths begin with `@NAME`."""
    finding: CycleSearch
    """How cycles were asked for."""
    saved_us: int
    """When, in Unix microseconds."""
    timesink: str
    """The version that saved it."""
    facts: Mapping[str, Any]
    """Devices and versions the recordings name."""
    notes: tuple[str, ...]
    """What was left out when it was saved."""
    size_bytes: int
    timed: tuple[TimedRun, ...] = ()
    """Cycles of every run, where several were kept; everything else is of one of them."""
    untimed: UntimedSide | None = None
    """A memory snapshot, or logs of collectives: there are no runs then."""

    @cached_property
    def side(self) -> RunInput:
        """All of it as a side of a comparison."""
        if self.untimed is not None:
            words = WORDS[self.untimed.kind]
            raise UsageError(
                f"{reference(self.name)}: holds a {words}, which has no timeline",
                f"compare it with another {words}",
            )
        sources = tuple(run.source for run in self.runs)
        notes = self.notes
        if self.timesink != __version__:
            versions = f"saved by timesink {self.timesink}, this is {__version__}"
            again = "save it again to be sure they agree"
            notes = (*notes, f"{reference(self.name)} was {versions}: {again}")
        lost = tuple(
            f"{reference(self.name)}: {note.removeprefix(LEFT_OUT)}"
            for note in self.notes
            if note.startswith(LEFT_OUT)
        )
        return RunInput(Path(reference(self.name)), sources, notes, lost)

    def finding_for(self, search: CycleSearch) -> CycleSearch:
        """How cycles of other recordings are found beside this one.

        What the user asks for counts, and is refused where this has other cycles; else they are
        found as those of this one were.
        """
        if search.metric_map is not None:
            raise UsageError(
                f"{reference(self.name)}: counters were assigned to functions when it was saved, "
                "--map cannot change that",
                "leave out --map, or compare the recordings themselves",
            )
        if not search.says_unit:
            return self.finding
        as_asked = all(
            search.marker in (None, run.unit.anchor) and search.by in (None, run.unit.method)
            for run in self.runs
        )
        if search != self.finding and not as_asked:
            option = "--by" if search.marker is None else "--marker"
            raise UsageError(
                f"{reference(self.name)}: its steps are fixed as saved ({self.units_said}), "
                f"{option} has no effect",
                f"leave out {option}, or save it again with {option}",
            )
        return search

    @property
    def units_said(self) -> str:
        """What its cycles are, in words."""
        unit_names = {run.unit.anchor or run.unit.method or "those of a table" for run in self.runs}
        return ", ".join(sorted(unit_names))


def content_of(
    runs: Sequence[Run],
    root: Path,
    finding: CycleSearch,
    notes: Iterable[str],
    timed: Sequence[TimedRun] = (),
) -> bytes:
    """Runs of files at or below a path as bytes that name no other place."""
    plain: list[dict[str, Any]] = []
    tables: dict[str, pl.DataFrame] = {}
    for number, run in enumerate(runs):
        run_notes = tuple(_without_place(note, root) for note in run.notes)
        run_tables = tables_of(replace(run, notes=run_notes))
        # A file by its place below what was given; where that is, is nobody's business.
        path = run.source.path
        is_below = root != path and path.is_relative_to(root)
        facts = {"file": (path.relative_to(root) if is_below else Path(path.name)).as_posix()}
        facts |= {name: getattr(run.source.recording, name) for name in _RECORDING}
        facts |= {name: getattr(run.source, name) for name in _SOURCE}
        plain.append({"source": facts, "run": run_tables.about})
        tables |= {f"{number}{_BETWEEN}{name}": table for name, table in run_tables.tables.items()}
    about = {
        "marker": finding.marker,
        "by": finding.by,
        "facts": facts_of(runs),
        "notes": [_without_place(note, root) for note in notes],
        "runs": plain,
        "timed": [
            {name: getattr(timed_run, name) for name in _TIMED}
            | {"cycles_ns": timed_run.cycles_ns.tolist()}
            for timed_run in timed
        ],
    }
    return _sealed(about, tables)


def untimed_content_of(side: UntimedSide) -> bytes:
    """A memory snapshot, or logs of collectives, as the bytes of a baseline."""
    facts, tables = side.stored()
    nothing: dict[str, Any] = {"marker": None, "by": None, "notes": [], "runs": []}
    return _sealed({**nothing, "facts": facts_of(()), "untimed": [side.kind, facts]}, tables)


def _sealed(about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> bytes:
    made = {"timesink": __version__, "saved_us": time.time_ns() // 1000}
    packed = to_bytes({**made, **about}, tables, small=True)
    return b"".join([_MARK, f"{FORMAT}\n".encode(), _digest(packed), packed])


def baseline_of(content: bytes, name: str, place: str) -> Baseline:
    """The baseline of these bytes; `place` is the store, for words about what is wrong."""
    where = f"{reference(name)} in {place}"
    damaged = UnreadableError(f"{where}: damaged, or not a baseline", _AGAIN)
    head, _, rest = content.partition(b"\n")
    version, packed = head.removeprefix(_MARK), rest[_DIGEST_BYTES:]
    if not head.startswith(_MARK) or not version.isdigit():
        raise damaged
    if int(version[:9]) != FORMAT:
        other = f"baseline of format {int(version[:9])}, this timesink has {FORMAT}"
        raise UnreadableError(f"{where}: {other}", _AGAIN)
    tables = from_bytes(packed) if rest[:_DIGEST_BYTES] == _digest(packed) else None
    if tables is None:
        raise damaged
    try:
        about = tables.about
        return Baseline(
            name=name,
            runs=tuple(_runs(tables, name)),
            finding=CycleSearch(about["marker"], about["by"]),
            saved_us=int(about["saved_us"]),
            timesink=str(about["timesink"]),
            facts=about["facts"],
            notes=tuple(about["notes"]),
            size_bytes=len(content),
            timed=tuple(
                TimedRun(
                    "", np.array(timed_run["cycles_ns"]), *(timed_run[name] for name in _TIMED)
                )
                for timed_run in about.get("timed", ())  # older ones have one run
            ),
            untimed=_untimed_of(tables),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Whole, but not what this version writes: a field more, or less.
        reason = f"saved by timesink {tables.about.get('timesink')}, which this one cannot read"
        raise UnreadableError(f"{where}: {reason}", _AGAIN) from error


def _untimed_of(tables: Tables) -> UntimedSide | None:
    kind, facts = tables.about.get("untimed") or (None, {})
    try:
        return None if kind is None else SIDES[kind].restored(facts, tables.tables)
    except (pl.exceptions.PolarsError, msgspec.ValidationError) as error:
        msg = "its tables are not those of this version"
        raise ValueError(msg) from error


def _digest(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_DIGEST_BYTES).digest()


def _without_place(note: str, root: Path) -> str:
    """A note that names files by their place below what was given."""
    folder = root if root.is_dir() else root.parent
    below = re.sub(rf"{_BEGIN}{re.escape(str(folder))}/", "", note)
    return re.sub(rf"{_BEGIN}{re.escape(str(root))}{_END}", lambda _: root.name or ".", below)


def _runs(tables: Tables, name: str) -> Iterator[Run]:
    for number, plain in enumerate(tables.about["runs"]):
        start = f"{number}{_BETWEEN}"
        run_tables = {
            table.removeprefix(start): rows
            for table, rows in tables.tables.items()
            if table.startswith(start)
        }
        facts = plain["source"]
        path = Path(reference(name)) / facts["file"]
        recording = Recording(path, **{key: facts[key] for key in _RECORDING})
        source = RecordingRef(recording, **{key: facts[key] for key in _SOURCE})
        yield run_of_tables(Tables(plain["run"], run_tables), source)


def facts_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Devices and versions the recordings and their recorder name, each once."""
    traces = [run.trace.metadata for run in runs if run.trace is not None]
    recorders = [run.recorded for run in runs if run.recorded is not None]
    named = [trace.versions for trace in traces] + [recorder.versions for recorder in recorders]
    devices = {device.name for trace in traces for device in trace.devices}
    devices |= {device.name for recorder in recorders for device in recorder.devices if device.name}
    sizes = [trace.distributed.world_size for trace in traces if trace.distributed.world_size]
    return {
        "devices": sorted(devices),
        "processor": next((recorder.host.cpu for recorder in recorders if recorder.host.cpu), None),
        # Traces say `torch_version`, the recorder says `torch`: the same thing is named once.
        "versions": {
            str(name).removesuffix("_version"): str(value)
            for versions in named
            for name, value in versions.items()
        },
        "world_size": max(sizes, default=None),
    }


# -- saving, loading, listing and removing ---------------------------------------------------------

StorePlace = str | Path | None
"""A folder, a URL, or None for the usual one."""


class Listed(msgspec.Struct, frozen=True):
    """A baseline of a store, or why it cannot be read."""

    name: str
    baseline: Baseline | None
    problem: TimesinkError | None = None


def save_baseline(
    name: str,
    run: str | Path | Sequence[str | Path],
    store: StorePlace = None,
    *,
    rank: int | None = None,
    reading: SideReadOptions | None = None,
    force: bool = False,
) -> Baseline:
    """Keep what a run says cycle by cycle, to compare others with; its recordings may then go.

    Of several runs the times of all are kept, and the rest of one of them.
    """
    name, place = checked_name(name), store_at(store)
    runs = [run] if isinstance(run, str | Path) else list(run)
    for path in runs:
        _check_run(path)
    if not force and name in place.names():
        raise _name_taken_error(name, place.place)
    content = _content(runs, rank, reading or SideReadOptions())
    # What cannot be read again must not take the place of what can.
    baseline = baseline_of(content, name, place.place)
    if force:
        place.write(name, content)
    elif not place.add(name, content):
        # Somebody else saved one while the run was read.
        raise _name_taken_error(name, place.place)
    return baseline


def _name_taken_error(name: str, place: str) -> OutputError:
    return OutputError(
        f"{reference(name)}: already in {place}",
        "add --force to replace it, or choose another name",
    )


def unsaved_baseline(
    run: str | Path, *, rank: int | None = None, reading: SideReadOptions | None = None
) -> Baseline:
    """What would be kept of a run."""
    _check_run(run)
    content = _content([run], rank, reading or SideReadOptions())
    return baseline_of(content, "run", str(run))


def _content(paths: Sequence[str | Path], rank: int | None, reading: SideReadOptions) -> bytes:
    kinds = [untimed_kind(path) for path in paths]
    if any(kinds):
        if len(paths) > 1 or kinds[0] is None:
            raise UsageError(
                f"{paths[0]}: several runs need a timeline, and not all have one", "name one file"
            )
        return untimed_content_of(untimed_side(paths[0], kinds[0], cache=reading.cache))
    sides = tuple(find_side(path, rank) for path in distinct(expand_paths(paths)))
    runs, side, timed, notes = (
        RunReader(reading),
        sides[0],
        tuple[TimedRun, ...](),
        tuple[str, ...](),
    )
    if len(sides) > 1:
        several = timed_side(RepeatedSide(sides), runs)
        side, timed, notes = several.leading, several.timed, several.notes
    (read,), noted, _ = read_sides(runs, [side.sources])
    every = (*side.notes, *notes, *noted)
    return content_of(read, side.path, reading.finding, every, timed)


def _check_run(run: str | Path) -> None:
    if isinstance(run, str) and is_reference(run):
        raise UsageError(f"{run}: is a baseline already", "name a recording or its folder")
    cases = find_cases(Path(run))
    if cases:
        raise UsageError(
            f"{run}: contains a normal and an abnormal run",
            f"name one of them, such as {cases[0].base}",
        )


def load_baseline(name: str, store: StorePlace = None) -> Baseline:
    """A baseline by its name, with its @ or without."""
    name, place = checked_name(name), store_at(store)
    content = place.read(name)
    if content is None:
        raise _none_there(name, place.place, place.names())
    return baseline_of(content, name, place.place)


def list_baselines(store: StorePlace = None) -> tuple[Listed, ...]:
    """All baselines of a store, in the order of names."""
    return tuple(_list_entry(name, store) for name in store_at(store).names())


def _list_entry(name: str, store: StorePlace) -> Listed:
    try:
        return Listed(name, load_baseline(name, store))
    except TimesinkError as error:
        return Listed(name, None, error)


def remove_baseline(name: str, store: StorePlace = None) -> None:
    """Take a baseline away; one that is not there is refused."""
    name, place = checked_name(name), store_at(store)
    if not place.remove(name):
        raise _none_there(name, place.place, place.names())


def _none_there(name: str, place: str, names: list[str]) -> NotFoundError:
    hint = (
        f"there are {join_names([reference(baseline_name) for baseline_name in names])}"
        if names
        else (f"save one with  timesink baseline save {name} RUN, or name its store with --store")
    )
    return NotFoundError(f"{reference(name)}: no such baseline in {place}", hint)
