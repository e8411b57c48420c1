"""Small examples of what analyses.ranks.changes computes."""

from __future__ import annotations

import timesink
from timesink.analyses.ranks.rank_set import RankLayout, ranks_of_traces
from timesink.comparison.rank_changes import compare_ranks


def test_compare_ranks() -> None:
    single_set = ranks_of_traces({"rank0": timesink.open(timesink.sample())})
    rank_changes = compare_ranks(single_set, single_set)
    assert (
        rank_changes.verdict,
        rank_changes.stragglers,
        round(sum(part.delta_ns for part in rank_changes.attribution)),
    ) == ("no_change", (), 0)


def test_layout_words() -> None:
    assert RankLayout(64, (("tp", 4), ("dp", 16))).words == "64 ranks (tp 4, dp 16)"
