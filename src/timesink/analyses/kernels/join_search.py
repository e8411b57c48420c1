"""Where a sequence of launches runs through a window of another, as closely as it can.

A common subsequence alone does not say which of forty equal layers a launch belongs to.  So the
best path through the window is sought: a launch that meets its own kind gains, and a path pays for
places it skips, for running on from the end of the window into its start (the next step), and most
for a jump to anywhere else.  Launches that meet nothing stay without a place.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from timesink.analyses.kernels.join_alignment import Launches
from timesink.model.alignment import common_head
from timesink.model.intervals import Flags, Floats, Ints

_MET = 1 << 12
"""What it gains to meet a kernel of one's own kind; all else is measured by it."""
_SKIPPED = _MET // 16
"""What a place left out costs where every launch was recorded."""
_STRAYED = _MET // 4
"""What it costs to be a whole stride off where every n-th launch was recorded."""
_LIKELY_MET = 3 * _MET // 4
"""What a launch is worth to a path that has not come so far."""
_NEW_ROUND = _MET // 2
_JUMP = 8 * _MET
_MAX_ENDS, _FEWER_ENDS = 4096, 256
"""So many unfinished paths are followed at most, and so many once that has cost enough."""
_MAX_CELLS = 1 << 27
_LONGEST_LOOK = 4096
_PLACE, _SCORE, _MEETING = range(3)


class Placed(msgspec.Struct, frozen=True, eq=False):
    """For each launch its place in a window, -1 for none, and whether its kind stands there."""

    place: Ints
    exact: Flags
    score: float = 0.0
    """How well the launches run through the window; only windows with as many are compared."""

    @classmethod
    def nowhere(cls, launches: int) -> Placed:
        return cls(np.full(launches, -1), np.zeros(launches, dtype=np.bool_))

    @property
    def straightness(self) -> float:
        """Of a path: 1 where nothing was skipped, less the more it pays for its places."""
        return self.score / (_MET * max(int(self.exact.sum()), 1))


def place_launches(launches: Ints, window: Ints, stride: float = 1.0) -> Placed:
    """The best path of launches through a window; equal numbers are equal kernels.

    `stride` is how many places of the window a launch stands for: 1, or n where every n-th launch
    was recorded.
    """
    search = _Search(launches, window, stride)
    row = 0
    while row < len(launches):
        row += search.run_on(row) or search.meet(row)
    return search.path()


