"""What came of sampling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """A counter that was asked for and is not in the file, or not all of it."""

    counter: str
    why: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a sampler wrote and what it cost."""

    interval_ms: float
    """As it was asked for; counters that take longer to read come less often."""
    samples: int
    """Moments at which something was read; of notes alone, those at which they were taken."""
    recorded: tuple[str, ...]
    missing: tuple[Missing, ...]
    cpu_pct: float | None
    """Share of one core the sampling took; None where nothing was sampled."""


def missing_in_words(missing: Iterable[Missing], most: int = 3) -> tuple[str, ...]:
    """A line for each reason, with the first counters it is the reason for.

    >>> missing_in_words([Missing("a", "no GPU"), Missing("b", "denied"), Missing("c", "no GPU")])
    ('a, c: no GPU', 'b: denied')
    >>> missing_in_words([Missing("a", "no GPU"), Missing("b", "no GPU")], most=1)
    ('a and 1 more: no GPU',)
    """
    counters: dict[str, list[str]] = {}
    for one in missing:
        counters.setdefault(one.why, []).append(one.counter)
    return tuple(
        f"{_some(names, most)}: {why or 'no reason given'}" for why, names in counters.items()
    )


def _some(names: list[str], most: int) -> str:
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")
