"""Numbers of all ranks side by side: one row per rank, one column per step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.analyses.ranks.matching import PAIRS
from timesink.analyses.ranks.own_time import HOST_PARTS, ON_DEVICE
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.row_groups import stacked
from timesink.model.arrays import Flags, Floats, Ints

SOURCES = {
    "kernels": ("kernel",),
    "copies": tuple(part for part in ON_DEVICE if part != "kernel"),
    "loading": ("data_loader",),
    "host": HOST_PARTS,
}
"""Where own time may come from."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Arrays are ranks x steps; NaN where a rank lacks a step."""

    ranks: Ints
    steps: tuple[str, ...]
    length: Floats
    held: Floats
    """How long the rank let others wait by its own doing."""
    excess: Floats
    """What the rank itself took more than its peers."""
    own: Mapping[str, Floats]
    """Own time by source."""
    gap: Floats
    """The longest stretch without any work of the device."""
    alike: Ints
    """Ranks with the same number make the same calls."""

    @cached_property
    def step_ns(self) -> float:
        """How long a step is, usually."""
        return float(np.nanmedian(self.length)) if self.length.size else 0.0

    @property
    def run_ns(self) -> float:
        """How long all of the steps are together."""
        return self.step_ns * len(self.steps)

    def share_more(self, rank: int) -> float:
        """What a rank takes more by itself than most others do, as a part of what it takes."""
        own = np.nansum(np.stack([np.nan_to_num(each) for each in self.own.values()]), axis=(0, 2))
        more = float(own[rank] - np.median(np.delete(own, rank)))
        return max(more, 0.0) / max(float(own[rank]), 1.0)

    def peers(self, rank: int, without: Flags) -> Ints:
        """Places of the ranks that do the same as one of them; of all where these are too few."""
        same = (self.alike == self.alike[rank]) & ~without
        same[rank] = False
        if same.sum() >= 2:
            return np.flatnonzero(same)
        others = ~without
        others[rank] = False
        return np.flatnonzero(others)


def panel_of(ranks: Mapping[int, RankSummary], calls: pl.DataFrame) -> Panel:
    """Lay summaries and blamed collectives out; steps count that most ranks have in full."""
    numbers = np.array(sorted(ranks), dtype=np.int64)
    steps = stacked({rank: each.steps for rank, each in ranks.items()}).filter("complete")
    found = (
        steps.group_by("step")
        .agg(pl.col("rank").n_unique(), pl.col("start_ns").median())
        .filter(pl.col("rank") * 2 > len(numbers))
        .sort("start_ns")
    )
    names = found["step"].to_list()
    row, column = pl.Series("rank", numbers), pl.Series("step", names, dtype=pl.String)

    def spread(table: pl.DataFrame, value: pl.Expr) -> Floats:
        grid = np.full((len(numbers), len(names)), np.nan)
        placed = (
            table.select("rank", "step", value=value.cast(pl.Float64))
            .join(row.to_frame().with_row_index("row"), on="rank")
            .join(column.to_frame().with_row_index("column"), on="step")
        )
        grid[placed["row"].to_numpy(), placed["column"].to_numpy()] = placed["value"].to_numpy()
        return grid

    summed = _summed(calls)
    known = calls.group_by("rank").agg(pl.col("alike").first())
    alike = row.to_frame().join(known, on="rank", how="left", maintain_order="left")["alike"]
    return Panel(
        ranks=numbers,
        steps=tuple(names),
        length=spread(steps, pl.col("end_ns") - pl.col("start_ns")),
        held=np.nan_to_num(spread(summed, pl.col("held_up_ns"))),
        excess=np.nan_to_num(spread(summed, pl.col("excess_ns"))),
        own={
            source: spread(steps, pl.sum_horizontal(f"own_{part}_ns" for part in parts))
            for source, parts in SOURCES.items()
        },
        gap=spread(steps, pl.col("longest_gap_ns")),
        alike=alike.fill_null(-1).to_numpy(),
    )


def _summed(calls: pl.DataFrame) -> pl.DataFrame:
    """What each rank held up and took more in each step.

    Who waits for a pair has time left in a pipeline, as a rule: of that counts what arrives where
    copies of a stage meet, who would all come at once if nobody was late.
    """
    pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    meets = (
        calls.filter(~pair, pl.col("members") > 2, pl.col("alike").n_unique().over("match") == 1)
        .group_by("step", "match")
        .agg(pl.col("wait_ns").median())
        .group_by("step")
        .agg(most=pl.col("wait_ns").max())
    )
    held = pl.col("held_up_ns")
    sums = calls.group_by("rank", "step").agg(
        pl.col("excess_ns").sum(),
        in_pairs=held.filter(pair).sum(),
        held_up_ns=held.filter(~pair).sum(),
    )
    arrived = pl.min_horizontal("in_pairs", pl.col("most").fill_null(pl.col("in_pairs")))
    return sums.join(meets, on="step", how="left").with_columns(held_up_ns=held + arrived)
