"""Recordings cut into parts: some of their cycles, as files of their own."""

from __future__ import annotations

import gzip
import shutil
from bisect import bisect_right
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

Events = list[dict[str, Any]]
_LAUNCHES = ("cuda_runtime", "cuda_driver")


def halves(count: int) -> tuple[range, range]:
    """Places of the first and of the second half of some cycles."""
    return range(count // 2), range(count // 2, count)


def alternate(count: int) -> tuple[range, range]:
    """Places of every other cycle, and of those between."""
    return range(0, count, 2), range(1, count, 2)


# -- a timeline ------------------------------------------------------------------------------------


def read_document(path: Path) -> dict[str, Any]:
    """A Chrome-format trace, packed."""
    document: dict[str, Any] = msgspec.json.decode(gzip.decompress(path.read_bytes()))
    return document


def cycle_starts(events: Events, mark: str) -> list[float]:
    """When the cycles of a timeline begin that an annotation marks."""
    return sorted(
        event["ts"]
        for event in events
        if event.get("name") == mark and event.get("cat") == "user_annotation"
    )


def write_cycles(
    document: dict[str, Any], mark: str, places: Collection[int], folder: Path, counters: Path
) -> Path:
    """A folder with the trace of some cycles, and all counters beside it.

    What the device does belongs to the cycle that launched it.
    """
    starts = cycle_starts(document["traceEvents"], mark)
    cycles = _cycles_of(document["traceEvents"], starts)
    events = [
        event
        for event, cycle in zip(document["traceEvents"], cycles, strict=True)
        if cycle is None or cycle in places
    ]
    folder.mkdir(parents=True)
    (folder / "trace.json").write_bytes(msgspec.json.encode({**document, "traceEvents": events}))
    shutil.copy(counters, folder / "counters.csv")
    return folder


def _cycles_of(events: Events, starts: Sequence[float]) -> list[int | None]:
    """The cycle of each event; None for what is of the whole recording."""
    launched = {
        event["args"]["correlation"]: bisect_right(starts, event["ts"]) - 1
        for event in events
        if event.get("cat") in _LAUNCHES and "correlation" in event.get("args", {})
    }
    return [_cycle_of(event, starts, launched) for event in events]


def _cycle_of(
    event: dict[str, Any], starts: Sequence[float], launched: dict[int, int]
) -> int | None:
    if event["ph"] not in {"X", "s", "f"} or event.get("cat") in {"Trace", "overhead"}:
        return None
    correlation = event.get("id", event.get("args", {}).get("correlation"))
    return launched.get(correlation, bisect_right(starts, event["ts"]) - 1)


# -- a behaviour table -----------------------------------------------------------------------------


def count_cycles(table: Path) -> int:
    """How many cycles a published behaviour table has."""
    return read_table(table)["cycle"].n_unique()


def write_table_cycles(table: Path, places: Collection[int], folder: Path) -> Path:
    """A folder with some cycles of a published behaviour table, and all its counters."""
    rows = read_table(table)
    numbers = rows["cycle"].unique().cast(pl.Int64).sort()
    chosen = [str(numbers[place]) for place in places]
    folder.mkdir(parents=True)
    rows.filter(pl.col("cycle").is_in(chosen)).write_csv(folder / "result_perf_data.csv")
    shutil.copy(table.with_name("result_counters_data.csv.gz"), folder)
    return folder


def read_table(table: Path) -> pl.DataFrame:
    """All columns as text, to be written as they are."""
    return pl.read_csv(gzip.decompress(table.read_bytes()), infer_schema=False)
