"""What a range of time consists of, name by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.timeline.windows import stretches
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

    Calls inside others count in both, so shares of a thread add up to more than the range.

    >>> import timesink
    >>> from timesink.reports.timeline.opening import open_timeline
    >>> timeline = open_timeline(timesink.open(timesink.sample()))
    >>> aggregate(timeline, Query({"from": "0", "to": "1000000"})).table.columns
    ['name', 'kind', 'calls', 'total_ns', 'share_pct', 'mean_ns', 'longest_ns']
    """
    lanes = timeline.layout.lanes
    first, last = asked_range(query, timeline)
    shown = lanes.lanes_of(asked_tracks(query, timeline, curves=False))
    labels = len(lanes.names)
    calls = np.zeros(labels, dtype=np.int64)
    total = np.zeros(labels, dtype=np.float64)
    longest = np.zeros(labels, dtype=np.int64)
    for low, high in stretches(lanes.slices, shown, first, last):
        if high > low:
            start, label = lanes.slices.start[low:high], lanes.slices.label[low:high]
            inside = np.minimum(start + lanes.slices.dur[low:high], last) - np.maximum(start, first)
            calls += np.bincount(label, minlength=labels)
            total += np.bincount(label, inside, minlength=labels)
            np.maximum.at(longest, label, inside)
    found = np.flatnonzero(calls)
    found = found[np.argsort(-total[found], kind="stable")]
    chosen = found[:MOST_NAMES]
    table = pl.DataFrame(
        {
            "name": [lanes.names[code] for code in chosen.tolist()],
            "kind": [lanes.kinds[code] for code in chosen.tolist()],
            "calls": calls[chosen],
            "total_ns": total[chosen].astype(np.int64),
            "share_pct": 100 * total[chosen] / max(last - first, 1),
            "mean_ns": total[chosen] / calls[chosen],
            "longest_ns": longest[chosen],
        },
        schema_overrides={"name": pl.String, "kind": pl.String},
    )
    return Aggregate(first, last, len(found), table)
