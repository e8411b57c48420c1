"""Rows of a history: what runs of a commit measured, kept in a store beside the baselines.

A series is a folder `NAME.history`.  Every addition is a file of its own, named by its commit and
content: two who add at once lose nothing, and the same run added twice counts once.
"""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import msgspec
import numpy as np
from msgspec import structs

from timesink.comparison.gate.baseline_store import (
    FolderStore,
    checked_name,
    facts_of,
    is_reference,
    reference,
    store_at,
)
from timesink.comparison.inputs import SideReadOptions, find_side
from timesink.comparison.reading import RunReader, processes_of, read_sides
from timesink.comparison.repeated import expand_paths
from timesink.comparison.repeated_runs import timed_runs
from timesink.comparison.signals import Signals, signals_of
from timesink.errors import NotFoundError, UnreadableError, UsageError
from timesink.formats.small_files import DamagedError, decode_small_json
from timesink.formats.stored_names import SERIES
from timesink.model.diagnosis import PLAIN, RECORDED
from timesink.model.recorded_run import RecordedRun
from timesink.model.units import count_noun, join_names
from timesink.patterns import regex
from timesink.recorder.versions import git, state_of
from timesink.sources.ab_folder import NEW, is_ab, read_ab
from timesink.sources.sidecars import run_file_in
from timesink.sources.untimed import WORDS, untimed_kind
from timesink.version import __version__

SCHEMA = "timesink/history-row/1"
_ROW = ".row"
"""JSON inside; a name that nobody takes for a trace."""
_COMMIT = regex(r"[0-9A-Za-z][0-9A-Za-z._-]{3,79}")
_BETWEEN = "\x1f"
_SUMMED = ("launches", "syncs", "copied_bytes", "device_ns")


