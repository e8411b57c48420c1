"""Workers side by side: who waits for whom, and what each spends on which collective.

Only lengths are compared between workers, so their clocks need not agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.communication.bandwidth import (
    bus_share,
    per_second,
    sum_if_known,
    volume,
)
from timesink.analyses.communication.matching import find_mismatches, match_calls, together
from timesink.analyses.communication.records import covered_ns
from timesink.analyses.row_groups import Groups
from timesink.model import intervals

IntArray: TypeAlias = NDArray[np.int64]

_PARTS = ("transfer_ns", "waiting_ns")
_STEP_SCHEMA = {
    "worker": pl.String(),
    "step": pl.String(),
    "complete": pl.Boolean(),
    "communication_ns": pl.Int64(),
    "transfer_ns": pl.Int64(),
    "waiting_ns": pl.Int64(),
}


@dataclass(frozen=True, eq=False)
class WorkerSummary:
    """What of one worker the comparison needs."""

    rank: int | None
    steps: pl.DataFrame
    """As `step_communication` gives them."""
    records: pl.DataFrame
    ranges: pl.DataFrame


@dataclass(frozen=True, eq=False)
class Comparison:
    """Workers of one span, compared call by call.

    Of a single worker nobody can tell how long it waited: then `transfer_ns` and `waiting_ns`
    are null throughout.
    """

    by_step: pl.DataFrame
    """Per worker and step in which it communicates: `communication_ns`, which divides into
    `transfer_ns` and `waiting_ns`."""
    by_name: pl.DataFrame
    """Per worker and name of a call: `calls`, `size_bytes`, `latency_ns`, `transfer_ns`, and how
    many bytes per second the collective and the busiest link moved while it transferred."""
    mismatches: pl.DataFrame
    """Calls that not all workers of their group have."""


def compare_workers(workers: Mapping[str, WorkerSummary]) -> Comparison:
    """Divide the communication of every worker into waiting and transfer, and find odd calls.

    A collective ends on all ranks together and starts when the last one has come.  Of the same
    range on all workers the shortest is therefore all transfer; on the others as much of its
    end is, and what comes before was waiting.

    """
    calls = match_calls({worker: summary.records for worker, summary in workers.items()})
    calls = calls.with_row_index("call")
    times = together({worker: summary.ranges for worker, summary in workers.items()})
    ranges = _with_transfer(times, calls, split=len(workers) > 1)
    ranks = {worker: summary.rank for worker, summary in workers.items()}
    return Comparison(
        by_step=_by_step(workers, ranges),
        by_name=_by_name(calls, ranges),
        mismatches=find_mismatches(calls, ranks),
    )


def mean_over_steps(steps: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Mean per worker over its complete steps; over all steps where none is complete.

    >>> steps = pl.DataFrame(
    ...     {"worker": ["a"] * 3, "complete": [True, True, False], "communication_ns": [4, 5, 99]}
    ... )
    >>> mean_over_steps(steps, "communication_ns").rows()
    [('a', 4.5)]
    """
    counted = pl.col("complete") | ~pl.col("complete").any().over("worker")
    return steps.filter(counted).group_by("worker", maintain_order=True).agg(pl.col(columns).mean())


# -- waiting and transfer --------------------------------------------------------------------------


def _with_transfer(ranges: pl.DataFrame, calls: pl.DataFrame, *, split: bool) -> pl.DataFrame:
    """The ranges of all workers, and how much of the end of each is transfer."""
    of_call = ["worker", "record", "call", "match", "name", "collective", "size_bytes", "out_bytes"]
    found = ranges.join(calls.select(of_call), on=["worker", "record"], maintain_order="left")
    call, on_device = found["call"].to_numpy().astype(np.int64), found["on_device"].to_numpy()
    has_kernels = np.bincount(call[on_device], minlength=calls.height) > 0
    found = found.with_columns(
        length_ns=pl.col("end_ns") - pl.col("start_ns"),
        moves=pl.Series(on_device | ~has_kernels[call]),
    )
    if not split:
        return found.with_columns(transfer_ns=pl.lit(None, pl.Int64))
    # The first kernel of a call is the first one on every worker, and so on.
    nth = Groups.of(2 * call + on_device).places
    match = found["match"].to_numpy().astype(np.int64)
    same = Groups.of((2 * match + on_device) * (int(nth.max(initial=0)) + 1) + nth)
    return found.with_columns(transfer_ns=_transfer(found, same))


