"""One name for what is the same step: ranks that were started anew count from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.ranks.clocks import corrected
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.row_groups import stacked


def with_common_steps(
    ranks: Mapping[int, RankSummary], calls: pl.DataFrame, clocks: pl.DataFrame
) -> tuple[Mapping[int, RankSummary], pl.DataFrame]:
    """Ranks and their collectives, with steps named as the rank with most of them names these.

    Nothing changes where most ranks have most names in common.
    """
    steps = stacked({rank: each.steps for rank, each in ranks.items()}).filter("complete")
    if steps.is_empty() or _in_common(steps, len(ranks)):
        return ranks, calls
    # Rank, step and the step of the leading rank in which its middle lies, on the common clock.
    middle = (pl.col("start_ns") + pl.col("end_ns")) // 2
    timed = steps.select(
        "rank", "step", start=corrected(pl.col("start_ns"), clocks), at=corrected(middle, clocks)
    )
    leading = steps.group_by("rank").len().sort("len", "rank", descending=[True, False])["rank"][0]
    lead = timed.filter(pl.col("rank") == leading).sort("start")
    place = np.searchsorted(lead["start"].to_numpy(), timed["at"].to_numpy(), side="right") - 1
    known = place >= 0
    common = lead["step"].gather(np.maximum(place, 0))
    named = timed.select("rank", "step", common=common).filter(pl.Series(known))
    renamed = {
        rank: replace(each, steps=_renamed(each.steps.with_columns(rank=rank), named).drop("rank"))
        for rank, each in ranks.items()
    }
    return renamed, _renamed(calls, named)


def _in_common(steps: pl.DataFrame, ranks: int) -> bool:
    known = steps.select((pl.col("rank").n_unique().over("step") * 2 > ranks).mean()).item()
    return bool(known > 0.5)


def _renamed(table: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    order = table.columns
    found = table.join(named, on=["rank", "step"], how="left", maintain_order="left")
    return found.with_columns(step=pl.coalesce("common", "step")).select(order)
