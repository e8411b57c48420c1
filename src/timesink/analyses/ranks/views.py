"""The tables about a set of ranks that users ask for by name."""

from __future__ import annotations

import polars as pl

from timesink.analyses.ranks.likeness import clusters
from timesink.analyses.ranks.own_time import OWN_PARTS
from timesink.analyses.ranks.rank_set import RankSet

STRAGGLER_SCHEMA = {
    "rank": pl.Int64(),
    "worker": pl.String(),
    "cause": pl.String(),
    "cost_ns": pl.Float64(),
    "share_pct": pl.Float64(),
    "steps": pl.Int64(),
    "step_names": pl.List(pl.String()),
    "evidence": pl.List(pl.String()),
}


def worker_steps(ranks: RankSet) -> pl.DataFrame:
    """Communication of every worker in every step: waiting and transfer."""
    return ranks.communication.by_step


def collective_statistics(ranks: RankSet) -> pl.DataFrame:
    """Calls, sizes, latency, transfer and bandwidth of every collective on every worker."""
    return ranks.communication.by_name


def mismatched_calls(ranks: RankSet) -> pl.DataFrame:
    """Collective calls that some workers made and others did not."""
    return ranks.communication.mismatches


def rank_rows(ranks: RankSet) -> pl.DataFrame:
    """One row per rank: what its time goes to, how long it waits and lets others wait."""
    found = _named(ranks.analysis.ranks, ranks)
    return found if _has_steps(ranks) else found.clear()


def straggler_rows(ranks: RankSet) -> pl.DataFrame:
    """Ranks that hold the others up, the costliest first."""
    rows = [
        {
            "rank": each.rank,
            "worker": ranks.workers[each.rank],
            "cause": each.cause,
            "cost_ns": each.cost_ns,
            "share_pct": 100 * each.share,
            "steps": len(each.steps),
            "step_names": list(each.steps),
            "evidence": list(each.proofs),
        }
        for each in ranks.analysis.stragglers
    ]
    return pl.DataFrame(rows, schema=STRAGGLER_SCHEMA)


def matched_collectives(ranks: RankSet) -> pl.DataFrame:
    """Collectives by group, kind and size: how long ranks wait in them, how fast they move data."""
    return ranks.analysis.matched


def process_groups(ranks: RankSet) -> pl.DataFrame:
    """Process groups, what they are for, and who is in them."""
    return ranks.analysis.groups


def clock_rows(ranks: RankSet) -> pl.DataFrame:
    """How far the clock of each rank is ahead of the others, and how sure that is."""
    hosts = {rank: each.about.host for rank, each in ranks.ranks.items()}
    host = pl.col("rank").replace_strict(hosts, return_dtype=pl.String).alias("host")
    found = _named(ranks.analysis.clocks.drop("middle_ns").with_columns(host), ranks)
    return found if ranks.communicates else found.clear()


def rank_steps(ranks: RankSet) -> pl.DataFrame:
    """Every step of every rank: what it is spent on, waits suffered and caused."""
    steps = pl.concat(
        [
            each.steps.select(
                pl.lit(rank, pl.Int64).alias("rank"),
                "step",
                "complete",
                (pl.col("end_ns") - pl.col("start_ns")).alias("step_ns"),
                "compute_ns",
                "communication_ns",
                "exposed_communication_ns",
                "overlap_ns",
                pl.sum_horizontal(f"own_{part}_ns" for part in OWN_PARTS).alias("own_ns"),
            )
            for rank, each in ranks.ranks.items()
        ]
    )
    found = steps
    for more in (ranks.analysis.waits, _excess(ranks)):
        found = found.join(more, on=["rank", "step"], how="left", maintain_order="left")
    return _named(found, ranks)


def rank_groups(ranks: RankSet) -> pl.DataFrame:
    """Ranks that behave alike, and what sets the odd ones apart."""
    found = clusters.rank_groups(ranks.ranks, ranks.analysis)
    return found if _has_steps(ranks) else found.clear()


def _has_steps(ranks: RankSet) -> bool:
    return any(each.steps.height for each in ranks.ranks.values())


def _excess(ranks: RankSet) -> pl.DataFrame:
    """What each rank took more than its peers in each step."""
    panel = ranks.analysis.panel
    return pl.DataFrame(
        {
            "rank": panel.ranks.repeat(len(panel.steps)),
            "step": [*panel.steps] * len(panel.ranks),
            "excess_ns": panel.excess.ravel(),
        },
        schema={"rank": pl.Int64, "step": pl.String, "excess_ns": pl.Float64},
    )


def _named(table: pl.DataFrame, ranks: RankSet) -> pl.DataFrame:
    """The table with the name of each rank's recording beside its number."""
    worker = pl.col("rank").replace_strict(dict(ranks.workers), return_dtype=pl.String)
    return table.select("rank", worker.alias("worker"), pl.exclude("rank"))
