"""Count, period and spread of cycles."""

from __future__ import annotations

from marked import note, work
from timelines import trace_of
from timesink.analyses.cycles.search import cycle_summary, find_cycles


def test_summary_of_each_type():
    notes = [note("decode", 1_000 + 100 * at, 80 + at) for at in range(5)]
    cycles = find_cycles(trace_of([note("prefill", 0, 990), *notes, *work(0, 1_500)]))
    prefill, decode = cycle_summary(cycles).to_dicts()
    assert (prefill["cycles"], prefill["period_ns"], prefill["length_cv"]) == (1, None, None)
    assert (decode["cycles"], decode["period_ns"], decode["length_median_ns"]) == (5, 100, 82)
    assert (decode["length_iqr_ns"], decode["shortest_ns"], decode["longest_ns"]) == (2, 80, 84)
