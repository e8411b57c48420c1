"""What `timesink watch` leaves in a folder: what it sees, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from timesink.errors import UnreadableError

WATCH_FILE, STATUS_FILE, SERIES_FILE = "watch.json", "status.json", "series.json"
INCIDENTS, INCIDENT_FILE, REPORT = "incidents", "incident.json", "report.html"
_FAMILY = "timesink/watch/"
_MOST_BYTES = 64 << 20
_HINT = "the watcher writes it anew while it runs; start it with  timesink watch -o DIR -- COMMAND"

Amount = float | None
Told = TypeVar("Told")


class _Frozen(msgspec.Struct, frozen=True):
    """Values that are missing are their defaults: a watcher of another version may tell less."""


class LearnedSoFar(_Frozen, frozen=True):
    cycles: int = 0
    of: int | None = None
    kind: str | None = None
    error_pct: Any = None


class ToldPhase(_Frozen, frozen=True):
    """What cycles of a phase took in the last seconds."""

    phase: str = ""
    cycles: int = 0
    observed_us: Amount = None
    expected_us: Amount = None
    limit_us: Amount = None
    residual_pct: Amount = None


class ToldProcess(_Frozen, frozen=True):
    pid: int = 0
    rank: int | None = None
    source: str | None = None
    cycles: int = 0
    last_us: Amount = None


class ToldAlarm(_Frozen, frozen=True):
    phase: str = ""
    rule: str = ""
    since_s: Amount = None
    cycles: int = 0
    expected_us: Amount = None
    observed_us: Amount = None
    lost_us: Amount = None


class ToldAlarms(_Frozen, frozen=True):
    raised: int = 0
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


class RecorderState(_Frozen, frozen=True):
    on: bool = False
    why_not: str | None = None


class ToldCost(_Frozen, frozen=True):
    """What watching costs beside the program."""

    cpu_pct: Amount = None
    rss_bytes: Amount = None
    judged_share: Amount = None


class WatchStatus(_Frozen, frozen=True):
    """`status.json`."""

    state: str
    time_us: int
    started_us: int | None = None
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


class _Described(_Frozen, frozen=True):
    schema: str = ""


def is_watch(folder: Path) -> bool:
    """Whether a program is, or was, watched with this folder."""
    try:
        content = (folder / WATCH_FILE).read_bytes()
        return msgspec.json.decode(content, type=_Described).schema.startswith(_FAMILY)
    except OSError:
        return False
    except (msgspec.DecodeError, RecursionError):
        # Whoever shows a damaged one says so.
        return f'"{_FAMILY}'.encode() in content


def told_values(path: Path) -> dict[str, Any]:
    """What a file of a watch folder says; a sentence where it says nothing."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UnreadableError(f"{path}: too large to be of a watcher", _HINT)
        values = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise UnreadableError(f"{path}: not there (yet)", _HINT) from None
    except OSError as error:
        raise UnreadableError.denied(path, error.strerror or str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{path}: cut off or damaged ({error})", _HINT) from None
    if not isinstance(values, dict):
        raise UnreadableError(f"{path}: not of a watcher", _HINT)
    return values


def checked(values: dict[str, Any], kind: type[Told], file: str) -> Told:
    """Values of a file as what they are to be; a sentence where they are something else."""
    try:
        return msgspec.convert(values, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        why = f"{file}: not what a watcher of this version writes ({error})"
        raise UnreadableError(why, "watch and show it with the same timesink") from None


@dataclass(frozen=True)
class IncidentFolder:
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
        found = sorted((folder / INCIDENTS).iterdir())
    except OSError:
        return {}
    return {
        one.name: _incident(one)
        for one in found
        if one.is_dir() and one.name[:1] != "." and holds(one / INCIDENT_FILE)
    }


def _incident(folder: Path) -> IncidentFolder:
    try:
        said = told_values(folder / INCIDENT_FILE).get("remarks")
        remarks = tuple(one for one in said if isinstance(one, str)) if said else ()
    except (UnreadableError, TypeError) as error:
        remarks = (str(error),)
    pair = (folder / "base").is_dir() and (folder / "new").is_dir()
    return IncidentFolder(folder.name, pair, (folder / REPORT).is_file(), remarks)
