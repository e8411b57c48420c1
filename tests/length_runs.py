"""Runs of which nothing but the lengths of their cycles is known, compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from behaviour_rows import behaviour, role_of
from compared import comparison
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.comparison.results import Process
from timesink.comparison.steps.verdict import compare_roles


def compared_lengths(base_ns: Sequence[float], new_ns: Sequence[float]) -> ComparisonAnswer:
    """Two runs of one function, whose cycles have these lengths."""
    sides = ("base", base_ns), ("new", new_ns)
    base, new = (_role(label, tuple(map(round, lengths))) for label, lengths in sides)
    return comparison(compare_roles(base, new, "strict"))


@cache
def _role(label: str, lengths_ns: tuple[int, ...]) -> Process:
    rows = [
        {"cycle": number + 1, "cycle_ts_ns": sum(lengths_ns[:number])}
        | {"cycle_dur_ns": length, "dur_ns": length // 2}
        for number, length in enumerate(lengths_ns)
    ]
    return role_of(behaviour(*rows), label)
