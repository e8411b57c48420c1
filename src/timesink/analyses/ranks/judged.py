"""Which ranks can be judged beside the others: those whose recording holds the same."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from timesink.analyses.ranks.summary import RankSummary


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
