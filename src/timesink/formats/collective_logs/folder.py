"""A folder of logs of collectives, one of each rank or process, as one trace."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from timesink.errors import TimesinkError, UnreadableError
from timesink.formats.collective_logs import flight_recorder, inspector
from timesink.formats.collective_logs.signatures import (
    FLIGHT_RECORDER,
    INSPECTOR,
    MAX_FILES,
    log_format,
)
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import open_source
from timesink.model.health import HealthEntry, merge_entries
from timesink.model.schema import EMPTY_TABLES
from timesink.model.trace import Distributed, Metadata, Trace

_READERS = {FLIGHT_RECORDER: flight_recorder, INSPECTOR: inspector}


def read_log_folder(folder: Path) -> Trace:
    """The logs of a folder together; those that cannot be read are counted."""
    return read_logs(str(folder), list(folder.iterdir()))


def read_logs(source: str, files: Iterable[Path]) -> Trace:
    """Some logs together, as `read_log_folder` reads all of a folder; files of others are none."""
    traces, unread = [], []
    ordered = sorted(files)
    for file in ordered[:MAX_FILES]:
        form = log_format(file)
        if form is None:
            continue
        try:
            traces.append(_READERS[form].read(open_source(file), ReadOptions()))
        except (TimesinkError, OSError) as error:
            unread.append(f"{file.name}: {error}")
    if not traces:
        raise UnreadableError(
            f"{source}: no log of collectives can be read ({''.join(unread[:1])})",
            "give a folder of flight-recorder dumps, or of logs of the NCCL Inspector",
        )
    tables = [trace.collective_calls for trace in traces]
    calls = pl.concat(tables).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("index"))
    sizes = [trace.metadata.distributed.world_size or 0 for trace in traces]
    first = traces[0].metadata
    ranks = sorted({t.metadata.distributed.rank for t in traces} - {None}, key=lambda r: r or 0)
    metadata = Metadata(
        source=Path(source).name,
        format=first.format,
        vendor=first.vendor,
        events=calls.height,
        distributed=Distributed(world_size=max(sizes) or None),
        framework=first.framework,
        versions=first.versions,
        extra={"files": len(traces), "ranks": ranks},
    )
    health = [HealthEntry("unreadable_file", len(unread), "".join(unread[:1]))] if unread else []
    if beyond := ordered[MAX_FILES:]:
        health.append(HealthEntry("files_left_out", len(beyond), beyond[0].name))
    entries = merge_entries([*(e for t in traces for e in t.health), *health])
    frames = {name: frame.lazy() for name, frame in EMPTY_TABLES.items()}
    return Trace(metadata, entries, {**frames, "collective_calls": calls.lazy()})
