"""Workers side by side: who waits for whom, and what each spends on which collective.

Only lengths are compared between workers, so their clocks need not agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.communication.matching import find_mismatches, match_calls
from timesink.analyses.communication.records import covered_ns
from timesink.model import intervals

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
    ranges = _with_transfer(_all_ranges(workers), calls, split=len(workers) > 1)
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


def _all_ranges(workers: Mapping[str, WorkerSummary]) -> pl.DataFrame:
    worker_type = pl.Enum(list(workers))
    return pl.concat(
        [
            summary.ranges.with_columns(worker=pl.lit(worker, worker_type))
            for worker, summary in workers.items()
        ]
    )


def _with_transfer(ranges: pl.DataFrame, calls: pl.DataFrame, *, split: bool) -> pl.DataFrame:
    """The ranges of all workers, and how much of the end of each is transfer."""
    length = pl.col("end_ns") - pl.col("start_ns")
    of_call = ["worker", "record", "call", "match", "name", "collective", "size_bytes", "out_bytes"]
    transfer = _transfer() if split else pl.lit(None, pl.Int64)
    return (
        ranges.join(calls.select(of_call), on=["worker", "record"], maintain_order="left")
        .with_columns(
            length_ns=length,
            nth=pl.int_range(pl.len()).over("call", "on_device"),
            has_kernels=pl.col("on_device").any().over("call"),
        )
        .with_columns(moves=pl.col("on_device") | ~pl.col("has_kernels"))
        .with_columns(transfer_ns=transfer)
    )


def _transfer() -> pl.Expr:
    same = ["match", "on_device", "nth"]
    length = pl.col("length_ns")
    shortest = length.min().over(same)
    # Where ranks move different amounts, the fastest one tells what a byte takes.
    moved = pl.max_horizontal("size_bytes", "out_bytes")
    comparable = (moved > 0).fill_null(value=False).all().over(same)
    share = ((length / moved).min().over(same) * moved).round().cast(pl.Int64, strict=False)
    uneven = (pl.col("collective") == "all_to_all") & pl.col("moves") & comparable
    return pl.when(uneven).then(pl.min_horizontal(share, length)).otherwise(shortest)


def _by_step(workers: Mapping[str, WorkerSummary], ranges: pl.DataFrame) -> pl.DataFrame:
    by_worker = ranges.partition_by("worker", as_dict=True)
    found = [
        _steps_of(worker, workers[worker].steps, own)
        for (worker,), own in by_worker.items()
        if not workers[worker].steps.is_empty()
    ]
    if not found:
        return pl.DataFrame(schema=_STEP_SCHEMA)
    return pl.concat(found).filter(pl.col("communication_ns") > 0)


def _steps_of(worker: str, steps: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    times = ranges.select("start_ns", "end_ns").to_numpy()
    windows = steps.select("start_ns", "end_ns").to_numpy()
    if not steps["marked"].any():
        # Without marks the recording is one step, and all communication belongs to it.
        windows = np.array([[times[:, 0].min(), times[:, 1].max()]])
    frame = steps.select(
        pl.lit(worker).alias("worker"),
        pl.col("name").alias("step"),
        "complete",
        pl.Series("communication_ns", intervals.coverage_within(times, windows)),
    )
    if ranges["transfer_ns"].null_count():
        unknown = pl.lit(None, pl.Int64)
        return frame.with_columns(transfer_ns=unknown, waiting_ns=unknown)
    tails = np.stack([times[:, 1] - ranges["transfer_ns"].to_numpy(), times[:, 1]], axis=1)
    transfer = pl.Series("transfer_ns", intervals.coverage_within(tails, windows))
    return frame.with_columns(transfer).with_columns(
        waiting_ns=pl.col("communication_ns") - pl.col("transfer_ns")
    )


# -- totals per name -------------------------------------------------------------------------------


def _by_name(calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """In order of the first call of each name; moments of overlapping calls count once."""
    tails = ranges.with_columns(start_ns=pl.col("end_ns") - pl.col("transfer_ns"))
    moving = pl.coalesce("transfer_ns", "length_ns").filter("moves").sum()
    moved = ranges.group_by("call").agg(moving_ns=moving)
    totals = (
        calls.join(moved, on="call", maintain_order="left")
        .with_columns(volume=_volume())
        .with_columns(bus_volume=pl.col("volume") * _bus_share())
        .group_by("worker", "name", maintain_order=True)
        .agg(
            pl.col("collective").first(),
            calls=pl.len().cast(pl.Int64),
            size_bytes=_sum_if_known("size_bytes"),
            algorithm_bytes_per_s=_per_second("volume"),
            bus_bytes_per_s=_per_second("bus_volume"),
        )
    )
    for times in (_covered(ranges, "latency_ns"), _covered(tails, "transfer_ns")):
        totals = totals.join(times, on=["worker", "name"], how="left", maintain_order="left")
    return totals.with_columns(pl.col("worker").cast(pl.String))


def _sum_if_known(column: str) -> pl.Expr:
    return pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum())


def _per_second(volume: str) -> pl.Expr:
    seconds = pl.col("moving_ns").sum() / 1e9
    return pl.when(seconds > 0).then(_sum_if_known(volume) / seconds)


def _covered(ranges: pl.DataFrame, column: str) -> pl.DataFrame:
    """Time covered by the ranges of each worker and name; null where they are not known."""
    known = pl.col("start_ns").is_not_null().all()
    return (
        ranges.sort("start_ns")
        .with_columns(covered_ns("worker", "name").alias("covered_ns"))
        .group_by("worker", "name")
        .agg(pl.when(known).then(pl.col("covered_ns").sum()).alias(column))
    )


def _volume() -> pl.Expr:
    """The bytes a collective is about: of those that gather, what all ranks give together."""
    gathered = pl.coalesce("out_bytes", pl.col("size_bytes") * pl.col("group_size"))
    gathers = pl.col("collective").is_in(["all_gather", "gather"])
    return pl.when(gathers).then(gathered).otherwise("size_bytes")


def _bus_share() -> pl.Expr:
    """What the busiest link carries for each byte, at best; null where the group is not known."""
    kind, ranks = pl.col("collective"), pl.col("group_size")
    to_others = (ranks - 1) / ranks
    return (
        pl.when(kind == "all_reduce")
        .then(2 * to_others)
        .when(kind.is_in(["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"]))
        .then(to_others)
        .when(kind.is_in(["broadcast", "reduce", "send", "recv", "send_recv"]))
        .then(1.0)
    )
