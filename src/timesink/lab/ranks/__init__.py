"""Runs of many ranks, generated: what happened is known, so that analyses can be measured.

A `Plan` says what the run is like and which stragglers are put in.  `generate_ranks` writes the
trace of every rank as PyTorch's profiler would, `rank_tables` gives the same as tables without
files, and both know the `Truth`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from timesink.lab.ranks.plan import CAUSE_OF_KIND, KINDS, Answer, Plan, Straggler, Truth

if TYPE_CHECKING:
    from timesink.lab.ranks.generated import generate_ranks, rank_tables, ranks_and_truth

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


def __getattr__(name: str) -> Any:
    """Load what is asked for: to list the kinds needs none of the libraries that writing does."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.generated"), name)
