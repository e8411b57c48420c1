"""Tables of the ranks of a run: what each does, waits for and is like."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import polars as pl

from timesink.analyses.columns import stack_tables
from timesink.analyses.ranks.own_time import OWN_PARTS
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.replay import decisive_ranks
from timesink.model.units import ranges_of

RANK_GROUP_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("group", "ranks"), pl.String()),
    **dict.fromkeys(("size", "representative"), pl.Int64()),
    "odd": pl.Boolean(),
    "apart": pl.List(pl.String()),
}
"""`apart` are sentences: what sets the group apart."""

STRAGGLER_SCHEMA: dict[str, pl.DataType] = {
    "rank": pl.Int64(),
    **dict.fromkeys(("worker", "cause"), pl.String()),
    **dict.fromkeys(("cost_ns", "share_pct"), pl.Float64()),
    "steps": pl.Int64(),
    **dict.fromkeys(("step_names", "evidence"), pl.List(pl.String())),
}


worker_steps: Callable[[RankSet], pl.DataFrame] = attrgetter("communication.by_step")
"""Communication of every worker in every step: waiting and transfer."""
collective_statistics: Callable[[RankSet], pl.DataFrame] = attrgetter("communication.by_name")
"""Calls, sizes, latency, transfer and bandwidth of every collective on every worker."""
mismatched_calls: Callable[[RankSet], pl.DataFrame] = attrgetter("communication.mismatches")
"""Collective calls that some workers made and others did not."""
matched_collectives: Callable[[RankSet], pl.DataFrame] = attrgetter("analysis.matched")
"""Collectives by group, kind and size: how long ranks wait in them, how fast they move data."""
process_groups: Callable[[RankSet], pl.DataFrame] = attrgetter("analysis.groups")
"""Process groups, what they are for, and who is in them."""


def rank_rows(ranks: RankSet) -> pl.DataFrame:
    """One row per rank: what its time goes to, how long it waits and delays others."""
    table = _with_workers(ranks.analysis.ranks, ranks)
    return table if _has_steps(ranks) else table.clear()


def straggler_rows(ranks: RankSet) -> pl.DataFrame:
    """Ranks that delay the others, the costliest first."""
    rows = [
        {
            "rank": straggler.rank,
            "worker": ranks.workers[straggler.rank],
            "cause": straggler.id,
            "cost_ns": straggler.cost_ns,
            "share_pct": 100 * straggler.share,
            "steps": len(straggler.steps),
            "step_names": list(straggler.steps),
            "evidence": list(straggler.proofs),
        }
        for straggler in ranks.analysis.stragglers
    ]
    return pl.DataFrame(rows, schema=STRAGGLER_SCHEMA)


def rank_path(ranks: RankSet) -> pl.DataFrame:
    """Who is on the critical path across all ranks, the longest first."""
    path = decisive_ranks(ranks.analysis.collectives, ranks.analysis.clocks)
    return _with_workers(path, ranks)


def clock_rows(ranks: RankSet) -> pl.DataFrame:
    """How far the clock of each rank is ahead of the others, and how sure that is."""
    hosts = {rank: summary.about.host for rank, summary in ranks.ranks.items()}
    host = pl.col("rank").replace_strict(hosts, return_dtype=pl.String).alias("host")
    table = _with_workers(ranks.analysis.clocks.drop("middle_ns").with_columns(host), ranks)
    return table if ranks.communicates else table.clear()


def rank_steps(ranks: RankSet) -> pl.DataFrame:
    """Every step of every rank: what it is spent on, waits suffered and caused."""
    steps = stack_tables({rank: summary.steps for rank, summary in ranks.ranks.items()}).select(
        pl.col("rank", "step", "complete"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("step_ns"),
        pl.col("compute_ns", "communication_ns", "exposed_communication_ns", "overlap_ns"),
        pl.sum_horizontal(f"own_{part}_ns" for part in OWN_PARTS).alias("own_ns"),
    )
    # What each rank took more than its peers in each step.
    panel = ranks.analysis.panel
    excess = pl.DataFrame(
        {
            "rank": panel.ranks.repeat(len(panel.steps)),
            "step": [*panel.steps] * len(panel.ranks),
            "excess_ns": panel.excess.ravel(),
        },
        schema={"rank": pl.Int64, "step": pl.String, "excess_ns": pl.Float64},
    )
    for more in (ranks.analysis.waits, excess):
        steps = steps.join(more, on=["rank", "step"], how="left", maintain_order="left")
    return _with_workers(steps, ranks)


def rank_groups(ranks: RankSet) -> pl.DataFrame:
    """Ranks that behave alike, and what sets the odd ones apart."""
    rows = [
        (
            group.group,
            ranges_of(group.ranks),
            len(group.ranks),
            group.representative,
            group.odd,
            [*group.apart],
        )
        for group in (ranks.groups if _has_steps(ranks) else ())
    ]
    return pl.DataFrame(rows, schema=RANK_GROUP_SCHEMA, orient="row")


def _has_steps(ranks: RankSet) -> bool:
    return any(summary.steps.height for summary in ranks.ranks.values())


def _with_workers(table: pl.DataFrame, ranks: RankSet) -> pl.DataFrame:
    """The table with the name of each rank's recording beside its number."""
    worker = pl.col("rank").replace_strict(dict(ranks.workers), return_dtype=pl.String)
    return table.select("rank", worker.alias("worker"), pl.exclude("rank"))
