"""What `timesink watch` leaves in a folder: what it sees, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from timesink.errors import UnreadableError
from timesink.formats.small_files import (
    DamagedError,
    decode_small_json,
    read_small_json,
    small_content,
)
from timesink.sources.ab_folder import is_of_family
from timesink.sources.places import is_url, place_of

WATCH_FILE, STATUS_FILE, SERIES_FILE = "watch.json", "status.json", "series.json"
LOG_WATCH_FILE = "log-watch.json"
"""Of a watch of logs of collectives, which has none of these."""
INCIDENTS, INCIDENT_FILE, REPORT = "incidents", "incident.json", "report.html"
WATCH_SCHEMA = "timesink/watch/1"
STATUS_SCHEMA = "timesink/watch-status/1"
SERIES_SCHEMA = "timesink/watch-series/1"
INCIDENT_SCHEMA = "timesink/incident/1"
_FAMILY = WATCH_SCHEMA.rstrip("1")
_MAX_BYTES = 64 << 20
_HINT = "the watcher writes it anew while it runs; start it with  timesink watch -o DIR -- COMMAND"

Amount = float | None
StructT = TypeVar("StructT")


class _Frozen(msgspec.Struct, frozen=True):
    """Values that are missing are their defaults: a watcher of another version may tell less."""


class LearnedSoFar(_Frozen, frozen=True):
    cycles: int = 0
    of: int | None = None
    seconds_left: Amount = None
    kind: str | None = None
    error_pct: Any = None
    range_us: tuple[Amount, Amount] | None = None


class ToldPhase(_Frozen, frozen=True):
    """What cycles of a phase took in the last seconds."""

    phase: str = ""
    cycles: int = 0
    observed_us: Amount = None
    expected_us: Amount = None
    limit_us: Amount = None
    lasting_us: Amount = None
    residual_pct: Amount = None


class ToldProcess(_Frozen, frozen=True):
    pid: int = 0
    rank: int | None = None
    source: str | None = None
    cycles: int = 0
    last_us: Amount = None


class ToldAlarm(_Frozen, frozen=True):
    stream: str = ""
    phase: str = ""
    rule: str = ""
    since_s: Amount = None
    cycles: int = 0
    expected_us: Amount = None
    observed_us: Amount = None
    lost_us: Amount = None


class ToldAlarms(_Frozen, frozen=True):
    raised: int = 0
    brief: int = 0
    open: tuple[ToldAlarm, ...] = ()


class ToldIncident(_Frozen, frozen=True):
    id: str = ""
    state: str = ""
    since_us: Amount = None
    ended_us: Amount = None
    cause: str | None = None
    phase: str | None = None
    expected_us: Amount = None
    observed_us: Amount = None
    lost_us: Amount = None
    slow_rank: int | None = None


class RecorderState(_Frozen, frozen=True):
    on: bool = False
    why_not: str | None = None


class ToldCost(_Frozen, frozen=True):
    """What watching costs beside the program."""

    cpu_pct: Amount = None
    rss_bytes: Amount = None
    judged_share: Amount = None


class ToldExit(_Frozen, frozen=True):
    code: int | None = None
    signal: str | None = None


class WatchStatus(_Frozen, frozen=True):
    """`status.json`."""

    state: str
    time_us: int
    started_us: int | None = None
    exit: ToldExit | None = None
    cycles: int = 0
    dropped: int = 0
    outside: int = 0
    learned: LearnedSoFar | None = None
    processes: tuple[ToldProcess, ...] = ()
    phases: tuple[ToldPhase, ...] = ()
    workload: dict[str, Amount] = {}
    counters: dict[str, Amount] = {}
    alarms: ToldAlarms | None = None
    incidents: tuple[ToldIncident, ...] = ()
    recorder: RecorderState | None = None
    own: ToldCost | None = None
    references: tuple[Any, ...] = ()
    remarks: tuple[str, ...] = ()
    gone: bool = False
    """Whether the watcher is known to run no more."""


class PhaseSeries(_Frozen, frozen=True):
    """Moments are seconds since 1970, or since the watch began."""

    t_s: tuple[float, ...] = ()
    cycles: tuple[Amount, ...] = ()
    observed_us: tuple[Amount, ...] = ()
    slowest_us: tuple[Amount, ...] = ()
    expected_us: tuple[Amount, ...] = ()
    limit_us: tuple[Amount, ...] = ()


class CounterSeries(_Frozen, frozen=True):
    t_s: tuple[float, ...] = ()
    value: tuple[Amount, ...] = ()


class SeriesAlarm(_Frozen, frozen=True):
    since_us: float
    ended_us: Amount = None
    incident: str | None = None


class WatchSeries(_Frozen, frozen=True):
    """`series.json`: the last minutes, second by second."""

    started_us: int
    phases: dict[str, PhaseSeries] = {}
    workload: dict[str, tuple[Amount, ...]] = {}
    counters: dict[str, CounterSeries] = {}
    alarms: tuple[SeriesAlarm, ...] = ()


def is_watch(folder: Path) -> bool:
    """Whether a program is, or was, watched with this folder."""
    return is_of_family(folder / WATCH_FILE, _FAMILY)


def told_values(path: Path) -> dict[str, Any]:
    """What a file of a watch folder says; a sentence where it says nothing."""
    try:
        values: dict[str, Any] = read_small_json(path, _HINT, most_bytes=_MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise UnreadableError(f"{path}: not there (yet)", _HINT) from None
    return values


def told_watch(
    folder: Path, holds: Callable[[Path], bool] = lambda _: True
) -> tuple[dict[str, Any], dict[str, Any] | None, dict[str, IncidentFolder]]:
    """Status, series and folders of incidents; without series the status says why."""
    status, series, file = told_values(folder / STATUS_FILE), None, folder / SERIES_FILE
    try:
        series = told_values(file) if file.exists() else None
    except UnreadableError as error:
        # What there is is shown; the curves come back with the next file.
        remarks = status.get("remarks")
        status["remarks"] = [*(remarks if isinstance(remarks, list) else ()), error.message]
    return status, series, incident_folders(folder, holds)


def shared_statuses(place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What watchers have put in one place: name and status of each; other files are let be."""
    for name, content in _contents(place):
        try:
            status = decode_small_json(content, name)
        except DamagedError:
            continue
        if status.get("schema") == STATUS_SCHEMA:
            yield name, status


