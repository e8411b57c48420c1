"""Small examples of what analyses.ranks.likeness computes."""

from __future__ import annotations

import timesink
from timesink.analyses.ranks.analysis import analyse_ranks
from timesink.analyses.ranks.features import _few_penalty
from timesink.analyses.ranks.rank_groups import cluster_ranks
from timesink.analyses.ranks.summary import summarise_rank


def test_cluster_ranks() -> None:
    alone = {0: summarise_rank(timesink.open(timesink.sample()))}
    assert [(one.group, one.ranks) for one in cluster_ranks(alone, analyse_ranks(alone))] == [
        ("usual", (0,))
    ]


def test_few_penalty() -> None:
    assert (_few_penalty(4), _few_penalty(1000)) == (1.5, 1.002)
