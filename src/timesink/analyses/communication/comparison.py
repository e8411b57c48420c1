"""Workers side by side: who waits for whom, and what each spends on which collective.

Only lengths are compared between workers, so their clocks need not agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from timesink.analyses.communication.bandwidth import (
    bus_share,
    per_second,
    sum_if_known,
    volume,
)
from timesink.analyses.communication.matching import find_mismatches, match_calls
from timesink.analyses.gathering import values_at
from timesink.analyses.row_groups import Groups, covered, joint, numbered, stacked
from timesink.model import intervals
from timesink.model.arrays import Flags, Ints

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
    names = pl.Enum(list(workers))
    times = stacked({name: each.ranges for name, each in workers.items()}, "worker", names)
    ranges = _with_transfer(times, calls, split=len(workers) > 1)
    ranks = {worker: summary.rank for worker, summary in workers.items()}
    return Comparison(
        by_step=_by_step(workers, calls, ranges),
        by_name=_by_name(calls, ranges),
        mismatches=find_mismatches(calls, ranks),
    )


def mean_over_steps(steps: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Mean per worker over its complete steps; over all steps where none is complete."""
    counted = pl.col("complete") | ~pl.col("complete").any().over("worker")
    return steps.filter(counted).group_by("worker", maintain_order=True).agg(pl.col(columns).mean())


# -- waiting and transfer --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Ranges:
    """The ranges of all workers, those of a call together, in the order of the calls."""

    call: Ints
    """Row of the call of each."""
    moves: Flags
    """Whether data is moved, or waited for: by the kernels of a call where it has some."""
    start: Ints
    end: Ints
    transfer: Ints | None = None
    """How much of the end of each is transfer, where that can be told."""

    @property
    def length(self) -> Ints:
        return self.end - self.start

    @property
    def tail(self) -> Ints:
        """Where the transfer begins."""
        return self.end if self.transfer is None else self.end - self.transfer


def _with_transfer(ranges: pl.DataFrame, calls: pl.DataFrame, *, split: bool) -> _Ranges:
    """The ranges of all workers, and how much of the end of each is transfer."""
    many = 1 + max(int(table["record"].max() or 0) for table in (ranges, calls))  # type: ignore[arg-type]
    wanted, known = (
        table["worker"].to_physical().to_numpy().astype(np.int64) * many
        + table["record"].to_numpy()
        for table in (ranges, calls)
    )
    if not len(known):
        return _Ranges(wanted[:0], wanted[:0] > 0, wanted[:0], wanted[:0])
    call = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    rows = np.flatnonzero(known[call] == wanted)
    call, on_device = call[rows], ranges["on_device"].to_numpy()[rows]
    start, end = (ranges[time].to_numpy()[rows] for time in ("start_ns", "end_ns"))
    has_kernels = np.bincount(call[on_device], minlength=calls.height) > 0
    found = _Ranges(call, on_device | ~has_kernels[call], start, end)
    if not split:
        return found
    # The first kernel of a call is the first one on every worker, and so on.
    nth = Groups.of(2 * call + on_device).places
    match = calls["match"].to_numpy().astype(np.int64)[call]
    same = Groups.of((2 * match + on_device) * (int(nth.max(initial=0)) + 1) + nth)
    return replace(found, transfer=_transfer(found, same, calls))


def _transfer(ranges: _Ranges, same: Groups, calls: pl.DataFrame) -> Ints:
    length = ranges.length
    shortest = same.least(length)
    uneven = (calls["collective"] == "all_to_all").fill_null(value=False).to_numpy()
    if not uneven.any():
        return shortest
    # Where ranks move different amounts, the fastest one tells what a byte takes.
    amounts = calls.select(pl.max_horizontal("size_bytes", "out_bytes").fill_null(0)).to_series()
    moved = amounts.to_numpy().astype(np.float64)[ranges.call]
    pace = np.divide(length, moved, out=np.full(len(moved), np.inf), where=moved > 0)
    comparable = same.least((moved > 0).astype(np.float64)) > 0
    known = uneven[ranges.call] & ranges.moves & comparable
    share = np.round(np.where(known, same.least(np.where(known, pace, np.inf)), 0) * moved)
    return np.where(known, np.minimum(share.astype(np.int64), length), shortest)


