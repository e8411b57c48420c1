"""Where launches stand of which every n-th of each kernel was recorded.

From one recorded launch of a kernel to the next there are n launches of it, wherever they are.  So
one number per kernel says where all of its launches stand in a step that repeats: which of its
launches in the step came first.  These numbers are sought so that kernels agree with one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from timesink.analyses.kernel_join.launches import Launches
from timesink.analyses.kernel_join.placing import place_launches
from timesink.model.arrays import Flags, Floats, Ints

_TOGETHER = 64
"""Launches of a kernel that are counted on from one number; the next ones get a number anew."""
_PASSES = 2
_TRIED_ON = 1024
"""Launches on which ways to begin are tried."""
_MOST_STARTS = 32
_NEARLY_AS_GOOD = 0.9
_FAR = 0.25
"""A launch this part of the window away from where it is expected is no better than any other."""
_OFF_THE_MIDDLE = 0.02
"""What a place further from the middle costs, where others leave room for both."""


@dataclass(frozen=True, eq=False)
class Placed:
    """For each launch its place in a window, -1 for none, and whether its kind stands there."""

    place: Ints
    exact: Flags
    score: float
    """How well the launches run through the window; only windows with as many are compared."""


@dataclass(frozen=True, eq=False)
class _Function:
    """Some of the recorded launches of one function, and its places in the window."""

    rows: Ints
    number: Ints
    """Which of the recorded launches of the function each row is."""
    kind: Ints
    places: Ints
    kind_at: Ints

    def parts(self) -> list[_Function]:
        return [
            self.part(slice(first, first + _TOGETHER))
            for first in range(0, len(self.rows), _TOGETHER)
        ]

    def part(self, chosen: slice) -> _Function:
        rows, number, kind = self.rows[chosen], self.number[chosen], self.kind[chosen]
        return _Function(rows, number, kind, self.places, self.kind_at)

    def choices(self, every: int) -> tuple[Ints, Flags]:
        """Row by row its place for each choice of a number, and whether its kind stands there."""
        counts = len(self.places)
        count = (np.arange(counts) + self.number[:, None] * every) % counts
        return self.places[count], self.kind_at[count] == self.kind[:, None]


def place_by_count(launches: Launches, window: Launches, every: int) -> Placed:
    """Places of launches of which every n-th of each function was recorded."""
    functions = _functions(launches, window)
    if not functions:
        return Placed(np.full(len(launches), -1), np.zeros(len(launches), dtype=np.bool_), 0.0)
    middle = _middle(functions)
    parts = [_within(function, middle) for function in functions]
    main = int(np.argmax([len(part.rows) for part in parts]))

    def counted_from(first: int) -> Floats:
        return _counted_from(functions[main], first, (len(launches), len(window)), every)

    # By the path that keeps closest to every n-th launch of all.
    path = place_launches(launches.kind[middle], window.kind, every)
    rounds = np.cumsum(np.append(0, np.diff(path.place) <= 0))[: len(path.row)]
    come = np.full(len(launches), np.nan)
    come[path.row + middle.start] = path.place + len(window) * rounds
    starts = [
        come,
        *(counted_from(first) for first in _likely(parts[main], every)),
    ]
    tried = [_settled(parts, start, len(window), every) for start in starts]
    best = max(tried, key=lambda counted: counted.score)
    first = _first_count(parts[main], best.place, every)
    whole = sum(len(part.rows) for part in parts) == sum(len(one.rows) for one in functions)
    return best if whole else _settled(functions, counted_from(first), len(window), every)


def _functions(launches: Launches, window: Launches) -> list[_Function]:
    """Functions that the window has, those with most launches first: they say most."""
    found = []
    for function in np.unique(launches.function).tolist():
        rows = np.flatnonzero(launches.function == function)
        places = np.flatnonzero(window.function == function)
        if len(places):
            kinds = launches.kind[rows], window.kind[places]
            found.append(_Function(rows, np.arange(len(rows)), kinds[0], places, kinds[1]))
    return sorted(found, key=lambda function: -len(function.rows))


def _middle(functions: Sequence[_Function]) -> slice:
    """Rows around the middle of those whose function the window has."""
    rows = np.sort(np.concatenate([function.rows for function in functions]))
    first = max(0, (len(rows) - _TRIED_ON) // 2)
    last = min(len(rows), first + _TRIED_ON) - 1
    return slice(int(rows[first]), int(rows[last]) + 1)


def _within(function: _Function, rows: slice) -> _Function:
    first, beyond = np.searchsorted(function.rows, [rows.start, rows.stop])
    return function.part(slice(int(first), int(beyond)))


# -- from where to begin ---------------------------------------------------------------------------
# How far launches have come: their place and the rounds before; nan where that is not known.


def _likely(function: _Function, every: int) -> list[int]:
    """Numbers with which most launches of a function stand where their kind does."""
    same = function.choices(every)[1].sum(axis=0)
    likely = np.argsort(-same, kind="stable")
    return [int(n) for n in likely[same[likely] >= _NEARLY_AS_GOOD * same.max()][:_MOST_STARTS]]


def _counted_from(function: _Function, first: int, shape: tuple[int, int], every: int) -> Floats:
    rows, width = shape
    rounds, count = np.divmod(first + function.number * every, len(function.places))
    come = np.full(rows, np.nan)
    come[function.rows] = function.places[count] + width * rounds
    return come


def _first_count(function: _Function, place: Ints, every: int) -> int:
    """The number from which most launches of a function were counted."""
    counts = len(function.places)
    count = np.searchsorted(function.places, place[function.rows])
    return int(np.bincount((count - function.number * every) % counts).argmax())


# -- so that functions agree with one another ------------------------------------------------------


def _settled(functions: Sequence[_Function], start: Floats, width: int, every: int) -> Placed:
    """Each function placed where the others expect it; what is placed is expected of the next."""
    place = np.full(len(start), -1)
    same_kind = np.zeros(len(start), dtype=np.bool_)
    come = start.copy()
    score = 0.0
    for _ in range(_PASSES):
        score = 0.0
        for function in functions:
            rows, distances = _known_without(come, function.rows)
            for part in function.parts():
                # Between which distances launches stand; the middle by the rows between.
                middle = np.interp(part.rows, rows, distances)[:, None]
                after = np.searchsorted(rows, part.rows)[:, None]
                least = distances[np.maximum(after - 1, 0)]
                most = distances[np.minimum(after, len(rows) - 1)]
                places, same = part.choices(every)
                ahead = (places - middle + width / 2) % width - width / 2
                outside = np.maximum(-ahead - (middle - least), ahead - (most - middle))
                # Inside as well, a place further from the middle costs a little.
                missed = np.maximum(outside, 0) + _OFF_THE_MIDDLE * np.abs(ahead)
                worth = same * (1 - 0.5 * np.minimum(1, missed / (_FAR * width)))
                best = int(worth.sum(axis=0).argmax())
                score += float(worth[:, best].sum())
                place[part.rows], same_kind[part.rows] = places[:, best], same[:, best]
                distance = middle[:, 0] + ahead[:, best]
                come[part.rows] = np.where(same[:, best], distance, np.nan)
    return Placed(place, same_kind, score)


def _known_without(come: Floats, rows: Ints) -> tuple[Ints, Floats]:
    """Other rows than these whose distance is known, and their distances in order.

    These as well where there is nothing else.
    """
    others = come.copy()
    others[rows] = np.nan
    known = np.flatnonzero(~np.isnan(others))
    if len(known) < 2:
        known = np.flatnonzero(~np.isnan(come))
    if not len(known):
        return np.zeros(1, dtype=np.int64), np.zeros(1)
    return known, np.maximum.accumulate(come[known])
