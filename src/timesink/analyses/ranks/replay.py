"""The run written down call by call, to be played without those who are late."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.analyses.ranks.clocks import corrected
from timesink.analyses.ranks.matching import PAIRS
from timesink.analyses.ranks.score import Score
from timesink.analyses.ranks.waits import queued_behind, so_far

_MOST_CALLS = 60_000
"""Of longer runs as many steps are played as have so many calls: they tell as much as all."""


@dataclass(eq=False)
class WhatIf:
    """The score of a run, written when somebody asks for it."""

    calls: pl.DataFrame
    clocks: pl.DataFrame

    @cached_property
    def score(self) -> Score | None:
        """None where playing it does not give the run as it was."""
        return score_of(self.calls, self.clocks)


def score_of(calls: pl.DataFrame, clocks: pl.DataFrame) -> Score | None:
    """Write down what ranks did; `calls` are collectives with waits.

    None where playing that does not give the run as it was.
    """
    if calls.is_empty():
        return None
    score = _written(calls, clocks)
    return score if score.is_like_the_run else None


def _written(calls: pl.DataFrame, clocks: pl.DataFrame) -> Score:
    played = _some_steps(calls).sort("rank", "start_ns", maintain_order=True)
    number = played["match"].rank("dense").cast(pl.Int64) - 1
    known = played.with_columns(
        number=number,
        own=pl.Series(so_far(played)),
        after=number.gather(queued_behind(played)).fill_null(-1),
    )
    comes = known.select("rank", "number", "after", "own", at="start_ns", comes=pl.lit(value=True))
    over = _waits_over(known)
    rows = pl.concat([comes, over]).sort("rank", "at", "comes", maintain_order=True)
    by_rank = rows.group_by("rank", maintain_order=True).agg(pl.len())
    begins = known.group_by("rank", maintain_order=True).agg(
        (corrected(pl.col("start_ns"), clocks) - pl.col("own")).first().alias("at")
    )["at"]
    ends = known.select(corrected(pl.col("end_ns"), clocks).max()).item()
    steps = max(calls["step"].n_unique(), 1)
    # By collective, how long it moves data. Where ranks are missing nobody knows how long the
    # others waited for them: of that counts what the same takes where everybody is there.
    kind = ["collective", "size_bytes", "group_size"]
    pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    wanted = pl.when(pair).then(2).otherwise(pl.col("group_size").fill_null(0))
    found = known.group_by("number").agg(
        pl.col("transfer_ns").min(), pl.col(kind).first(), there=pl.col("rank").n_unique()
    )
    whole, time = pl.col("there") >= wanted, pl.col("transfer_ns")
    usual = pl.when(whole).then(time).median().over(kind)
    moving = pl.when(whole).then(time).otherwise(pl.min_horizontal(time, usual))
    return Score(
        calls=played,
        ranks=by_rank["rank"].to_numpy(),
        first=np.concatenate([[0], by_rank["len"].cum_sum().to_numpy()]).astype(np.int64),
        match=rows["number"].to_numpy(),
        comes=rows["comes"].to_numpy(),
        after=rows["after"].to_numpy(),
        own=rows["own"].to_numpy().copy(),
        begins=(begins - begins.min()).to_numpy().astype(np.float64),
        moving=found.sort("number").select(moving.cast(pl.Float64)).to_series().to_numpy(),
        times=steps / max(played["step"].n_unique(), 1),
        recorded=float(ends - begins.min()),
    )


def _some_steps(calls: pl.DataFrame) -> pl.DataFrame:
    if calls.height <= _MOST_CALLS:
        return calls
    steps = calls.group_by("step").agg(pl.len(), pl.col("start_ns").min()).sort("start_ns")
    fits = (pl.col("len").cum_sum() <= _MOST_CALLS) | (pl.int_range(pl.len()) == 0)
    return calls.join(steps.filter(fits).select("step"), on="step", how="semi", nulls_equal=True)


def _waits_over(calls: pl.DataFrame) -> pl.DataFrame:
    """Rows for the collectives that ranks waited for: how far they were when these were over."""
    starts = calls.select("rank", "own", at="start_ns", start=pl.col("start_ns")).sort("at")
    waited = (
        calls.filter(pl.col("exposed_ns") > 0)
        .select("rank", "number", "exposed_ns", at="end_ns")
        .sort("at")
        .join_asof(starts, on="at", by="rank", strategy="backward", check_sortedness=False)
    )
    # Of what went by since the rank came to its last call, it waited for those that are over now.
    of_call = ["rank", "start"]
    idle = pl.col("exposed_ns").cum_sum().over(of_call)
    own = pl.col("own") + (pl.col("at") - pl.col("start") - idle).clip(lower_bound=0)
    return waited.select(
        "rank",
        "number",
        after=pl.lit(-1, pl.Int64),
        own=own.cast(pl.Float64),
        at="at",
        comes=pl.lit(value=False),
    )