class _Search:
    """The ends of all paths that may still turn out to be the best, and how they came there.

    A path is a chain of meetings; each knows its row, its place and the meeting before it.  An end
    is a column: its place (ascending), the score of its path and its last meeting.
    """

    def __init__(self, launches: Ints, window: Ints, stride: float) -> None:
        self.launches, self.window, self.stride = launches, window, stride
        self.dense = stride <= 1
        self.skipped = _SKIPPED if self.dense else max(1, round(_STRAYED / stride))
        self.hurried = 0 if self.dense else self.skipped
        self.likely_met = round(_LIKELY_MET / max(1.0, stride))
        self.order = np.argsort(window, kind="stable")
        ordered = window[self.order]
        self.first = np.searchsorted(ordered, launches).tolist()
        self.beyond = np.searchsorted(ordered, launches, side="right").tolist()
        self.ends = np.zeros((3, 0), dtype=np.int64)
        # To begin anywhere costs as much as a jump from here: nothing.
        self.best, self.best_meeting = _JUMP, -1
        self.last_row = -1
        self.meetings = self.steps_tried = 0
        self.notes: list[tuple[Ints, Ints, Ints]] = []

    # -- one row after the other --

    def run_on(self, row: int) -> int:
        """How many rows the only path left can simply run on; it takes them."""
        if self.ends.shape[1] != 1 or not self.dense or self.last_row != row - 1:
            return 0
        start = int(self.ends[_PLACE, 0]) + 1
        length = common_head(
            self.launches[row : row + _LONGEST_LOOK], self.window[start : start + _LONGEST_LOOK]
        )
        if length:
            run = np.arange(length)
            before = np.append(self.ends[_MEETING], self.meetings + run[:-1])
            self._note(row + run, start + run, before)
            self.ends = self.ends + np.array([[length], [length * _MET], [0]])
            self.ends[_MEETING] = self.meetings - 1
            self._keep_best()
            self.last_row = row + length - 1
        return length

    def meet(self, row: int) -> int:
        """Lead paths to every place of a launch's kind; always one row."""
        places = self.order[self.first[row] : self.beyond[row]]
        if not len(places):
            return 1
        expected = 1 if self.last_row < 0 else self._expected(row)
        self.last_row = row
        places, score, before = self._reached_nearby(places, expected)
        # Only what is worth following becomes a meeting; until then they bear negative numbers.
        new = np.array([places, score, -1 - np.arange(len(places))])
        self.ends = np.concatenate([new, self.ends], axis=1)
        self._keep_promising()
        fresh = np.flatnonzero(self.ends[_MEETING] < 0)
        chosen = -1 - self.ends[_MEETING, fresh]
        self.ends[_MEETING, fresh] = self.meetings + np.arange(len(fresh))
        self._note(np.full(len(fresh), row), places[chosen], before[chosen])
        self._keep_best()
        return 1

    def _expected(self, row: int) -> int:
        """How far on this row should be from the one before it that has a place at all."""
        ahead = round(self.stride * row) - round(self.stride * self.last_row)
        return min(max(1, ahead), len(self.window))

    def _reached_nearby(self, places: Ints, expected: int) -> tuple[Ints, Ints, Ints]:
        """Places, scores and meetings before; without places that only a jump reaches in vain."""
        if self.ends.shape[1]:
            reach = expected + _JUMP // self.skipped
            low, high = self.ends[_PLACE, 0] + 1, self.ends[_PLACE, -1] + reach
            first, beyond, again = places.searchsorted([low, high, high - len(self.window)])
            near = np.concatenate([places[:again], places[max(first, again) : beyond]])
            if 0 < len(near) < len(places):
                score, before = self._reached(near, expected)
                # The best path goes on, and leaves behind by a jump's cost who jumps now.
                if score.max() >= self.best + _MET // 2:
                    return near, score, before
        return places, *self._reached(places, expected)

    def _reached(self, places: Ints, expected: int) -> tuple[Ints, Ints]:
        """The best score with which each place is reached, and the meeting before it."""
        jumped = self.best - _JUMP + _MET
        if not self.ends.shape[1]:
            return np.full(len(places), jumped), np.full(len(places), self.best_meeting)
        self.steps_tried += len(places) * self.ends.shape[1]
        late = places[:, None] - self.ends[_PLACE] - expected
        new_round = late <= -expected
        late += new_round * len(self.window)
        values = self.ends[_SCORE] - np.maximum(late, 0) * self.skipped - new_round * _NEW_ROUND
        if self.hurried:
            values += np.minimum(late, 0) * self.hurried
        source = values.argmax(axis=1)
        reached = values.max(axis=1) + _MET
        worse = reached < jumped
        reached[worse] = jumped
        before = self.ends[_MEETING, source]
        before[worse] = self.best_meeting
        return reached, before

    def _note(self, rows: Ints, places: Ints, before: Ints) -> None:
        self.notes.append((rows, places, before))
        self.meetings += len(rows)

    # -- which paths go on --

    def _keep_best(self) -> None:
        best = int(self.ends[_SCORE].argmax())
        if self.ends[_SCORE, best] >= self.best:
            _, self.best, self.best_meeting = self.ends[:, best].tolist()

    def _keep_promising(self) -> None:
        """Drop paths that another one can replace whatever follows."""
        ends = self.ends[:, self.ends[_PLACE].argsort(kind="stable")]
        # One that lies behind and loses nothing by skipping ahead to where the other ends.
        level = ends[_SCORE] + self.skipped * ends[_PLACE]
        best = int(ends[_SCORE].max())
        # Who jumped when the best path met nothing is of no use once that goes on.
        spared = 3 * _MET // 2 if best >= self.best + _MET // 2 else _MET // 2
        promising = ends[_SCORE] > max(self.best, best) - _JUMP + spared
        promising[1:] &= level[1:] > np.maximum.accumulate(level)[:-1]
        ends = ends[:, promising]
        if ends.shape[1] > 1:
            # One that lies ahead and has met more than the other is likely to on its way there.
            level = ends[_SCORE] - self.likely_met * ends[_PLACE]
            promising = np.ones(ends.shape[1], dtype=np.bool_)
            promising[:-1] = level[:-1] > np.maximum.accumulate(level[::-1])[::-1][1:]
            ends = ends[:, promising]
        most = _MAX_ENDS if self.steps_tried < _MAX_CELLS else _FEWER_ENDS
        if ends.shape[1] > most:
            leaders = np.argsort(-ends[_SCORE], kind="stable")[:most]
            ends = ends[:, np.sort(leaders)]
        self.ends = ends

    # -- the way back --

    def path(self) -> Placed:
        place = np.full(len(self.launches), -1)
        if not self.meetings:
            return Placed(place, place >= 0)
        rows, places, before = (np.concatenate(notes) for notes in zip(*self.notes, strict=True))
        best = int(self.ends[_SCORE].argmax())
        chain: list[int] = []
        meeting, earlier = int(self.ends[_MEETING, best]), before.tolist()
        while meeting >= 0:
            chain.append(meeting)
            meeting = earlier[meeting]
        place[rows[chain]] = places[chain]
        return Placed(place, place >= 0, int(self.ends[_SCORE, best]))


# Where launches stand of which every n-th of each kernel was recorded.
#
# From one recorded launch of a kernel to the next there are n launches of it, wherever they are.
# So one number per kernel says where all of its launches stand in a step that repeats: which of its
# launches in the step came first.  These numbers are sought so that kernels agree with one another.

