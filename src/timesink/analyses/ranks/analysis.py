"""All ranks of a run, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from timesink.analyses.ranks.clocks import align_clocks
from timesink.analyses.ranks.collective_table import collective_table
from timesink.analyses.ranks.groups import group_rows, keyed_groups
from timesink.analyses.ranks.judged import judged_ranks
from timesink.analyses.ranks.matching import matched_collectives
from timesink.analyses.ranks.panel import Panel, panel_of
from timesink.analyses.ranks.step_names import with_common_steps
from timesink.analyses.ranks.stragglers import find_stragglers
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.ranks.table import rank_table, step_waits
from timesink.analyses.ranks.waits import with_blame, with_excess, with_waits
from timesink.model.findings import Finding


@dataclass(frozen=True, eq=False)
class RanksAnalysis:
    """What ranks of one run tell together."""

    ranks: pl.DataFrame
    """One row per rank."""
    collectives: pl.DataFrame
    """One row per rank and collective, matched, with waits and blame."""
    mismatches: pl.DataFrame
    clocks: pl.DataFrame
    stragglers: tuple[Finding, ...]
    panel: Panel
    """Rank x step: what each held the others up."""
    missing: tuple[int, ...]
    """Ranks of the run of which there is no summary."""
    not_judged: tuple[int, ...]
    """Ranks whose recordings hold too little to be compared."""
    waits: pl.DataFrame
    """Rank and step: what it waited and let others wait, rows of `WAIT_SCHEMA`."""
    groups: pl.DataFrame
    """Process groups, rows of `PROCESS_GROUP_SCHEMA`."""
    matched: pl.DataFrame
    """Collectives by group, kind and size, rows of `MATCHED_SCHEMA`."""


def analyse_ranks(ranks: Mapping[int, RankSummary]) -> RanksAnalysis:
    """Match, align, blame and explain."""
    judged = judged_ranks(ranks)
    calls, mismatches = matched_collectives(judged)
    clocks = align_clocks(calls, {rank: each.about.host for rank, each in judged.items()})
    alike, named = with_common_steps(judged, calls, clocks)
    compared = with_blame(with_excess(with_waits(named, clocks)))
    panel = panel_of(alike, compared)
    # Tables tell steps as their ranks do.
    blamed = compared.with_columns(calls["step"])
    groups = keyed_groups(judged, calls)
    waits = step_waits(blamed)
    sizes = [each.about.world_size for each in ranks.values() if each.about.world_size]
    world = max(sizes, default=0)
    return RanksAnalysis(
        ranks=rank_table(ranks, waits),
        collectives=blamed,
        mismatches=mismatches,
        clocks=clocks,
        stragglers=find_stragglers(alike, panel, compared, clocks),
        panel=panel,
        missing=tuple(rank for rank in range(world) if rank not in ranks),
        not_judged=tuple(rank for rank in ranks if rank not in judged),
        waits=waits,
        groups=group_rows(groups),
        matched=collective_table(blamed, groups),
    )
