"""One worker reduced to what comparing it with others needs."""

from __future__ import annotations

import polars as pl

from timesink.analyses.columns import device_kinds
from timesink.analyses.communication.comparison import WorkerSummary
from timesink.analyses.communication.records import communication_ranges, communication_records
from timesink.analyses.once import once_per_trace
from timesink.analyses.roles import role_ranges
from timesink.analyses.steps import bounds_of, find_steps
from timesink.model import intervals
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace


@once_per_trace
def step_communication(trace: Trace) -> pl.DataFrame:
    """How much of each step is computation, communication, both or neither.

    Computation is what kernels do; where no kernel was recorded at all, what operators do.
    """
    steps, roles = find_steps(trace), role_ranges(trace)
    has_kernels = bool(device_kinds(trace).among(*KERNEL_KINDS).any())
    computing = roles["kernel" if has_kernels else "cpu_exec"]
    talking = roles["communication"]
    bounds = bounds_of(steps)
    parts = {
        "computation_ns": computing,
        "communication_ns": talking,
        "overlap_ns": intervals.intersect(computing, talking),
    }
    covered = {name: intervals.coverage_within(ranges, bounds) for name, ranges in parts.items()}
    either = covered["computation_ns"] + covered["communication_ns"] - covered["overlap_ns"]
    covered["other_ns"] = bounds[:, 1] - bounds[:, 0] - either
    told = [steps[name] for name in ("name", "start_ns", "end_ns", "complete", "marked")]
    return pl.DataFrame([*told, *(pl.Series(name, values) for name, values in covered.items())])


@once_per_trace
def summarise_worker(trace: Trace) -> WorkerSummary:
    """Reduce a trace to what comparing it with other workers needs."""
    return WorkerSummary(
        rank=trace.metadata.distributed.rank,
        steps=step_communication(trace),
        records=communication_records(trace),
        ranges=communication_ranges(trace),
    )