def _by_step(
    workers: Mapping[str, WorkerSummary], calls: pl.DataFrame, ranges: _Ranges
) -> pl.DataFrame:
    """Communication of every step in which there is some; the rows of a worker lie together."""
    times = np.stack([ranges.start, ranges.end], axis=1)
    tails = np.stack([ranges.tail, ranges.end], axis=1)
    number = calls["worker"].to_physical().to_numpy()[ranges.call]
    ends = np.searchsorted(number, np.arange(len(workers)), side="right").tolist()
    rows: list[pl.DataFrame] = []
    shares: list[Ints] = []
    for summary, start, end in zip(workers.values(), [0, *ends], ends, strict=False):
        if start < end and not summary.steps.is_empty():
            windows = _windows(summary.steps, times[start:end])
            parts = (intervals.coverage_within(of[start:end], windows) for of in (times, tails))
            shares.append(np.stack([*parts], axis=1))
            rows.append(summary.steps)
        else:
            rows.append(summary.steps.clear())
    if not shares:
        return pl.DataFrame(schema=_STEP_SCHEMA)
    steps = stacked(dict(zip(workers, rows, strict=True)), "worker", pl.String())
    all_ns, transfer_ns = np.concatenate(shares).T
    found = steps.select(
        "worker",
        pl.col("name").alias("step"),
        "complete",
        pl.Series("communication_ns", all_ns),
        pl.Series("transfer_ns", transfer_ns),
        pl.Series("waiting_ns", all_ns - transfer_ns),
    ).filter(pl.col("communication_ns") > 0)
    if ranges.transfer is None:
        found = found.with_columns(pl.lit(None, pl.Int64).alias(name) for name in _PARTS)
    return found


def _windows(steps: pl.DataFrame, times: Ints) -> Ints:
    if steps["marked"].any():
        return np.stack([steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()], axis=1)
    # Without marks the recording is one step, and all communication belongs to it.
    return np.array([[times[:, 0].min(), times[:, 1].max()]])


# -- totals per name -------------------------------------------------------------------------------


def _by_name(calls: pl.DataFrame, ranges: _Ranges) -> pl.DataFrame:
    """In order of the first call of each name; moments of overlapping calls count once."""
    # Numbers instead of texts: there may be a million calls.
    key = joint(numbered(calls["worker"]), numbered(calls["name"]))
    moving = np.where(
        ranges.moves, ranges.length if ranges.transfer is None else ranges.transfer, 0
    )
    moving_ns = np.bincount(ranges.call, moving, minlength=calls.height).astype(np.int64)
    totals = (
        calls.lazy()
        .with_columns(pl.Series("key", key), pl.Series("moving_ns", moving_ns), volume=volume())
        .with_columns(bus_volume=pl.col("volume") * bus_share())
        .group_by("key")
        .agg(
            pl.col("worker", "name", "collective").first(),
            calls=pl.len().cast(pl.Int64),
            size_bytes=sum_if_known("size_bytes"),
            algorithm_bytes_per_s=per_second("volume", "moving_ns"),
            bus_bytes_per_s=per_second("bus_volume", "moving_ns"),
        )
        .sort("key")
        .with_columns(pl.col("worker").cast(pl.String))
        .collect()
    )
    of_range, many = key[ranges.call], totals.height
    latency = _covered(of_range, ranges.start, ranges.end, many)
    if ranges.transfer is None:
        transfer = pl.lit(None, pl.Int64)
    else:
        transfer = pl.lit(_covered(of_range, ranges.tail, ranges.end, many))
    return totals.drop("key").with_columns(latency_ns=latency, transfer_ns=transfer)


def _covered(key: Ints, start: Ints, end: Ints, many: int) -> pl.Series:
    """Time covered by the ranges with each key; null where there are none."""
    order = np.lexsort((start, key))
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    added = covered(start[order], end[order], first)
    place = np.full(many, -1)
    place[key[first]] = np.arange(len(first))
    sums = np.add.reduceat(added, first) if len(first) else added
    return values_at(pl.Series(sums), place)
