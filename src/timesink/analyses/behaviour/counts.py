"""What is in a behaviour table: cycles, processes, functions, metrics."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from timesink.model.trace import Trace


@dataclass(frozen=True, slots=True)
class BehaviourCounts:
    """Counts of one behaviour table."""

    rows: int
    cycles: int
    """Cycles of all processes together."""
    functions: int
    metrics: int
    processes: tuple[str, ...]
    """With the host before them where the table names it: `node1 944615`."""
    devices: tuple[str, ...]
    anchors: tuple[str, ...]
    """What marks the cycles."""
    cycle_ns: int
    """Length of a cycle: the median."""


def count_behaviour(trace: Trace) -> BehaviourCounts | None:
    """What the behaviour table of a trace holds; None where it has none."""
    table = trace.lazy("behaviour").collect()
    if table.is_empty():
        return None
    keys = ["host", "pid", "cycle_type", "cycle"]
    cycles = table.unique(keys)
    middle = cycles["cycle_dur_ns"].median()
    return BehaviourCounts(
        rows=table.height,
        cycles=cycles.height,
        functions=table["function"].n_unique(),
        metrics=table["metric"].drop_nulls().n_unique(),
        processes=_processes(cycles),
        devices=distinct_texts(table["device"]),
        anchors=distinct_texts(table["anchor"]),
        cycle_ns=round(middle) if isinstance(middle, float) else 0,
    )


def _processes(cycles: pl.DataFrame) -> tuple[str, ...]:
    named = cycles.select(
        pl.concat_str(pl.col("host", "pid").cast(pl.String), separator=" ", ignore_nulls=True)
    )
    return tuple(text for text in distinct_texts(named.to_series()) if text)


def distinct_texts(column: pl.Series) -> tuple[str, ...]:
    """Every value of a column once, in order."""
    return tuple(column.drop_nulls().unique().cast(pl.String).sort().to_list())
