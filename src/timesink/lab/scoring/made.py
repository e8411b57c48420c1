"""Where and how recordings were made, from what each says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from timesink.model.recorded_run import RecordedRun
from timesink.readers.run_file import run_file_in

Facts = tuple[str, ...]
"""What recordings say, each once; more than one entry: they differ."""


@dataclass(frozen=True)
class Made:
    """What the `run.json` of all recordings say together; empty where none is there."""

    recordings: int = 0
    partial: int = 0
    devices: Facts = ()
    host: Facts = ()
    versions: Facts = ()
    days: Facts = ()
    cycles: tuple[int, ...] = ()
    interval_ms: tuple[float, ...] = ()
    profiler_pct: float | None = None
    """How much longer cycles were with the profiler on; the median."""


def made_how(folders: Iterable[Path]) -> Made:
    """What the recordings in these folders say."""
    files = [run_file_in(folder) for folder in sorted(folders)]
    runs = [file.run for file in files if file is not None and file.run is not None]
    told = [one.overhead.profiler_pct for one in runs if one.overhead.profiler_pct is not None]
    cycles = {one.cycles.recorded for one in runs}
    intervals = {one.counters.interval_ms for one in runs}
    return Made(
        recordings=len(runs),
        partial=sum(run.complete is False for run in runs),
        devices=_each(runs, _devices),
        host=_each(runs, _host),
        versions=_each(runs, _versions),
        days=_each(runs, _day),
        cycles=tuple(sorted(one for one in cycles if one is not None)),
        interval_ms=tuple(sorted(one for one in intervals if one is not None)),
        profiler_pct=median(told) if told else None,
    )


def _each(runs: Iterable[RecordedRun], facts: Callable[[RecordedRun], Iterator[str]]) -> Facts:
    return tuple(sorted({fact for run in runs for fact in facts(run)}))


def _devices(run: RecordedRun) -> Iterator[str]:
    for one in run.devices:
        driver = f", driver {one.driver}" if one.driver else ""
        yield f"{one.name or one.device or 'a device without a name'}{driver}"


def _host(run: RecordedRun) -> Iterator[str]:
    told = run.host
    parts = (f"{told.cores:g} cores" if told.cores else None, told.cpu, told.system)
    if any(parts):
        yield ", ".join(part for part in parts if part)


def _versions(run: RecordedRun) -> Iterator[str]:
    named = {"timesink": run.timesink, **run.versions}
    if any(named.values()):
        yield ", ".join(f"{name} {version}" for name, version in named.items() if version)


def _day(run: RecordedRun) -> Iterator[str]:
    if run.started_us is not None:
        yield datetime.fromtimestamp(run.started_us / 1e6, timezone.utc).date().isoformat()
