"""Transfers that take longer than those of other groups, and the ranks these have in common."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.ranks.panel import Floats, Panel

_FEWEST_GROUPS = 3
_LEAST_SLOWER = 0.1
"""What transfers must take longer, as a part of what they usually take."""
_OUTLYING = 6.0
_NEARLY = 0.9
_MOST_TURNS = 32


def transfer_excess(panel: Panel, calls: pl.DataFrame) -> Floats:
    """Time per step that collectives of a rank take longer than those of other groups.

    Of all ranks of slow groups those that lose most are told first; groups with one of them are
    explained by it, and the others in these lose nothing by themselves.
    """
    found = np.zeros(len(panel.ranks))
    left = _slow_groups(calls)
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


def _slow_groups(calls: pl.DataFrame) -> pl.DataFrame:
    """By group and rank, what its slow transfers lose (`among`, `rank`, `lost`)."""
    met = calls.filter(pl.col("members") > 1).with_columns(
        transfer_ns=pl.col("transfer_ns").min().over("match"),
        kind=pl.struct("collective", "size_bytes", "group_size").hash(),
        among=pl.struct("group", "group_ranks").hash(),
    )
    more = pl.col("typical") / pl.col("usual") - 1
    groups = (
        met.unique("match")
        .group_by("kind", "among")
        .agg(typical=pl.col("transfer_ns").median(), times=pl.len())
        .filter(pl.len().over("kind") >= _FEWEST_GROUPS)
        .with_columns(usual=pl.col("typical").median().over("kind"))
        .filter(pl.col("usual") > 0)
        .with_columns(more=more)
        .with_columns(spread=1.4826 * pl.col("more").abs().median().over("kind"))
        .filter(pl.col("more") > pl.max_horizontal(_LEAST_SLOWER, _OUTLYING * pl.col("spread")))
        .with_columns(lost=(pl.col("typical") - pl.col("usual")) * pl.col("times"))
    )
    members = met.select("among", "rank", "kind").unique()
    slow = members.join(groups, on=["kind", "among"])
    return slow.group_by("among", "rank").agg(pl.col("lost").sum())
