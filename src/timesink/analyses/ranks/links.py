"""Ranks behind a slow link: every collective they take part in takes longer to move its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.ranks.causes import Reason, Work
from timesink.analyses.ranks.panel import Floats, Panel
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.units import brief_ns

_LEAST_SHARE = 0.015
_LEAST_SLOWER = 0.1
"""What transfers must take longer, as a part of what they usually take."""
_FEWEST_GROUPS = 3
_OUTLYING = 8.0
_LEAST_SLOWER_COPIES = 0.2
_NEARLY, _FAINT = 0.95, 1e-3


def slow_links(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame
) -> Iterator[Reason]:
    """The rank that all slow transfers have in common, and what these cost.

    Groups are compared with groups that move the same.  Of a single group nobody knows how fast it
    could be, nor which of its ranks slows it down, unless copies of one of them are slow too.
    """
    transfers = _transfers(calls)
    if transfers.is_empty():
        return
    lost, copies = _lost(transfers, panel), _copies_slower(ranks, panel)
    reason = _of_groups(panel, lost, copies) if lost.any() else _of_copies(panel, transfers, copies)
    if reason is not None:
        cost = reason.cost_ns * _exposed_share(ranks[reason.rank])
        if cost >= _LEAST_SHARE * panel.run_ns:
            yield replace(reason, cost_ns=cost)


def _of_groups(panel: Panel, lost: Floats, copies: Floats) -> Reason:
    # Peers share some groups with the culprit; only the culprit is in all that are slow.
    most = lost >= _NEARLY * lost.max()
    suspect = int(np.argmax(np.where(most, copies, 0.0) + _FAINT * lost / lost.max()))
    rank, cost = int(panel.ranks[suspect]), float(lost[suspect])
    text = (
        f"Collectives with rank {rank} take {brief_ns(cost / len(panel.steps))} per step "
        "longer to move their data than those of other groups of the same size."
    )
    return Reason(rank, "slow_link", (text,), cost)


def _of_copies(panel: Panel, transfers: pl.DataFrame, copies: Floats) -> Reason | None:
    suspect = int(np.argmax(copies))
    spread = 1.4826 * float(np.median(np.abs(copies - np.median(copies))))
    if copies[suspect] < 1 + max(_LEAST_SLOWER_COPIES, _OUTLYING * spread):
        return None
    rank = int(panel.ranks[suspect])
    moved = float(transfers.filter(pl.col("rank") == rank)["transfer_ns"].sum())
    text = (
        f"Copies of rank {rank} take {copies[suspect]:.1f} times as long as those of its peers; "
        "what its collectives could do without that, no other group tells."
    )
    return Reason(rank, "slow_link", (text,), moved * float(1 - 1 / copies[suspect]))


def _transfers(calls: pl.DataFrame) -> pl.DataFrame:
    """Collectives of several ranks, with what moving took once all were there."""
    return calls.filter(pl.col("members") > 1).with_columns(
        transfer_ns=pl.col("transfer_ns").min().over("match"),
        kind=pl.struct("collective", "size_bytes", "group_size"),
        among=pl.struct("group", "group_ranks").hash(),
    )


def _lost(transfers: pl.DataFrame, panel: Panel) -> Floats:
    """Time of each rank in transfers that take longer than those of other groups."""
    usual = pl.col("transfer_ns").median()
    groups = (
        transfers.unique("match")
        .group_by("kind", "among")
        .agg(usual.alias("typical_ns"), calls=pl.len())
        .filter(pl.len().over("kind") >= _FEWEST_GROUPS)
        .with_columns(usual=pl.col("typical_ns").median().over("kind"))
        .with_columns(more=pl.col("typical_ns") / pl.col("usual") - 1)
        .with_columns(
            spread=(pl.col("more") - pl.col("more").median()).abs().median().over("kind") * 1.4826
        )
        .filter(pl.col("more") > pl.max_horizontal(_LEAST_SLOWER, 6 * pl.col("spread")))
    )
    slow = transfers.join(groups, on=["kind", "among"]).with_columns(
        lost=(pl.col("transfer_ns") - pl.col("usual")).clip(0)
    )
    found = slow.group_by("rank").agg(pl.col("lost").sum())
    return _by_rank(found, "lost", panel)


def _copies_slower(ranks: Mapping[int, RankSummary], panel: Panel) -> Floats:
    """How many times as long copies of each rank take, of as many bytes as those of others."""
    work = Work(ranks)
    tables = pl.concat(
        [
            work.per_step(int(rank), "copy").with_columns(rank=pl.lit(int(rank), pl.Int64))
            for rank in panel.ranks
        ]
    )
    pace = tables.filter(pl.col("work") >= 0).with_columns(
        ratio=pl.col("typical_ns") / pl.col("typical_ns").median().over("function"),
        weight=pl.col("dur_ns").median().over("function"),
    )
    found = pace.group_by("rank").agg(
        ratio=(pl.col("ratio") * pl.col("weight")).sum() / pl.col("weight").sum()
    )
    ratio = _by_rank(found, "ratio", panel)
    return np.where(ratio > 0, ratio, 1.0)


def _exposed_share(summary: RankSummary) -> float:
    """How much of its communication a rank has nothing else to do in."""
    totals = summary.steps.select("exposed_communication_ns", "communication_ns").sum().row(0)
    return float(totals[0] / totals[1]) if totals[1] else 1.0


def _by_rank(table: pl.DataFrame, column: str, panel: Panel) -> Floats:
    known = dict(table.select("rank", column).iter_rows())
    return np.array([float(known.get(int(rank)) or 0.0) for rank in panel.ranks])
