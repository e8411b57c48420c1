"""Which steps a user wants: `5-8`, `5,7,10-12`, 5, [5, 7]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import index
from typing import TypeAlias

from timesink.errors import UsageError

Steps: TypeAlias = "int | str | Iterable[int]"

_RANGE = re.compile(r"(\d{1,40})(?:\s*-\s*(\d{1,40}))?", re.ASCII)
_MOST_NAMED = 6


def step_choice(wanted: Steps) -> str:
    """The choice as text, checked.

    >>> step_choice(5), step_choice([5, 7]), step_choice("5-8, 10")
    ('5', '5,7', '5-8,10')
    """
    if isinstance(wanted, str):
        return ",".join(_as_text(bounds) for bounds in _parsed(wanted))
    numbers = list(wanted) if isinstance(wanted, Iterable) else [wanted]
    if not all(hasattr(one, "__index__") and not isinstance(one, bool) for one in numbers):
        raise _no_choice(str(wanted))
    return step_choice(",".join(str(index(number)) for number in numbers))


def missing_steps(wanted: str, held: Iterable[str]) -> list[str]:
    """Parts of a choice of which the trace holds nothing, the first of them.

    >>> missing_steps("3-6,99", ["3", "4", "8"])
    ['5-6', '99']
    """
    numbers = sorted(int(name) for name in held if name.isdecimal())
    gaps = [gap for bounds in _parsed(wanted) for gap in _gaps(bounds, numbers)]
    texts = list(dict.fromkeys(map(_as_text, gaps)))
    return texts if len(texts) <= _MOST_NAMED else [*texts[:_MOST_NAMED], "..."]


def _parsed(text: str) -> list[tuple[int, int]]:
    found = [_RANGE.fullmatch(part.strip()) for part in text.split(",")]
    bounds = [(int(part[1]), int(part[2] or part[1])) for part in found if part is not None]
    if len(bounds) < len(found) or any(first > last for first, last in bounds):
        raise _no_choice(text)
    return bounds


def _no_choice(text: str) -> UsageError:
    return UsageError(f"{text!r} is not a choice of steps", "try --steps 5-8 or 5,7,9")


def _as_text(bounds: tuple[int, int]) -> str:
    first, last = bounds
    return str(first) if first == last else f"{first}-{last}"


def _gaps(bounds: tuple[int, int], numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The stretches of a range in which no number lies."""
    first, last = bounds
    for number in numbers:
        if first <= number <= last:
            if number > first:
                yield first, number - 1
            first = number + 1
    if first <= last:
        yield first, last
