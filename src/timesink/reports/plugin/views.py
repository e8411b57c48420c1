"""Which views have something to show for a trace."""

from __future__ import annotations

import polars as pl

from timesink.analyses.names import (
    LIGHTNING,
    LIGHTNING_MODULE,
    is_collective_call,
    is_collective_kernel,
)
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

VIEWS = (
    "Overview",
    "Operator",
    "Kernel",
    "Trace",
    "Distributed",
    "Memory",
    "Module",
    "Lightning",
)
"""Every view, in the order they are listed."""


def available_views(trace: Trace) -> list[str]:
    """Names of the views with data; one trace of a run is enough to tell."""
    lightning = trace.metadata.framework == LIGHTNING and any(
        name.startswith(LIGHTNING_MODULE) for name in _names(trace, "host")
    )
    communicates = (
        _has_rows(trace, "collectives")
        or any(is_collective_call(name) for name in _names(trace, "host"))
        or any(is_collective_kernel(name) for name in _names(trace, "device"))
    )
    has_data = {
        "Kernel": _has_rows(trace, "device", pl.col("kind").is_in(KERNEL_KINDS)),
        "Distributed": communicates,
        "Memory": _has_rows(trace, "memory"),
        "Module": not lightning and _has_rows(trace, "host", pl.col("kind") == "module"),
        "Lightning": lightning,
    }
    return [view for view in VIEWS if has_data.get(view, True)]


def _has_rows(trace: Trace, table: str, condition: pl.Expr | None = None) -> bool:
    rows = trace.lazy(table)
    if condition is not None:
        rows = rows.filter(condition)
    return bool(rows.select(pl.len() > 0).collect().item())


def _names(trace: Trace, table: str) -> list[str]:
    distinct = trace.lazy(table).select(pl.col("name").unique().cast(pl.String)).collect()
    return distinct.to_series().drop_nulls().to_list()
