"""A trace as lanes: every slice on a row of its track, by track, row and start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.nesting import pre_order
from timesink.analyses.texts import Codes
from timesink.analyses.timeline.levels import Pieces, single
from timesink.analyses.timeline.rows import stack_rows
from timesink.analyses.timeline.slices import Side
from timesink.analyses.timeline.tracks import Track
from timesink.model.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """All slices of a recording, in an order in which a row of a track is one stretch."""

    tracks: tuple[Track, ...]
    """By id, with their rows; those of curves have none of the lanes."""
    first_lane: Ints
    """The lane of the first row of each track, and how many lanes there are."""
    slices: Pieces
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
    track = np.concatenate([_ids(side, own) for side, own in zip(sides, ids, strict=True)])
    label, labels = _joint_labels(sides)
    chosen = np.flatnonzero(track >= 0)
    track, begin = track[chosen], start[chosen]
    end = begin + dur[chosen]
    order = pre_order(track, begin, end, np.zeros(len(chosen), dtype=np.bool_))
    row = stack_rows(track[order], begin[order], end[order])
    rows = np.zeros(len(tracks), dtype=np.int64)
    np.maximum.at(rows, track[order], row + 1)
    first_lane = np.append(0, np.cumsum(rows))
    lane = first_lane[track[order]] + row
    by_lane = np.argsort(_narrow(lane, int(first_lane[-1])), kind="stable")
    first = np.append(0, np.cumsum(np.bincount(lane, minlength=int(first_lane[-1]))))
    id_of = chosen[order[by_lane]].astype(np.int32)
    place = np.full(len(start), -1, dtype=np.int32)
    place[id_of] = np.arange(len(id_of), dtype=np.int32)
    return Lanes(
        tracks=tuple(replace(one, rows=max(int(rows[one.id]), 1)) for one in tracks),
        first_lane=first_lane,
        slices=single(first, start[id_of], dur[id_of], label[id_of], id_of),
        place=place,
        names=[name for name, _ in labels],
        kinds=[kind for _, kind in labels],
    )


def _ids(side: Side, ids: Codes) -> Codes:
    """The track of each event; -1 for those that are left out."""
    return np.append(ids, -1)[side.track]


def _joint_labels(sides: Sequence[Side]) -> tuple[NDArray[np.uint32], list[tuple[str, str]]]:
    labels: list[tuple[str, str]] = []
    codes = []
    for side in sides:
        codes.append((side.label + len(labels)).astype(np.uint32))
        labels.extend(side.labels)
    return np.concatenate(codes), labels


def _narrow(lane: Ints, lanes: int) -> NDArray[np.uint16] | Ints:
    # Short numbers are sorted digit by digit, ten times as fast.
    return lane.astype(np.uint16) if lanes <= np.iinfo(np.uint16).max else lane
