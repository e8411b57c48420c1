"""Slices in lanes: those that overlap stand below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from timesink.analyses.columns import Codes
from timesink.analyses.timeline.levels import (
    MergedSlices,
    single,
)
from timesink.analyses.timeline.tracks import (
    Side,
    Track,
)
from timesink.model.arrays import prefix_sums, run_slices
from timesink.model.intervals import Ints, partially_overlapping, union_starts
from timesink.model.nested_calls import depth_when_nested, pre_order


def stack_rows(track: Codes, start: Ints, end: Ints) -> Ints:
    """Rows of slices in pre-order: by track, start and longest first.

    A slice stands below the one that holds it.  One that outlasts the slice it starts in goes to
    the next row that is free.
    """
    rows = np.zeros(len(track), dtype=np.int64)
    for part in run_slices(track):
        begin, finish = start[part], end[part]
        mine = depth_when_nested(begin, finish)
        # Nesting tells the rows; where slices cross, it does not.
        clashing = np.flatnonzero(partially_overlapping(np.column_stack((begin, finish))))
        if len(clashing):
            # Rows one by one where slices cross; stretches apart from each other keep theirs.
            borders = np.append(np.flatnonzero(union_starts(begin, finish)), len(begin))
            for number in np.unique(np.searchsorted(borders, clashing, side="right") - 1):
                stretch = slice(int(borders[number]), int(borders[number + 1]))
                mine[stretch] = _walk(begin[stretch].tolist(), finish[stretch].tolist())
        rows[part] = mine
    return rows


def _walk(starts: list[int], ends: list[int]) -> list[int]:
    free_from: list[int] = []
    placed: list[int] = []
    holders: list[int] = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while holders and ends[holders[-1]] <= start:
            holders.pop()
        # Below all that hold it: where slices cross, the last one need not be the lowest.
        row = max((placed[holder] + 1 for holder in holders if ends[holder] >= end), default=0)
        while row < len(free_from) and free_from[row] > start:
            row += 1
        free_from.extend([start] * (row + 1 - len(free_from)))
        free_from[row] = end
        placed.append(row)
        holders.append(place)
    return placed


class Lanes(msgspec.Struct, frozen=True, eq=False):
    """All slices of a recording, in an order in which a row of a track is one stretch."""

    tracks: tuple[Track, ...]
    """By id, with their rows; those of curves have none of the lanes."""
    first_lane: Ints
    """The lane of the first row of each track, and how many lanes there are."""
    slices: MergedSlices
    """As they were recorded; ids count the rows of `host` and then those of `device`."""
    place: NDArray[np.int32]
    """Where each id is among the slices; -1 for what lies outside the recording."""
    names: Sequence[str]
    """By label."""
    kinds: Sequence[str]
    """By label."""

    def lanes_of(self, tracks: Sequence[int]) -> Ints:
        """The lanes of some tracks, one track after the other."""
        ranges = [np.arange(*self.first_lane[track : track + 2]) for track in tracks]
        return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)

    def lanes_at(self, places: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
        """Track and row of the slices at some places."""
        lane = np.searchsorted(self.slices.first, places, side="right") - 1
        track = np.searchsorted(self.first_lane, lane, side="right") - 1
        return track, lane - self.first_lane[track]


def lay_out(
    sides: Sequence[Side], tracks: Sequence[Track], ids: Sequence[Codes], start_ns: int
) -> Lanes:
    """Put the events of host and devices on rows.

    `tracks` are all there are by id, `ids` the ids of those of each side.
    """
    start = np.concatenate([side.start for side in sides]) - start_ns
    dur = np.concatenate([side.dur for side in sides])
    # The track of each event; -1 for those that are left out.
    track = np.concatenate(
        [np.append(side_ids, -1)[side.track] for side, side_ids in zip(sides, ids, strict=True)]
    )
    labels = [label for side in sides for label in side.labels]
    before = np.cumsum([0, *(len(side.labels) for side in sides)])
    codes = [side.label + many for side, many in zip(sides, before[:-1], strict=True)]
    label = np.concatenate(codes).astype(np.uint32)
    chosen = np.flatnonzero(track >= 0)
    track, begin = track[chosen], start[chosen]
    end = begin + dur[chosen]
    order = pre_order(track, begin, end)
    row = stack_rows(track[order], begin[order], end[order])
    rows = np.zeros(len(tracks), dtype=np.int64)
    np.maximum.at(rows, track[order], row + 1)
    first_lane = prefix_sums(rows)
    lane = first_lane[track[order]] + row
    lanes = int(first_lane[-1])
    # Short numbers are sorted digit by digit, ten times as fast.
    short = lane.astype(np.uint16) if lanes <= np.iinfo(np.uint16).max else lane
    by_lane = np.argsort(short, kind="stable")
    first = prefix_sums(np.bincount(lane, minlength=lanes))
    id_of = chosen[order[by_lane]].astype(np.int32)
    place = np.full(len(start), -1, dtype=np.int32)
    place[id_of] = np.arange(len(id_of), dtype=np.int32)
    return Lanes(
        tracks=tuple(replace(entry, rows=max(int(rows[entry.id]), 1)) for entry in tracks),
        first_lane=first_lane,
        slices=single(first, start[id_of], dur[id_of], label[id_of], id_of),
        place=place,
        names=[name for name, _ in labels],
        kinds=[kind for _, kind in labels],
    )