_TOGETHER = 64
"""Launches of a kernel that are counted on from one number; the next ones get a number anew."""
_PASSES = 2
_TRIED_ON = 1024
"""Launches on which ways to begin are tried."""
_MAX_STARTS = 32
_NEARLY_AS_GOOD = 0.9
_FAR = 0.25
"""A launch this part of the window away from where it is expected is no better than any other."""
_OFF_THE_MIDDLE = 0.02
"""What a place further from the middle costs, where others leave room for both."""


class _Function(msgspec.Struct, frozen=True, eq=False):
    """Some of the recorded launches of one function, and its places in the window."""

    rows: Ints
    number: Ints
    """Which of the recorded launches of the function each row is."""
    kind: Ints
    places: Ints
    kind_at: Ints

    def part(self, chosen: slice) -> _Function:
        return replace(
            self, rows=self.rows[chosen], number=self.number[chosen], kind=self.kind[chosen]
        )

    def choices(self, every: int) -> tuple[Ints, Flags]:
        """Row by row its place for each choice of a number, and whether its kind stands there."""
        counts = len(self.places)
        count = (np.arange(counts) + self.number[:, None] * every) % counts
        return self.places[count], self.kind_at[count] == self.kind[:, None]


def place_by_count(launches: Launches, window: Launches, every: int) -> Placed:
    """Places of launches of which every n-th of each function was recorded."""
    functions = _functions(launches, window)
    if not functions:
        return Placed.nowhere(len(launches))
    # Ways to begin are tried on rows around the middle of those whose function the window has.
    rows = np.sort(np.concatenate([function.rows for function in functions]))
    low = max(0, (len(rows) - _TRIED_ON) // 2)
    middle = slice(int(rows[low]), int(rows[min(len(rows), low + _TRIED_ON) - 1]) + 1)
    parts = []
    for function in functions:
        first, beyond = np.searchsorted(function.rows, [middle.start, middle.stop]).tolist()
        parts.append(function.part(slice(first, beyond)))
    main = int(np.argmax([len(part.rows) for part in parts]))

    # How far launches have come: their place and the rounds before; nan where that is not known.
    def counted_from(first: int) -> Floats:
        leader = functions[main]
        rounds, count = np.divmod(first + leader.number * every, len(leader.places))
        come = np.full(len(launches), np.nan)
        come[leader.rows] = leader.places[count] + len(window) * rounds
        return come

    # By the path that keeps closest to every n-th launch of all.
    path = place_launches(launches.kind[middle], window.kind, every)
    met, place = np.flatnonzero(path.exact), path.place[path.exact]
    rounds = np.cumsum(np.append(0, np.diff(place) <= 0))[: len(met)]
    come = np.full(len(launches), np.nan)
    come[met + middle.start] = place + len(window) * rounds
    starts = [come, *map(counted_from, _likely(parts[main], every))]
    tried = [_settle_places(parts, start, len(window), every) for start in starts]
    best = max(tried, key=lambda counted: counted.score)
    if sum(len(part.rows) for part in parts) == len(rows):
        return best
    # Everything, from the number from which most launches of the function were counted.
    leader = parts[main]
    count = np.searchsorted(leader.places, best.place[leader.rows])
    first = int(np.bincount((count - leader.number * every) % len(leader.places)).argmax())
    return _settle_places(functions, counted_from(first), len(window), every)


def _functions(launches: Launches, window: Launches) -> list[_Function]:
    """Functions that the window has, those with most launches first: they say most."""
    functions = []
    for function in np.unique(launches.function).tolist():
        rows = np.flatnonzero(launches.function == function)
        places = np.flatnonzero(window.function == function)
        if len(places):
            kinds = launches.kind[rows], window.kind[places]
            functions.append(_Function(rows, np.arange(len(rows)), kinds[0], places, kinds[1]))
    return sorted(functions, key=lambda function: -len(function.rows))


def _likely(function: _Function, every: int) -> list[int]:
    """Numbers with which most launches of a function stand where their kind does."""
    same = function.choices(every)[1].sum(axis=0)
    likely = np.argsort(-same, kind="stable")
    return [int(n) for n in likely[same[likely] >= _NEARLY_AS_GOOD * same.max()][:_MAX_STARTS]]


def _settle_places(functions: Sequence[_Function], start: Floats, width: int, every: int) -> Placed:
    """Each function placed where the others expect it; what is placed is expected of the next."""
    place = np.full(len(start), -1)
    same_kind = np.zeros(len(start), dtype=np.bool_)
    come = start.copy()
    score = 0.0
    for _ in range(_PASSES):
        score = 0.0
        for function in functions:
            rows, distances = _known_without(come, function.rows)
            for begin in range(0, len(function.rows), _TOGETHER):
                part = function.part(slice(begin, begin + _TOGETHER))
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
    rest = come.copy()
    rest[rows] = np.nan
    present = np.flatnonzero(~np.isnan(rest))
    if len(present) < 2:
        present = np.flatnonzero(~np.isnan(come))
    if not len(present):
        return np.zeros(1, dtype=np.int64), np.zeros(1)
    return present, np.maximum.accumulate(come[present])
