"""A trace with what `run.json` beside it says: who ran what where, and how well it was recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import polars as pl

from timesink.model.health import HealthEntry, merge_entries
from timesink.model.recorded_run import RecordedRun, RunProcess
from timesink.model.trace import Metadata, Trace
from timesink.readers.run_file import RunFile
from timesink.readers.run_health import run_health


def with_run(trace: Trace, file: RunFile) -> Trace:
    """The trace with the facts of its run in its metadata, and what they mean in its health."""
    broken = [HealthEntry("bad_run_file", len(file.unused), "".join(file.unused[:1]))]
    if file.run is None:
        return replace(trace, health=merge_entries([*trace.health, *broken]))
    own = file.run.process_of(Path(trace.metadata.source).name)
    metadata = _described(trace.metadata, file.run, own)
    health = [*trace.health, *broken, *run_health(file.run, own)]
    if trace.metadata.format == "counters":
        health = _of_counters(health, file.run)
    if own is not None:
        # A process without a rank, as its recorder saw it, is no part of a larger job.
        health = [entry for entry in health if entry.code != "rank_assumed"]
    return replace(trace, metadata=metadata, health=merge_entries(health))


def _of_counters(health: Iterable[HealthEntry], run: RecordedRun) -> list[HealthEntry]:
    """Why there are counters alone; a program without PyTorch has no cycles to lose."""
    lost = "" if run.uses_torch else "lost_recording"
    return [
        replace(entry, example=run.why_no_calls) if entry.code == "counters_only" else entry
        for entry in health
        if entry.code != lost
    ]


def _described(metadata: Metadata, run: RecordedRun, own: RunProcess | None) -> Metadata:
    """What the trace says of itself comes first."""
    distributed = metadata.distributed
    if own is not None:
        distributed = replace(
            distributed,
            rank=own.rank if distributed.rank is None else distributed.rank,
            world_size=distributed.world_size or own.world_size,
        )
    versions = {_version_key(name): version for name, version in run.versions.items()}
    if run.timesink:
        versions[_version_key("timesink")] = run.timesink
    return replace(
        metadata,
        run=run,
        distributed=distributed,
        versions={**versions, **metadata.versions},
    )


def _version_key(name: str) -> str:
    """As traces spell it: `cuda_driver_version`."""
    return name if name.endswith("_version") else f"{name}_version"


def samples_of_process(samples: pl.DataFrame, run: RecordedRun | None, trace: str) -> pl.DataFrame:
    """Samples without those of other processes of the run, whose traces have them."""
    own = None if run is None else run.process_of(trace)
    if run is None or own is None:
        return samples
    others = [f"pid {one.pid}" for one in run.processes if one.pid not in (None, own.pid)]
    device = pl.col("device").cast(pl.String)
    return samples.filter(~device.is_in(others).fill_null(value=False)) if others else samples
