"""Recordings that were cut off before their device work are told, not accused."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timesink.analyses.ranks.rank_set import ranks_of_traces, set_notes
from timesink.model.trace import Trace
from timesink_lab.ranks.generated import rank_tables
from timesink_lab.ranks.plan import Plan


def without_device(trace: Trace) -> Trace:
    nothing = trace.lazy("device").filter(pl.lit(value=False))
    return replace(trace, frames={**trace.frames, "device": nothing})


def test_a_rank_without_device_work_among_others_is_not_judged():
    traces = {
        f"rank{rank}": trace
        for rank, trace in rank_tables(Plan(ranks=4, steps=3, layers=1)).items()
    }
    rank_set = ranks_of_traces({**traces, "rank2": without_device(traces["rank2"])})
    assert rank_set.analysis.stragglers == ()
    assert rank_set.analysis.not_judged == (2,)
    assert rank_set.analysis.ranks["rank"].to_list() == [0, 1, 2, 3]
    note = "rank 2 has no device work, unlike most others, and cannot be judged"
    assert note in list(set_notes(rank_set))


def test_where_nobody_has_device_work_all_are_judged():
    traces = rank_tables(Plan(ranks=2, steps=2, layers=1)).items()
    rank_set = ranks_of_traces({f"rank{rank}": without_device(trace) for rank, trace in traces})
    assert rank_set.analysis.not_judged == ()