class MeasuredRun(msgspec.Struct, frozen=True):
    """What one run says of its version of the program; None for what it does not tell."""

    name: str
    started_us: int | None = None
    cycles: int = 0
    by: str = PLAIN
    """Which cycles the times are of."""
    cycle_ns: float | None = None
    """A typical cycle: the mean without the outermost ones."""
    mean_ns: float | None = None
    device_ns: float | None = None
    launches: float | None = None
    syncs: float | None = None
    copied_bytes: float | None = None
    peak_memory_bytes: int | None = None
    program: str | None = None
    processor: str | None = None
    cores: float | None = None
    devices: tuple[str, ...] = ()
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    command: tuple[str, ...] = ()

    @property
    def machine(self) -> str:
        """What its times depend on beside the program, in words."""
        cores = "" if self.cores is None else f"{self.cores:g} cores"
        host = " with ".join(filter(None, (self.processor, cores)))
        return ", ".join(filter(None, (host, *sorted(self.devices)))) or "an unknown machine"


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of the program."""

    sha: str
    time_us: int
    subject: str = ""
    dirty: bool = False
    """Whether files in its work tree were changed."""

    @property
    def short(self) -> str:
        """As people say it."""
        return self.sha[:10]


class AddedRuns(msgspec.Struct, frozen=True):
    """Runs that were added to a commit at once: the content of a file."""

    schema: str
    timesink: str
    commit: Commit
    runs: tuple[MeasuredRun, ...]


class HistoryRow(msgspec.Struct, frozen=True):
    """All runs of one commit on one machine."""

    commit: Commit
    machine: str
    by: str
    """Which cycles its times are of."""
    runs: tuple[MeasuredRun, ...]

    def value(self, signal: str) -> float | str | None:
        """What its runs say of a signal: the middle of times, and counts that are equal in all."""
        values = [
            value for value in (getattr(run, signal) for run in self.runs) if value is not None
        ]
        if not values:
            return None
        if signal.endswith("_ns"):
            return float(np.median(values))
        return values[0] if len(set(values)) == 1 else None

    def disagree(self, signal: str) -> bool:
        """Whether a count is another one from run to run."""
        return len({getattr(run, signal) for run in self.runs} - {None}) > 1


def series_store(name: str, store: str | Path | None = None) -> FolderStore:
    """Where the rows of a series are kept."""
    return store_at(store).below(f"{checked_name(name)}{SERIES}", _ROW)


# -- adding ----------------------------------------------------------------------------------------


def add_runs(
    name: str,
    runs: Sequence[str | Path],
    store: str | Path | None = None,
    *,
    commit: str | None = None,
    time_us: int | None = None,
    reading: SideReadOptions | None = None,
) -> tuple[AddedRuns, bool]:
    """Keep what runs measured as a row of a series; and whether they were not there before."""
    place = series_store(name, store)
    options = reading or SideReadOptions()
    paths = list(expand_paths(runs))
    measured = _with_devices(
        [measured_run for run in paths for measured_run in measured_runs(run, options)]
    )
    chosen, dirty = (commit, False) if commit else _commit_in(paths)
    started = min(
        (measured_run.started_us for measured_run in measured if measured_run.started_us),
        default=None,
    )
    version = commit_of(chosen, time_us, started)
    version = replace(version, dirty=version.dirty or dirty)
    added = AddedRuns(SCHEMA, __version__, version, measured)
    content = msgspec.json.format(msgspec.json.encode(added), indent=1)
    digest = hashlib.blake2b(msgspec.json.encode(measured), digest_size=8).hexdigest()
    return added, place.add(f"{version.sha}-{digest}", content)


def _commit_in(paths: Sequence[Path]) -> tuple[str | None, bool]:
    """The commit that folders of `timesink ab` name, else that of the work tree; is it dirty."""
    here = state_of(Path.cwd())
    sides = [read_ab(run).new if is_ab(run) else None for run in paths]
    states = {(side.commit, side.dirty) if side and side.commit else here for side in sides}
    commits = sorted({commit or "no commit" for commit, _ in states})
    if len(commits) > 1:
        hint = "add them one by one, or name the commit with --commit SHA"
        raise UsageError(
            f"these runs belong to commits {' and '.join(commit[:10] for commit in commits)}", hint
        )
    return next(iter(states))[0], any(dirty for _, dirty in states)


def _with_devices(measured: Sequence[MeasuredRun]) -> tuple[MeasuredRun, ...]:
    """Runs with the devices that others of the same host name: without counters they name none."""
    named = {(run.processor, run.cores): run.devices for run in measured if run.devices}
    return tuple(
        structs.replace(run, devices=run.devices or named.get((run.processor, run.cores), ()))
        for run in measured
    )


def measured_runs(run: str | Path, reading: SideReadOptions) -> Iterator[MeasuredRun]:
    """What a recording, or each new run of `timesink ab`, measured."""
    if is_reference(str(run)):
        raise UsageError(f"{run}: is a baseline", "give recordings, or a folder of  timesink ab")
    folder = Path(run)
    kind = untimed_kind(folder)
    if kind is not None:
        raise UsageError(
            f"{run}: a {WORDS[kind]} has no step times to keep a history of",
            "store it as a baseline:  timesink baseline save NAME RUN",
        )
    if not is_ab(folder):
        yield _measure_run(folder, reading)
        return
    ab = read_ab(folder)
    timed = [ab_run for ab_run in ab.counted if ab_run.side == NEW]
    if not timed:
        hint = f"continue with  timesink ab --resume {shlex.quote(str(folder))}"
        raise UnreadableError(f"{folder}: contains no new run that counts", hint)
    for ab_run in timed:
        yield _measure_run(folder / ab_run.folder, reading)
    if NEW in ab.timelines():
        # Its cycles were not timed in turn with the others: counts alone.
        timeline_run = _measure_run(folder / ab.timelines()[NEW], reading)
        yield structs.replace(timeline_run, cycles=0, cycle_ns=None, mean_ns=None)


def _measure_run(folder: Path, reading: SideReadOptions) -> MeasuredRun:
    file = run_file_in(folder) if folder.is_dir() else None
    recorded = None if file is None else file.run
    if recorded is not None and not any(process.trace for process in recorded.processes):
        if not timed_runs(recorded, folder.name):
            ranks = count_noun(len(recorded.processes), "processes")
            why = f"those it has are of one of {ranks}" if recorded.plain_ns else ""
            why = why or recorded.why_partial or "the recorder timed no step"
            raise UnreadableError(
                f"{folder}: has neither a timeline nor unprofiled steps ({why})",
                "record it again with more steps: --plain N",
            )
        return _with_recorded(MeasuredRun(folder.name), recorded)
    side = find_side(folder, None)
    (read,), _, _ = read_sides(RunReader(reading), [side.sources])
    signals = _together([signals_of(member) for member in processes_of(read)])
    facts = facts_of(read)
    measured_run = MeasuredRun(
        folder.name,
        cycles=max((member.cycles for member in processes_of(read)), default=0),
        by=RECORDED,
        cycle_ns=signals.cycle_ns,
        mean_ns=max((member.mean_cycle_ns for member in processes_of(read)), default=None),
        **{name: getattr(signals, name) for name in _SUMMED},
        peak_memory_bytes=signals.peak_memory_bytes,
        program=signals.program,
        processor=facts["processor"],
        devices=tuple(facts["devices"]),
        versions=facts["versions"],
    )
    recorders = [side_run.recorded for side_run in read if side_run.recorded is not None]
    return _with_recorded(measured_run, recorders[0]) if recorders else measured_run


def _with_recorded(measured_run: MeasuredRun, recorded: RecordedRun) -> MeasuredRun:
    """A run with what its recorder says; unprofiled steps tell its speed, where there are any."""
    for timed in timed_runs(recorded, measured_run.name):
        cycles = len(timed.cycles_ns)
        measured_run = structs.replace(
            measured_run, by=PLAIN, cycles=cycles, cycle_ns=timed.typical_ns, mean_ns=timed.mean_ns
        )
    devices = tuple(sorted({device.name for device in recorded.devices if device.name}))
    return structs.replace(
        measured_run,
        started_us=recorded.started_us,
        processor=recorded.host.cpu,
        cores=recorded.host.cores,
        devices=devices or measured_run.devices,
        versions={**measured_run.versions, **recorded.versions},
        command=recorded.command,
    )


def _together(signals: Sequence[Signals]) -> Signals:
    """Signals of all processes of a run: work adds up, the slowest and largest count."""
    if len(signals) == 1:
        return signals[0]

    def values(name: str) -> list[float]:
        return [
            getattr(process_signals, name)
            for process_signals in signals
            if getattr(process_signals, name) is not None
        ]

    def total(name: str) -> float | None:
        return sum(values(name)) if values(name) else None

    programs = "".join(process_signals.program or "" for process_signals in signals)
    peak = max(values("peak_memory_bytes"), default=None)
    return Signals(
        program=hashlib.sha256(programs.encode()).hexdigest()[:16] if programs else None,
        launches=total("launches"),
        syncs=total("syncs"),
        copied_bytes=total("copied_bytes"),
        device_ns=total("device_ns"),
        peak_memory_bytes=None if peak is None else int(peak),
        cycle_ns=max(values("cycle_ns"), default=None),
    )


# -- commits ---------------------------------------------------------------------------------------


def commit_of(
    revision: str | None, time_us: int | None = None, started_us: int | None = None
) -> Commit:
    """The commit that was given, or that of the work tree around the current folder."""
    commit = _fromgit_output(revision or "HEAD")
    if commit is None:
        if revision is None:
            hint = "name the commit with --commit SHA"
            raise UsageError(f"{Path.cwd()}: not in a git work tree with a commit", hint)
        if _COMMIT.fullmatch(revision) is None:
            hint = "4 to 80 letters, digits, . _ and - name one"
            raise UsageError(f"{revision!r} cannot be a commit", hint)
        moments = (time_us, started_us, time.time_ns() // 1000)
        return Commit(revision, next(moment for moment in moments if moment is not None))
    if revision is None:
        commit = replace(commit, dirty=state_of(Path.cwd())[1])
    return commit if time_us is None else replace(commit, time_us=time_us)


def _fromgit_output(revision: str) -> Commit | None:
    form = _BETWEEN.join(("%H", "%ct", "%s"))
    output = git_output("log", "-1", f"--format={form}", "--end-of-options", revision)
    parts = output.split(_BETWEEN, 2)
    return Commit(parts[0], int(parts[1]) * 1_000_000, parts[2]) if len(parts) == 3 else None


def git_output(*words: str) -> str:
    """What git says; nothing where it refuses, or is not installed."""
    try:
        return git(Path.cwd(), *words)
    except (OSError, subprocess.CalledProcessError):
        return ""


def moment_us(text: str) -> int:
    """A moment as ISO 8601 says it, in Unix microseconds; without a zone it is UTC.

    >>> moment_us("2026-01-01T00:00:00Z")
    1767225600000000
    """
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(f"{text!r} is not a time", "write it as 2026-01-31T12:00:00Z") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return round(aware.timestamp() * 1e6)


# -- reading ---------------------------------------------------------------------------------------


def history_rows(
    name: str, store: str | Path | None = None
) -> tuple[tuple[HistoryRow, ...], tuple[str, ...]]:
    """The rows of a series in the order of commits, and notes on what could not be read."""
    name, place = checked_name(name), series_store(name, store)
    files = place.names()
    if not files:
        above = store_at(store)
        references = [reference(series_name) for series_name in above.series()]
        hint = (
            f"there are {join_names(references)}"
            if references
            else f"start it with  timesink baseline add {name} RUN"
        )
        raise NotFoundError(f"{reference(name)}: no history in {above.place}", hint)
    notes: list[str] = []
    commits: dict[str, Commit] = {}
    runs_by_row: dict[tuple[str, str, str], dict[bytes, MeasuredRun]] = {}
    for file in files:
        added = _added_runs(place.read(file))
        if added is None:
            notes.append(f"left out {file}{_ROW}: cannot be read by timesink {__version__}")
            continue
        sha = added.commit.sha
        dirty = added.commit.dirty or (sha in commits and commits[sha].dirty)
        commits[sha] = replace(commits.get(sha, added.commit), dirty=dirty)
        for run in added.runs:
            row = runs_by_row.setdefault((sha, run.machine, _by(added, run)), {})
            row[msgspec.json.encode(run)] = run
    if not runs_by_row:
        raise UnreadableError(
            f"{reference(name)} in {place.place}: {notes[0]}", "add the runs again"
        )
    rows = [
        HistoryRow(commits[sha], machine, by, tuple(runs.values()))
        for (sha, machine, by), runs in runs_by_row.items()
    ]
    rows.sort(key=lambda row: (row.commit.time_us, min(run.started_us or 0 for run in row.runs)))
    if any(row.commit.dirty for row in rows):
        changed = join_names(
            list(dict.fromkeys(row.commit.short for row in rows if row.commit.dirty))
        )
        notes.append(f"measured with uncommitted changes: {changed}")
    return tuple(rows), tuple(notes)


def _by(added: AddedRuns, run: MeasuredRun) -> str:
    """A timeline beside runs in turn belongs to their row."""
    timed = (run.by for run in added.runs if run.cycle_ns is not None)
    return run.by if run.cycle_ns is not None else next(timed, run.by)


def _added_runs(content: bytes | None) -> AddedRuns | None:
    try:
        added = decode_small_json(content or b"", "", "", AddedRuns)
    except DamagedError:
        return None
    return added if added.schema == SCHEMA and added.runs else None
