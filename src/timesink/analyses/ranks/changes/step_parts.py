"""What the steps of a run are made of, over its ranks: parts that add up to a whole step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.ranks.analysis import RanksAnalysis
from timesink.analyses.ranks.groups import GROUP_KEY
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.arrays import Floats

OWN = {
    "compute": ("own_kernel_ns",),
    "copies": ("own_memcpy_ns", "own_memset_ns"),
    "data_loading": ("own_data_loader_ns",),
    "host": ("own_runtime_ns", "own_cpu_exec_ns"),
    "idle": ("own_idle_ns",),
}
"""Parts of a step in which a rank waits for nobody, and the columns of summaries they are in."""
PARTS = ("compute", "copies", "transfer", "waiting", "data_loading", "host", "idle")
"""`transfer` and `waiting` are exposed communication: the device has nothing else to do."""


@dataclass(frozen=True, slots=True, eq=False)
class StepParts:
    """Means over ranks."""

    steps: tuple[str, ...]
    values: Floats
    """Steps x `PARTS`, in nanoseconds."""
    lengths: Floats
    """By step; what its parts add up to."""


def step_parts(
    ranks: Mapping[int, RankSummary], found: RanksAnalysis, numbers: Iterable[int]
) -> StepParts:
    """Divide the complete steps that most ranks have, over some of the ranks."""
    chosen = sorted(set(numbers) & ranks.keys())
    known = [
        ranks[rank]
        .steps.filter("complete", pl.col("step").is_in(found.panel.steps))
        .select(
            "step",
            "start_ns",
            pl.lit(rank, pl.Int64).alias("rank"),
            exposed=pl.col("exposed_communication_ns").cast(pl.Float64),
            length=(pl.col("end_ns") - pl.col("start_ns")).cast(pl.Float64),
            **{part: pl.sum_horizontal(*names).cast(pl.Float64) for part, names in OWN.items()},
        )
        for rank in chosen
    ]
    if not known:
        return StepParts((), np.zeros((0, len(PARTS))), np.zeros(0))
    waited = pl.coalesce("share", "share_of_rank", pl.lit(0.0))
    calls = _waiting_shares(found.collectives)
    mean = (
        pl.concat(known)
        .join(calls, on=["rank", "step"], how="left", maintain_order="left")
        .join(_of_ranks(calls), on="rank", how="left", maintain_order="left")
        .with_columns(waiting=pl.col("exposed") * waited)
        .with_columns(transfer=pl.col("exposed") - pl.col("waiting"))
        .group_by("step")
        .agg(pl.col("start_ns").median(), pl.col(*PARTS, "length").mean())
        .sort("start_ns")
    )
    return StepParts(
        tuple(mean["step"].to_list()), mean.select(PARTS).to_numpy(), mean["length"].to_numpy()
    )


def _waiting_shares(calls: pl.DataFrame) -> pl.DataFrame:
    """By rank and step, how much of what a rank could only wait in was for others to come.

    What is exposed of a collective is its end, and the transfer is its last part: what goes beyond
    it was waiting.  Where collectives of a group go on side by side they slow each other down, and
    waits that work hid take their share of what is left.
    """
    exposed = pl.min_horizontal("exposed_ns", "dur_ns")
    before = pl.col("end_ns").shift().over("rank", *GROUP_KEY, order_by="start_ns")
    hidden = pl.when("beside").then(pl.col("wait_ns") - pl.col("direct")).otherwise(0.0)
    other = hidden + pl.col("transfer_ns")
    delayed = (pl.col("exposed") - pl.col("direct")) * hidden / pl.when(other > 0).then(other)
    return (
        calls.select("rank", "step", *GROUP_KEY, "wait_ns", "transfer_ns", exposed=exposed,
                     beside=pl.col("start_ns") < before)
        .with_columns(direct=pl.col("exposed") - pl.min_horizontal("exposed", "transfer_ns"))
        .group_by("rank", "step", *GROUP_KEY)
        .agg(
            pl.col("wait_ns", "transfer_ns", "exposed", "direct").sum().cast(pl.Float64),
            pl.col("beside").any(),
        )
        .with_columns(waited=pl.col("direct") + delayed.fill_null(0.0))
        .group_by("rank", "step")
        .agg(pl.col("waited", "exposed").sum())
        .with_columns(share=pl.col("waited") / pl.when(pl.col("exposed") > 0).then("exposed"))
    )  # fmt: skip


def _of_ranks(shares: pl.DataFrame) -> pl.DataFrame:
    """The same over all steps, for those whose calls are not known."""
    exposed = pl.col("exposed").sum()
    return shares.group_by("rank").agg(
        share_of_rank=pl.col("waited").sum() / pl.when(exposed > 0).then(exposed)
    )
