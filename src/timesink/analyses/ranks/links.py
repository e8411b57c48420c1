"""Ranks behind a slow link: every collective they take part in takes longer to move its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from timesink.analyses.ranks.causes import Reason, Work
from timesink.analyses.ranks.clocks import corrected
from timesink.analyses.ranks.matching import SYNCHRONISING
from timesink.analyses.ranks.panel import Floats, Panel
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.units import brief_ns

_LEAST_SHARE = 0.015
_LEAST_SLOWER = 0.1
"""What transfers must take longer, as a part of what they usually take."""
_FEWEST_GROUPS = 3
_OUTLYING = 8.0


def slow_links(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame, clocks: pl.DataFrame
) -> Iterator[Reason]:
    """The rank that all slow transfers have in common, and what these cost.

    Groups are compared with groups that move the same; of a single group nobody knows how fast it
    could be.  There a rank must end later than the others the longer the transfer is, and its
    copies must be slow too.
    """
    transfers = _transfers(calls)
    if transfers.is_empty():
        return
    lost = _lost(transfers, panel)
    ending = _ends_late(transfers, clocks, panel)
    copies = _copies_slower(ranks, panel)
    if lost.any():
        yield from _of_groups(panel, lost, ending, copies, ranks)
        return
    suspect = int(np.argmax(ending))
    if ending[suspect] > _OUTLYING and copies[suspect] > 1 + _LEAST_SLOWER:
        rank = int(panel.ranks[suspect])
        moved = float(transfers.filter(pl.col("rank") == rank)["transfer_ns"].sum())
        cost = moved * (1 - 1 / copies[suspect]) * _exposed_share(ranks[rank])
        if cost >= _LEAST_SHARE * panel.run_ns:
            text = (
                f"Rank {rank} ends later than the others the longer a collective is, and its "
                f"copies take {copies[suspect]:.1f} times as long."
            )
            yield Reason(rank, "slow_link", (text,), cost)


def _of_groups(
    panel: Panel, lost: Floats, ending: Floats, copies: Floats, ranks: Mapping[int, RankSummary]
) -> Iterator[Reason]:
    # Peers share some groups with the culprit, only the culprit is in all that are slow.
    most = lost >= 0.95 * lost.max()
    sign = np.where(most, np.maximum(ending, 0) + 10 * np.maximum(copies - 1, 0), -1.0)
    suspect = int(np.argmax(sign + lost / lost.max() * 1e-3))
    rank = int(panel.ranks[suspect])
    cost = float(lost[suspect]) * _exposed_share(ranks[rank])
    if cost >= _LEAST_SHARE * panel.run_ns:
        text = (
            f"Collectives with rank {rank} take {brief_ns(cost / len(panel.steps))} per step "
            "longer to move their data than those of other groups of the same size."
        )
        yield Reason(rank, "slow_link", (text,), cost)


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
        .with_columns(
            usual=pl.col("typical_ns").median().over("kind"),
        )
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


def _ends_late(transfers: pl.DataFrame, clocks: pl.DataFrame, panel: Panel) -> Floats:
    """How far a rank's ends are later in long transfers than in short ones, in deviations."""
    together = transfers.filter(pl.col("collective").is_in(SYNCHRONISING))
    if together.is_empty():
        return np.zeros(len(panel.ranks))
    end = corrected(pl.col("end_ns"), clocks)
    late = together.with_columns(end=end).with_columns(
        late=pl.col("end") - pl.col("end").median().over("match"),
        long=pl.col("transfer_ns") >= 0.5 * pl.col("transfer_ns").max().over("rank"),
    )
    by_length = late.group_by("rank").agg(
        slope=pl.col("late").filter("long").median()
        - pl.col("late").filter(~pl.col("long")).median().fill_null(0.0)
    )
    slope = _by_rank(by_length, "slope", panel)
    away = slope - np.median(slope)
    spread: float = max(1.4826 * float(np.median(np.abs(away))), 200.0)
    return away / spread


def _copies_slower(ranks: Mapping[int, RankSummary], panel: Panel) -> Floats:
    """How many times as long copies of each rank take, of as many bytes as those of others."""
    work = Work(ranks)
    tables = pl.concat(
        [
            work._per_step(int(rank), "copy").with_columns(rank=pl.lit(int(rank), pl.Int64))
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
