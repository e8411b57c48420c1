"""Which steps a user wants: `5-8`, `5,7,10-12`, 5, [5, 7]."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import index
from typing import TypeAlias

from timesink.analyses.steps import step_ranges

Steps: TypeAlias = "int | str | Iterable[int]"

_MAX_NAMED = 6


def step_choice(wanted: Steps) -> str:
    """The choice as text, checked."""
    if isinstance(wanted, str):
        return ",".join(_as_text(bounds) for bounds in step_ranges(wanted))
    numbers = list(wanted) if isinstance(wanted, Iterable) else [wanted]
    if not all(hasattr(number, "__index__") and not isinstance(number, bool) for number in numbers):
        # What is no number is no choice, and is refused as such.
        return step_choice(str(wanted))
    return step_choice(",".join(str(index(number)) for number in numbers))


def missing_steps(wanted: str, names: Iterable[str]) -> list[str]:
    """Parts of a choice of which the trace holds nothing, the first of them."""
    numbers = sorted(int(name) for name in names if name.isdecimal())
    gaps = []
    for first, last in step_ranges(wanted):
        # The stretches of a range in which no number lies.
        held_here = [number for number in numbers if first <= number <= last]
        edges = pairwise([first - 1, *held_here, last + 1])
        gaps += [(low + 1, high - 1) for low, high in edges if high - low > 1]
    texts = list(dict.fromkeys(map(_as_text, gaps)))
    return texts if len(texts) <= _MAX_NAMED else [*texts[:_MAX_NAMED], "..."]


def _as_text(bounds: tuple[int, int]) -> str:
    first, last = bounds
    return str(first) if first == last else f"{first}-{last}"
