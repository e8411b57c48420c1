"""Evidence from events: those that took most, by name."""

from __future__ import annotations

import polars as pl

from timesink.analyses.findings.finding import Evidence


def longest_by_name(kind: str, events: pl.DataFrame, most: int = 3) -> tuple[Evidence, ...]:
    """The names that took most time, with calls and time.

    >>> events = pl.DataFrame({"name": ["a", "b", "a"], "dur_ns": [1000, 5000, 2000]})
    >>> [item.name for item in longest_by_name("kernel", events)]
    ['b', 'a']
    """
    longest = (
        events.group_by("name")
        .agg(pl.len().alias("calls"), pl.col("dur_ns").sum())
        .with_columns(pl.col("name").cast(pl.String).fill_null(""))
        .sort("dur_ns", "name", descending=[True, False])
        .head(most)
    )
    return tuple(
        Evidence(kind, name, {"calls": calls, "total_us": ns / 1000})
        for name, calls, ns in longest.rows()
    )
