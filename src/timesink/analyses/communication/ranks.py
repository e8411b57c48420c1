"""All workers of a span side by side: waiting, transfer, and calls without a partner."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from timesink.analyses.communication.workers import Comparison, compare_workers, summarise_worker
from timesink.model.trace import Trace


def compared(traces: Mapping[str, Trace]) -> Comparison:
    """The communication of all workers, matched call by call."""
    return compare_workers({worker: summarise_worker(trace) for worker, trace in traces.items()})


def worker_steps(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Computation, communication, waiting and transfer of every worker in every step.

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
