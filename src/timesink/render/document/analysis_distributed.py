"""Workers side by side: who waits, what is communicated, and whether work goes on meanwhile."""

from __future__ import annotations

import polars as pl

from timesink.analyses.communication.comparison import mean_over_steps
from timesink.analyses.communication.workers import step_communication
from timesink.output.blocks import Section, StackPart, Stacks
from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.render.document.analysis_steps import grouped_lead, stacks
from timesink.reports.absent import NO_COMMUNICATION

_MOST_BARS = 64
"""Workers beyond this are told by tables."""


def workers_section(run: Analysed) -> Made:
    """How much of a step each worker transfers and waits."""
    steps = run.frame("workers")
    if steps.is_empty():
        return Empty("workers", "Workers", NO_COMMUNICATION)
    tables = (run.table("collective-statistics"), run.table("workers"))
    if not run.analysis.is_set:
        lead = "Of a single worker nobody can tell how long it waited."
        return Section("workers", "Workers", tables, lead)
    # Steps come by worker, in the order of ranks.
    means = mean_over_steps(steps, "transfer_ns", "waiting_ns")
    if means.height > _MOST_BARS:
        return Section("workers", "Workers", tables)
    bars = Stacks(
        "Communication of an average step",
        "time_ns",
        tuple(means["worker"].to_list()),
        (
            StackPart("communication", "transfer", _values(means["transfer_ns"])),
            StackPart("idle", "waiting for others", _values(means["waiting_ns"])),
        ),
    )
    return Section("workers", "Workers", (bars, *tables), "Who waits least is mostly waited for.")


def overlap_section(run: Analysed) -> Made:
    """How much communication each step hides behind computation."""
    title = "Communication and computation"
    steps = step_communication(run.trace)
    if not steps["communication_ns"].sum():
        return Empty("overlap", title, NO_COMMUNICATION)
    both = pl.col("overlap_ns")
    parts = steps.select(
        "name",
        (pl.col("computation_ns") - both).alias("kernel_ns"),
        both.alias("5_ns"),
        (pl.col("communication_ns") - both).alias("communication_ns"),
        "other_ns",
    )
    said = {
        "kernel_ns": "computation alone",
        "5_ns": "both at once",
        "communication_ns": "communication alone",
        "other_ns": "neither",
    }
    bars = stacks("Steps by what went on", parts, "name", said)
    return Section("overlap", title, (bars,), grouped_lead(steps.height))


def _values(column: pl.Series) -> tuple[float, ...]:
    return tuple(column.fill_null(0).round(1).to_list())
