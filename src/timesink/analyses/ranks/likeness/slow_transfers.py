"""Transfers that take longer than those of other groups, and the ranks these have in common."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.ranks.panel import Panel
from timesink.analyses.ranks.transfers import complete_transfers, slow_groups
from timesink.model.arrays import Floats

_NEARLY = 0.9
"""Of what the rank loses that loses most: who loses as much is told with it."""
_MOST_TURNS = 32


def transfer_excess(panel: Panel, calls: pl.DataFrame) -> Floats:
    """Time per step that collectives of a rank take longer than those of other groups.

    Of all ranks of slow groups those that lose most are told first; groups with one of them are
    explained by it, and the others in these lose nothing by themselves.
    """
    found = np.zeros(len(panel.ranks))
    # By group and rank, what its slow transfers lose (`among`, `rank`, `lost`).
    met = complete_transfers(calls)
    more = (pl.col("typical_ns") - pl.col("usual_ns")) * pl.col("calls")
    slow = slow_groups(met).select("kind", "among", lost=more)
    members = met.select("among", "rank", "kind").unique()
    left = (
        members.join(slow, on=["kind", "among"]).group_by("among", "rank").agg(pl.col("lost").sum())
    )
    for _ in range(_MOST_TURNS):
        if left.is_empty():
            break
        lost = left.group_by("rank").agg(pl.col("lost").sum())
        most = lost.filter(pl.col("lost") >= _NEARLY * pl.col("lost").max())
        places = np.searchsorted(panel.ranks, most["rank"].to_numpy())
        found[places] = most["lost"].to_numpy() / max(len(panel.steps), 1)
        explained = left.filter(pl.col("rank").is_in(most["rank"].to_list()))["among"].unique()
        left = left.filter(~pl.col("among").is_in(explained.to_list()))
    return found
