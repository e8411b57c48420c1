"""Ranks behind a slow link: every collective they take part in takes longer to move its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from timesink.analyses.ranks.causes import Work, late
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.panel import Panel
from timesink.analyses.ranks.replay import WhatIf
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.ranks.transfers import complete_transfers, slow_groups
from timesink.analyses.row_groups import stacked
from timesink.analyses.statistics.moments import NORMAL
from timesink.model.arrays import Flags, Floats
from timesink.model.findings import Finding
from timesink.model.units import brief_ns

_LEAST_SHARE = 0.015
_OUTLYING = 8.0
_LEAST_SLOWER_COPIES = 0.2
_NEARLY, _FAINT = 0.95, 1e-3
_LOST = (pl.col("transfer_ns") - pl.col("usual")).clip(lower_bound=0)


def slow_links(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame, what_if: WhatIf
) -> Iterator[Finding]:
    """The rank that all slow transfers have in common, and what these cost.

    Groups are compared with groups that move the same.  Of a single group nobody knows how fast it
    could be, nor which of its ranks slows it down, unless copies of one of them are slow too.
    """
    transfers = _with_usual(complete_transfers(calls))
    if transfers.is_empty():
        return
    copies = _copies_slower(ranks, panel)
    lost = _by_rank(transfers.group_by("rank").agg(_LOST.sum().alias("lost")), "lost", panel)
    suspect = _in_all_slow(lost, copies) if lost.any() else _with_slow_copies(copies)
    if suspect is None:
        return
    rank, slower = int(panel.ranks[suspect]), float(copies[suspect])
    pace = slower if _with_slow_copies(copies) == suspect else 1.0
    mine = transfers.filter(pl.col("rank") == rank).with_columns(
        usual=pl.coalesce("usual", pl.col("transfer_ns") / pace)
    )
    cost = _cost(ranks[rank], mine, what_if)
    if cost < _LEAST_SHARE * panel.run_ns:
        return
    evidence = [
        (
            f"Copies of rank {rank} take {slower:.1f} times as long as those of its peers; what its "
            "collectives could do without that, no other group tells."
        )
    ]
    if lost.any():
        longer = brief_ns(float(lost[suspect]) / len(panel.steps))
        evidence = [
            (
                f"Collectives with rank {rank} take {longer} per step longer to move their data than "
                "those of other groups of the same size."
            )
        ]
        alike = panel.ranks[_in_slow_groups(lost)].tolist()
        if len(alike) > 1 and _with_slow_copies(copies) != suspect:
            evidence.append(
                f"Ranks {ranges_of(alike)} are in the same slow groups: it may be the link of any "
                "of them."
            )
    yield late(rank, "slow_link", *evidence, cost_ns=cost)


def _in_all_slow(lost: Floats, copies: Floats) -> int:
    """Peers share some groups with the culprit; only the culprit is in all that are slow."""
    most = _in_slow_groups(lost)
    return int(np.argmax(np.where(most, copies, 0.0) + _FAINT * lost / lost.max()))


def _in_slow_groups(lost: Floats) -> Flags:
    return np.asarray(lost >= _NEARLY * lost.max())


def _with_slow_copies(copies: Floats) -> int | None:
    suspect = int(np.argmax(copies))
    spread = NORMAL * float(np.median(np.abs(copies - np.median(copies))))
    enough = 1 + max(_LEAST_SLOWER_COPIES, _OUTLYING * spread)
    return suspect if copies[suspect] >= enough else None


def _cost(summary: RankSummary, slow: pl.DataFrame, what_if: WhatIf) -> float:
    """What the run lost with collectives that take longer than usual."""
    if what_if.score is not None:
        return what_if.score.cost_of_transfers(slow["match"], slow["usual"])
    lost = slow.select((pl.col("transfer_ns") - pl.col("usual")).clip(0).sum()).item()
    # How much of its communication a rank has nothing else to do in.
    totals = summary.steps.select("exposed_communication_ns", "communication_ns").sum().row(0)
    return float(lost) * (float(totals[0] / totals[1]) if totals[1] else 1.0)


def _with_usual(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers with the `usual` time of other groups, for those that take longer; else null."""
    slow = slow_groups(transfers).select("kind", "among", usual="usual_ns")
    return transfers.join(slow, on=["kind", "among"], how="left")


def _copies_slower(ranks: Mapping[int, RankSummary], panel: Panel) -> Floats:
    """How many times as long copies of each rank take, of as many bytes as those of others."""
    steps = pl.col("rank").replace_strict(Work(ranks).steps, return_dtype=pl.Int64)
    functions = {int(rank): ranks[int(rank)].functions for rank in panel.ranks}
    tables = (
        stacked(functions)
        .filter(pl.col("place") == "copy")
        .with_columns(pl.col("dur_ns") / pl.max_horizontal(steps, 1))
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


def _by_rank(table: pl.DataFrame, column: str, panel: Panel) -> Floats:
    known = dict(table.select("rank", column).iter_rows())
    return np.array([float(known.get(int(rank)) or 0.0) for rank in panel.ranks])
