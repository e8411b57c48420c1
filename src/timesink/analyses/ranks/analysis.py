"""All ranks of a run, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.arrays import covered, joint, numbered, stacked
from timesink.analyses.ranks.clocks import align_clocks, with_common_steps
from timesink.analyses.ranks.lateness import Panel, panel_of
from timesink.analyses.ranks.matching import PAIRS, group_rows, keyed_groups, matched_collectives
from timesink.analyses.ranks.stragglers import find_stragglers
from timesink.analyses.ranks.summary import RankSummary
from timesink.analyses.ranks.waits import collective_table, with_blame, with_excess, with_waits
from timesink.model.findings import Finding

# What each rank spends its time on, and whose time it costs.

RANK_SCHEMA = {
    "rank": pl.Int64(),
    "host": pl.String(),
    "device": pl.String(),
    "steps": pl.Int64(),
    "step_ns": pl.Float64(),
    "compute_ns": pl.Float64(),
    "communication_ns": pl.Float64(),
    "exposed_communication_ns": pl.Float64(),
    "overlap_ns": pl.Float64(),
    "wait_suffered_ns": pl.Float64(),
    "wait_caused_ns": pl.Float64(),
    "pipeline_bubble_ns": pl.Float64(),
    "idle_ns": pl.Float64(),
}
"""Times are means per complete step.  `wait_caused_ns` is how long others waited for the rank's own
doing, `pipeline_bubble_ns` its waits for the stages before and after it."""

WAIT_SCHEMA = {
    "rank": pl.Int64(),
    "step": pl.String(),
    "wait_suffered_ns": pl.Int64(),
    "wait_caused_ns": pl.Float64(),
    "pipeline_bubble_ns": pl.Int64(),
}
"""Moments in which several collectives wait count once."""


def rank_table(ranks: Mapping[int, RankSummary], by_step: pl.DataFrame) -> pl.DataFrame:
    """Rows of `RANK_SCHEMA`, one per rank; `by_step` has rows of `WAIT_SCHEMA`."""
    table = _about(ranks).join(_mean_step(ranks), on="rank", how="left", maintain_order="left")
    waits = by_step.drop("step").group_by("rank").sum()
    table = table.with_columns(pl.col("steps").fill_null(0))
    per_step = pl.max_horizontal("steps", 1)
    return (
        table.join(waits, on="rank", how="left", maintain_order="left")
        .with_columns(pl.col(waits.columns[1:]).fill_null(0) / per_step)
        .select(pl.col(name).cast(dtype) for name, dtype in RANK_SCHEMA.items())
    )


def step_waits(calls: pl.DataFrame) -> pl.DataFrame:
    """Rows of `WAIT_SCHEMA`: what each rank waited in each step, and let others wait."""
    is_pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    # A pair that nobody waits for until other work is done is no bubble.
    stopped = pl.when(is_pair).then(pl.min_horizontal("wait_ns", "exposed_ns"))
    # What the wait for each call adds to those of its rank and step that began before.
    start, wait = calls["start_ns"].to_numpy(), calls["wait_ns"].to_numpy()
    key = joint(numbered(calls["rank"]), numbered(calls["step"]))
    order = np.lexsort((start, key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    added = np.empty(len(order), dtype=np.int64)
    added[order] = covered(start[order], (start + wait)[order], first)
    return (
        calls.lazy()
        .select("rank", "step", "held_up_ns", stopped=stopped, covered=pl.Series(added))
        .group_by("rank", "step")
        .agg(
            wait_suffered_ns=pl.col("covered").sum(),
            wait_caused_ns=pl.col("held_up_ns").sum(),
            pipeline_bubble_ns=pl.col("stopped").sum(),
        )
        .sort("rank", "step")
        .select(pl.col(name).cast(dtype) for name, dtype in WAIT_SCHEMA.items())
        .collect()
    )


def _about(ranks: Mapping[int, RankSummary]) -> pl.DataFrame:
    told = [(rank, each.about.host, each.about.device) for rank, each in sorted(ranks.items())]
    schema = {name: RANK_SCHEMA[name] for name in ("rank", "host", "device")}
    return pl.DataFrame(told, schema=schema, orient="row")


def _mean_step(ranks: Mapping[int, RankSummary]) -> pl.DataFrame:
    steps = stacked({rank: each.steps for rank, each in ranks.items()})
    host_only = ["own_data_loader_ns", "own_runtime_ns", "own_cpu_exec_ns", "own_idle_ns"]
    whole = pl.col("complete")
    return steps.group_by("rank").agg(
        steps=whole.sum(),
        step_ns=(pl.col("end_ns") - pl.col("start_ns")).filter(whole).mean(),
        compute_ns=pl.col("compute_ns").filter(whole).mean(),
        communication_ns=pl.col("communication_ns").filter(whole).mean(),
        exposed_communication_ns=pl.col("exposed_communication_ns").filter(whole).mean(),
        overlap_ns=pl.col("overlap_ns").filter(whole).mean(),
        idle_ns=pl.sum_horizontal(host_only).filter(whole).mean(),
    )


# Which ranks can be judged beside the others: those whose recording holds the same.


def judged_ranks(ranks: Mapping[int, RankSummary]) -> dict[int, RankSummary]:
    """All ranks but those without any device work, where most have some.

    Such a recording was cut off: its host calls are there, what they launched is not, and it would
    look like a host that keeps everybody waiting.
    """
    works = {rank: _has_kernels(summary) for rank, summary in ranks.items()}
    if sum(works.values()) * 2 <= len(works):
        return dict(ranks)
    return {rank: summary for rank, summary in ranks.items() if works[rank]}


def _has_kernels(summary: RankSummary) -> bool:
    # Of complete steps functions tell; a recording without any may still have device work.
    in_steps = not summary.functions.filter(pl.col("place") == "kernel").is_empty()
    return in_steps or bool(summary.steps["own_kernel_ns"].sum())


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
