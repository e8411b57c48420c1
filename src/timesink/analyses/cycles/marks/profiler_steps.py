"""Cycles as the profiler marked them: one per step."""

from __future__ import annotations

import polars as pl

from timesink.analyses.cycles.reading import MIN_REPEATS, Reading, spans_of
from timesink.analyses.steps import find_steps, step_names
from timesink.model.trace import Trace

_ANCHOR = "ProfilerStep"


def profiler_steps(trace: Trace) -> Reading | None:
    """The steps of each process, as its host marked them; None where none are marked.

    A last step whose device work was not recorded is left out.
    """
    marks = _marks(trace)
    if marks.is_empty():
        return None
    whole, notes = _without_cut_step(trace, marks)
    spans = spans_of(
        whole["pid"].to_list(),
        [_ANCHOR] * whole.height,
        whole["start_ns"].to_numpy(),
        whole["end_ns"].to_numpy(),
        ["generic"] * whole.height,
    )
    return Reading("step", _ANCHOR, spans, 1.0, "the profiler marked its steps", notes)


def _marks(trace: Trace) -> pl.DataFrame:
    """Marks of each process; one thread marks, others that repeat a step add nothing."""
    marks = (
        trace.lazy("steps")
        .select(
            pl.col("pid").cast(pl.String).fill_null(""),
            pl.col("tid").cast(pl.String).fill_null(""),
            step_names().alias("step"),
            pl.col("ts_ns").alias("start_ns"),
            (pl.col("ts_ns") + pl.col("dur_ns")).alias("end_ns"),
        )
        .collect()
    )
    threads = marks.group_by("pid", "tid").agg(pl.len()).sort("pid", "len", "tid")
    busiest = threads.group_by("pid", maintain_order=True).last()
    return marks.join(busiest, on=["pid", "tid"], how="semi").sort("pid", "start_ns")


def _without_cut_step(trace: Trace, marks: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    steps = find_steps(trace)
    cut = steps.filter(~pl.col("complete"))["name"].to_list()
    whole = marks.filter(~pl.col("step").is_in(cut))
    if not cut or whole.height < MIN_REPEATS:
        return marks, ()
    lost = marks.height - whole.height
    return whole, (f"{lost} step{'s' * (lost > 1)} at the end cut by the recording, left out",)
