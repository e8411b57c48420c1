"""Small examples of what analyses.ranks.likeness computes."""

from __future__ import annotations

import timesink
from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.rank_clusters import _floor, cluster_ranks
from timesink.analyses.ranks.summary import summarise_rank


def test_cluster_ranks() -> None:
    summaries = {0: summarise_rank(timesink.open(timesink.sample()))}
    assert [
        (group.group, group.ranks) for group in cluster_ranks(summaries, analyse_ranks(summaries))
    ] == [("usual", (0,))]


def test_floor_is_higher_with_few_peers() -> None:
    assert (_floor(1.0, 4, 0.0), _floor(1.0, 500, 0.0)) == (9.0, 6 * 1.004)
    assert _floor(0.0, 4, 1000.0) == 22.5
