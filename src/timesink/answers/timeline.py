"""The table of a selected range of the timeline."""

from __future__ import annotations

from timesink.model.units import brief_ns
from timesink.output.blocks import Kind, Sort, Table
from timesink.output.columns import column, table
from timesink.reports.timeline.aggregating import Aggregate

_COLUMNS: tuple[tuple[str, str, Kind, str], ...] = (
    ("name", "Name", "text", "as recorded"),
    ("kind", "Kind", "text", "what sort of activity it is"),
    ("calls", "Calls", "count", "slices that overlap the range"),
    ("total_ns", "Total", "time_ns", "their time inside the range"),
    (
        "share_pct",
        "Share",
        "percent",
        "total of the range, on all tracks it is on; calls inside others count in both",
    ),
    ("mean_ns", "Mean", "time_ns", "total of a call, cut to the range"),
    ("longest_ns", "Longest", "time_ns", "the longest of them, cut to the range"),
)


def aggregate_block(found: Aggregate) -> Table:
    """The names in a range by the time they take, as a table."""
    return table(
        "range",
        f"Selected: {brief_ns(found.to_ns - found.from_ns)}",
        (
            column(key, title, kind, found.table[key], help=meaning, bar=key == "total_ns")
            for key, title, kind, meaning in _COLUMNS
        ),
        total_rows=found.names,
        sort=Sort("total_ns"),
    )