def _transfer(ranges: pl.DataFrame, same: Groups) -> pl.Series:
    length = ranges["length_ns"].to_numpy()
    shortest = same.least(length)
    uneven = ranges.select((pl.col("collective") == "all_to_all") & pl.col("moves")).to_series()
    if not uneven.any():
        return pl.Series(shortest)
    # Where ranks move different amounts, the fastest one tells what a byte takes.
    amounts = ranges.select(pl.max_horizontal("size_bytes", "out_bytes").fill_null(0)).to_series()
    moved = amounts.to_numpy().astype(np.float64)
    pace = np.divide(length, moved, out=np.full(len(moved), np.inf), where=moved > 0)
    comparable = same.least((moved > 0).astype(np.float64)) > 0
    known = uneven.fill_null(value=False).to_numpy() & comparable
    share = np.round(np.where(known, same.least(np.where(known, pace, np.inf)), 0) * moved)
    return pl.Series(np.where(known, np.minimum(share.astype(np.int64), length), shortest))


def _by_step(workers: Mapping[str, WorkerSummary], ranges: pl.DataFrame) -> pl.DataFrame:
    """Communication of every step in which there is some; the rows of a worker lie together."""
    times = ranges.select("start_ns", "end_ns").to_numpy()
    unknown = bool(ranges["transfer_ns"].null_count())
    transfer = ranges["transfer_ns"].fill_null(0).to_numpy()
    tails = np.stack([times[:, 1] - transfer, times[:, 1]], axis=1)
    number = ranges["worker"].to_physical().to_numpy()
    ends = np.searchsorted(number, np.arange(len(workers)), side="right").tolist()
    rows: list[pl.DataFrame] = []
    covered: list[IntArray] = []
    for summary, start, end in zip(workers.values(), [0, *ends], ends, strict=False):
        if start < end and not summary.steps.is_empty():
            windows = _windows(summary.steps, times[start:end])
            parts = (intervals.coverage_within(of[start:end], windows) for of in (times, tails))
            covered.append(np.stack([*parts], axis=1))
            rows.append(summary.steps)
        else:
            rows.append(summary.steps.clear())
    if not covered:
        return pl.DataFrame(schema=_STEP_SCHEMA)
    steps = together(dict(zip(workers, rows, strict=True)))
    all_ns, transfer_ns = np.concatenate(covered).T
    found = steps.select(
        pl.col("worker").cast(pl.String),
        pl.col("name").alias("step"),
        "complete",
        pl.Series("communication_ns", all_ns),
        pl.Series("transfer_ns", transfer_ns),
        pl.Series("waiting_ns", all_ns - transfer_ns),
    ).filter(pl.col("communication_ns") > 0)
    if unknown:
        found = found.with_columns(pl.lit(None, pl.Int64).alias(name) for name in _PARTS)
    return found


def _windows(steps: pl.DataFrame, times: IntArray) -> IntArray:
    if steps["marked"].any():
        return np.stack([steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()], axis=1)
    # Without marks the recording is one step, and all communication belongs to it.
    return np.array([[times[:, 0].min(), times[:, 1].max()]])


# -- totals per name -------------------------------------------------------------------------------


def _by_name(calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """In order of the first call of each name; moments of overlapping calls count once."""
    tails = ranges.with_columns(start_ns=pl.col("end_ns") - pl.col("transfer_ns"))
    moving = pl.coalesce("transfer_ns", "length_ns").filter("moves").sum()
    moved = ranges.group_by("call").agg(moving_ns=moving)
    totals = (
        calls.join(moved, on="call", maintain_order="left")
        .with_columns(volume=volume())
        .with_columns(bus_volume=pl.col("volume") * bus_share())
        .group_by("worker", "name", maintain_order=True)
        .agg(
            pl.col("collective").first(),
            calls=pl.len().cast(pl.Int64),
            size_bytes=sum_if_known("size_bytes"),
            algorithm_bytes_per_s=per_second("volume", "moving_ns"),
            bus_bytes_per_s=per_second("bus_volume", "moving_ns"),
        )
    )
    for times in (_covered(ranges, "latency_ns"), _covered(tails, "transfer_ns")):
        totals = totals.join(times, on=["worker", "name"], how="left", maintain_order="left")
    return totals.with_columns(pl.col("worker").cast(pl.String))


def _covered(ranges: pl.DataFrame, column: str) -> pl.DataFrame:
    """Time covered by the ranges of each worker and name; null where they are not known."""
    known = pl.col("start_ns").is_not_null().all()
    return (
        ranges.sort("start_ns")
        .with_columns(covered_ns("worker", "name").alias("covered_ns"))
        .group_by("worker", "name")
        .agg(pl.when(known).then(pl.col("covered_ns").sum()).alias(column))
    )
