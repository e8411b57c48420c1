"""Where and how recordings were made, from what each says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

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
    devices, hosts, versions, days = set(), set(), set(), set()
    for run in runs:
        for one in run.devices:
            driver = f", driver {one.driver}" if one.driver else ""
            devices.add(f"{one.name or one.device or 'a device without a name'}{driver}")
        cores = f"{run.host.cores:g} cores" if run.host.cores else None
        hosts.add(", ".join(filter(None, (cores, run.host.cpu, run.host.system))))
        named = {"timesink": run.timesink, **run.versions}
        versions.add(", ".join(f"{name} {each}" for name, each in named.items() if each))
        if run.started_us is not None:
            started = datetime.fromtimestamp(run.started_us / 1e6, timezone.utc)
            days.add(started.date().isoformat())
    return Made(
        recordings=len(runs),
        partial=sum(run.complete is False for run in runs),
        devices=tuple(sorted(devices)),
        host=tuple(sorted(hosts - {""})),
        versions=tuple(sorted(versions - {""})),
        days=tuple(sorted(days)),
        cycles=tuple(sorted(one for one in cycles if one is not None)),
        interval_ms=tuple(sorted(one for one in intervals if one is not None)),
        profiler_pct=median(told) if told else None,
    )
