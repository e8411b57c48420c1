"""Generated runs of a few ranks, each made and summarised once, whoever asks about it.

Tests of stragglers, groups of ranks and changes ask about the same runs; nobody may change them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from timesink.analyses.ranks.rank_set import RankSet, ranks_of_traces
from timesink_lab.ranks.generated import ranks_and_truth
from timesink_lab.ranks.plan import Plan, Straggler
from timesink_lab.ranks.truth import Truth

GRID = {"tensor": 2, "pipeline": 2}
TWOS = {"tensor": 2, "ranks": 6}
"""Three pairs of ranks."""
FOURS = {"tensor": 4, "ranks": 12}
"""A slow link is named where several others have the same role."""
TWO_REASONS = (Straggler("slow_node", 5, intensity=0.2), Straggler("data_loading", 10))


def generated_set(*stragglers: Straggler, **options: Any) -> tuple[RankSet, Truth]:
    """Eight ranks on two nodes, unless told otherwise, and what is true about them."""
    usual = {"ranks": 8, "ranks_per_node": 4, "steps": 4, "layers": 1}
    return _generate_set(Plan(**{**usual, **options}, stragglers=stragglers))


def healthy_set(**layout: int) -> RankSet:
    return generated_set(seed=5, **layout)[0]


def slow_set(kind: str, **layout: int) -> RankSet:
    """Rank 5 loses a fifth of each step that is affected."""
    return slow_set_and_truth(kind, **layout)[0]


def slow_set_and_truth(kind: str, **layout: int) -> tuple[RankSet, Truth]:
    return generated_set(Straggler(kind, 5, intensity=0.2), seed=3, **layout)


@cache
def _generate_set(plan: Plan) -> tuple[RankSet, Truth]:
    traces, truth = ranks_and_truth(plan)
    return ranks_of_traces({f"rank{rank}": trace for rank, trace in traces.items()}), truth