def _contents(place: str) -> Iterator[tuple[str, bytes]]:
    if not is_url(place_of(place)):
        for path in sorted(Path(place).glob("*.json")):
            with suppress(OSError, DamagedError):
                yield path.stem, small_content(path, most_bytes=_MAX_BYTES)
        return
    from timesink.sources.remote import connect, wrap_errors  # noqa: PLC0415 - rarely

    with suppress(FileNotFoundError), wrap_errors(place, "cannot be read"):
        system, folder = connect(place)
        for name in sorted(str(entry) for entry in system.ls(folder, detail=False)):
            if name.endswith(".json"):
                yield Path(name).stem, system.cat_file(name)


def cycles_of(phase: str, stream: str) -> str:
    """What cycles of a phase and a stream are called; streams are named by their number or rank.

    >>> cycles_of("decode", "4711.0"), cycles_of("cycle", "rank3.1")
    ('decode steps of process 4711', 'steps of rank 3, thread 1')
    """
    whose, _, thread = stream.partition(".")
    whose = f"rank {whose[4:]}" if whose.startswith("rank") else f"process {whose}"
    whose = f"{whose}, thread {thread}" if thread not in {"", "0"} else whose
    kind = f"{phase} steps" if phase in {"decode", "prefill", "mixed"} else "steps"
    return f"{kind} of {whose}" if stream else kind


def check_values(values: dict[str, Any], kind: type[StructT], file: str) -> StructT:
    """Values of a file as what they are to be; a sentence where they are something else."""
    try:
        return msgspec.convert(values, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        why = f"{file}: not what a watcher of this version writes ({error})"
        raise UnreadableError(why, "watch and show it with the same timesink") from None


class IncidentFolder(msgspec.Struct, frozen=True):
    """What there is of an incident beside its line in the status."""

    id: str
    pair: bool = False
    """Whether there are recordings of before and then to compare."""
    report: bool = False
    remarks: tuple[str, ...] = ()


def incident_folders(
    folder: Path, holds: Callable[[Path], bool] = lambda _: True
) -> dict[str, IncidentFolder]:
    """Incidents whose folders are there, by their ids; `holds` says which files may be read.

    >>> from timesink.sources.watch_folder import incident_folders
    >>> incident_folders(Path("nowhere"))
    {}
    """
    try:
        children = sorted((folder / INCIDENTS).iterdir())
    except OSError:
        return {}
    return {
        child.name: _incident(child)
        for child in children
        if child.is_dir() and child.name[:1] != "." and holds(child / INCIDENT_FILE)
    }


def _incident(folder: Path) -> IncidentFolder:
    try:
        raw_remarks = told_values(folder / INCIDENT_FILE).get("remarks")
        remarks = (
            tuple(remark for remark in raw_remarks if isinstance(remark, str))
            if raw_remarks
            else ()
        )
    except (UnreadableError, TypeError) as error:
        remarks = (str(error),)
    pair = (folder / "base").is_dir() and (folder / "new").is_dir()
    return IncidentFolder(folder.name, pair, (folder / REPORT).is_file(), remarks)
