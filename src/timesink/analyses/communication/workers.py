"""One worker reduced to a small summary, and all workers of a span compared from theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias
from weakref import ref

import polars as pl

from timesink.analyses.columns import device_columns
from timesink.analyses.communication.comparison import (
    Comparison,
    WorkerSummary,
    compare_workers,
)
from timesink.analyses.communication.records import communication_ranges, communication_records
from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import role_ranges
from timesink.analyses.steps import find_steps
from timesink.model import intervals
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

Workers: TypeAlias = tuple[tuple[str, ref[Trace]], ...]


@once_per_trace
def step_communication(trace: Trace) -> pl.DataFrame:
    """How much of each step is computation, communication, both or neither.

    Computation is what kernels do; where no kernel was recorded at all, what operators do.

    >>> import timesink
    >>> steps = step_communication(timesink.open(timesink.sample()))
    >>> bool((steps["overlap_ns"] <= steps["computation_ns"]).all())
    True
    """
    steps, roles = find_steps(trace), role_ranges(trace)
    has_kernels = bool(device_columns(trace)["kind"].is_in(KERNEL_KINDS).any())
    computing = roles["kernel" if has_kernels else "cpu_exec"]
    talking = roles["communication"]
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    parts = {
        "computation_ns": computing,
        "communication_ns": talking,
        "overlap_ns": intervals.intersect(computing, talking),
    }
    total = pl.col("end_ns") - pl.col("start_ns")
    either = pl.col("computation_ns") + pl.col("communication_ns") - pl.col("overlap_ns")
    return (
        steps.select("name", "start_ns", "end_ns", "complete", "marked")
        .with_columns(
            *(
                pl.Series(name, intervals.coverage_within(ranges, bounds))
                for name, ranges in parts.items()
            )
        )
        .with_columns(other_ns=total - either)
    )


@once_per_trace
def summarise_worker(trace: Trace) -> WorkerSummary:
    """Reduce a trace to what comparing it with other workers needs."""
    return WorkerSummary(
        rank=trace.metadata.distributed.rank,
        steps=step_communication(trace),
        records=communication_records(trace),
        ranges=communication_ranges(trace),
    )


# -- all workers of a span -------------------------------------------------------------------------


def compared(traces: Mapping[str, Trace]) -> Comparison:
    """The communication of all workers, matched call by call; found once for the same traces."""
    first = next(iter(traces.values()))
    return _compared(first, tuple((worker, ref(trace)) for worker, trace in traces.items()))


@once_per_trace
def _compared(_first: Trace, workers: Workers) -> Comparison:
    # Weak references: an answer kept with the first trace must not keep the others alive.
    alive = {worker: trace for worker, place in workers if (trace := place()) is not None}
    return compare_workers({worker: summarise_worker(trace) for worker, trace in alive.items()})


def worker_steps(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Communication of every worker in every step: waiting and transfer.

    >>> import timesink
    >>> worker_steps({"worker0": timesink.open(timesink.sample())}).columns[:2]
    ['worker', 'step']
    """
    return compared(traces).by_step


def collective_statistics(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Calls, sizes, latency, transfer and bandwidth of every collective on every worker."""
    return compared(traces).by_name


def mismatched_calls(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Collective calls that some workers made and others did not."""
    return compared(traces).mismatches
