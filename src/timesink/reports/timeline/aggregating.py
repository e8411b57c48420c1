"""What a range of time consists of, name by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

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
    slices, labels = lanes.slices, len(lanes.names)
    all_calls, longest, tracks = np.zeros((3, labels), dtype=np.int64)
    all_total = np.zeros(labels)
    for track in asked_tracks(query, timeline, curves=False):
        place = joined_ranges(stretches(slices, lanes.lanes_of([track]), first, last))
        label, start = slices.label[place], slices.start[place]
        inside = np.minimum(start + slices.dur[place], last) - np.maximum(start, first)
        here = np.bincount(label)
        all_calls[: len(here)] += here
        all_total[: len(here)] += np.bincount(label, inside)
        tracks[: len(here)] += here > 0
        np.maximum.at(longest, label, inside)
    # What frames the recording is in every range, and says nothing about any.
    tells = np.array([kind != "trace" for kind in lanes.kinds], dtype=np.bool_)
    found = np.flatnonzero((all_calls > 0) & tells)
    found = found[np.argsort(-all_total[found], kind="stable")]
    chosen = found[:MOST_NAMES]
    calls, total = all_calls[chosen], all_total[chosen]
    table = pl.DataFrame(
        {
            "name": [lanes.names[code] for code in chosen.tolist()],
            "kind": [lanes.kinds[code] for code in chosen.tolist()],
            "calls": calls,
            "total_ns": total.astype(np.int64),
            "share_pct": 100 * total / (max(last - first, 1) * tracks[chosen]),
            "mean_ns": total / calls,
            "longest_ns": longest[chosen],
        },
        schema_overrides={"name": pl.String, "kind": pl.String},
    )
    return Aggregate(first, last, len(found), table)
