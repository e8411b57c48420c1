"""Why kernels of a rank take longer than elsewhere: another pace, or another amount of work."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.row_groups import stacked
from timesink.model.arrays import Floats

_ENOUGH = 64
"""Ranks are enough for a median."""
_AT_ONCE = 256
_AMOUNTS = ("calls", "dur_ns", "work")


def pace_and_amount(ranks: Mapping[int, RankSummary], numbers: list[int]) -> tuple[Floats, Floats]:
    """By rank, what kernels take longer for the same work, and what they take for more work.

    Both in nanoseconds per step, beside the median of the ranks.
    """
    some = numbers[:: -(-len(numbers) // _ENOUGH)]
    many = len(some)
    # Who lacks a kernel has none of it.
    half = pl.len() * 2 > many
    usual = (
        _per_step(ranks, some)
        .group_by("function")
        .agg(
            pl.when(half).then(pl.col(each).median()).otherwise(0.0).alias(f"peer_{each}")
            for each in _AMOUNTS
        )
    )
    expected_ns = float(usual["peer_dur_ns"].sum())
    given = pl.when(pl.col("peer_work") > 0).then("work").otherwise("calls")
    peers = pl.when(pl.col("peer_work") > 0).then("peer_work").otherwise("peer_calls")
    expected = pl.col("peer_dur_ns") * given / pl.when(peers > 0).then(peers)
    found: dict[int, tuple[float, float]] = {}
    for first in range(0, len(numbers), _AT_ONCE):
        sums = (
            _per_step(ranks, numbers[first : first + _AT_ONCE])
            .join(usual, on="function", how="left")
            .with_columns(expected=pl.coalesce(expected, "dur_ns"))
            .group_by("rank")
            .agg(pl.col("dur_ns").sum(), pl.col("expected").sum())
        )
        found |= {
            rank: (dur - expect, expect - expected_ns) for rank, dur, expect in sums.iter_rows()
        }
    none = (0.0, 0.0)
    both = np.array([found.get(rank, none) for rank in numbers], dtype=np.float64)
    return both[:, 0], both[:, 1]


def _per_step(ranks: Mapping[int, RankSummary], numbers: list[int]) -> pl.DataFrame:
    """Kernels of some ranks, what they did in a step."""
    steps = [max(int(ranks[rank].steps["complete"].sum()), 1) for rank in numbers]
    many = pl.DataFrame({"rank": numbers, "steps": steps}, schema_overrides={"rank": pl.Int64})
    return (
        stacked({rank: ranks[rank].functions for rank in numbers})
        .filter(pl.col("place") == "kernel")
        .join(many, on="rank", maintain_order="left")
        .select(
            "rank",
            "function",
            *(pl.col(name).cast(pl.Float64) / pl.col("steps") for name in _AMOUNTS),
        )
    )
