"""What a range of time consists of, name by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.timeline.levels import Pieces
from timesink.analyses.timeline.windows import joined_ranges, stretches
from timesink.reports.plugin.query import Query
from timesink.reports.timeline.asked import asked_range, asked_tracks
from timesink.reports.timeline.opening import Timeline

MOST_NAMES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """Names in a range by the time they take there, the most first."""

    from_ns: int
    to_ns: int
    names: int
    """How many there are; the table holds at most `MOST_NAMES`."""
    table: pl.DataFrame
    """`name`, `kind`, `calls`, `total_ns`, `share_pct`, `mean_ns`, `longest_ns`."""


def aggregate(timeline: Timeline, query: Query) -> Aggregate:
    """Slices of a range by name, cut at its edges.

    Shares are of the range on all tracks a name is on: work that fills two streams has 100 %.
    """
    lanes = timeline.layout.lanes
    first, last = asked_range(query, timeline)
    sums = _Sums.of(len(lanes.names))
    for track in asked_tracks(query, timeline, curves=False):
        sums.add(lanes.slices, lanes.lanes_of([track]), first, last)
    # What frames the recording is in every range, and says nothing about any.
    tells = np.array([kind != "trace" for kind in lanes.kinds], dtype=np.bool_)
    found = np.flatnonzero((sums.calls > 0) & tells)
    found = found[np.argsort(-sums.total[found], kind="stable")]
    chosen = found[:MOST_NAMES]
    calls, total = sums.calls[chosen], sums.total[chosen]
    table = pl.DataFrame(
        {
            "name": [lanes.names[code] for code in chosen.tolist()],
            "kind": [lanes.kinds[code] for code in chosen.tolist()],
            "calls": calls,
            "total_ns": total.astype(np.int64),
            "share_pct": 100 * total / (max(last - first, 1) * sums.tracks[chosen]),
            "mean_ns": total / calls,
            "longest_ns": sums.longest[chosen],
        },
        schema_overrides={"name": pl.String, "kind": pl.String},
    )
    return Aggregate(first, last, len(found), table)


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """What is known about each label so far."""

    calls: NDArray[np.int64]
    total: NDArray[np.float64]
    longest: NDArray[np.int64]
    tracks: NDArray[np.int64]

    @classmethod
    def of(cls, labels: int) -> _Sums:
        whole, real = np.zeros((3, labels), dtype=np.int64), np.zeros(labels)
        return cls(calls=whole[0], total=real, longest=whole[1], tracks=whole[2])

    def add(self, slices: Pieces, lanes: NDArray[np.int64], first: int, last: int) -> None:
        """Count what the lanes of a track have in a range."""
        place = joined_ranges(stretches(slices, lanes, first, last))
        label, start = slices.label[place], slices.start[place]
        inside = np.minimum(start + slices.dur[place], last) - np.maximum(start, first)
        calls = np.bincount(label)
        self.calls[: len(calls)] += calls
        self.total[: len(calls)] += np.bincount(label, inside)
        self.tracks[: len(calls)] += calls > 0
        np.maximum.at(self.longest, label, inside)
