"""Runs of many ranks, generated: what happened is known, so that analyses can be measured.

A `Plan` says what the run is like and which `Straggler`s are put in.  `generate_ranks` writes the
trace of every rank as PyTorch's profiler would, `rank_tables` gives the same as tables without
files, and both know the `Truth`.
"""

from timesink.lab.ranks.generate import generate_ranks
from timesink.lab.ranks.plan import CAUSE_OF_KIND, KINDS, Answer, Plan, Straggler, Truth
from timesink.lab.ranks.tables import rank_tables, ranks_and_truth

__all__ = [
    "CAUSE_OF_KIND",
    "KINDS",
    "Answer",
    "Plan",
    "Straggler",
    "Truth",
    "generate_ranks",
    "rank_tables",
    "ranks_and_truth",
]
