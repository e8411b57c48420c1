"""The long analyses of a large trace, started at once: what they share is found by the first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from timesink.analyses.call_times import node_times
from timesink.analyses.device.idle import idle_breakdown
from timesink.analyses.device.idle_causes import idle_causes
from timesink.analyses.device.launches import launch_statistics, queue_summary
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.model.trace import Trace
from timesink.rules.single_run import find_all

FEWEST_EVENTS = 100_000
"""Below this, starting threads takes longer than they save."""


def start_side_by_side(trace: Trace) -> None:
    """Do the host side and the device side of an analysis in two threads.

    The work is NumPy and Polars on whole columns, which runs outside the interpreter's lock.
    """
    if trace.metadata.events < FEWEST_EVENTS:
        return
    with ThreadPoolExecutor(2) as threads:
        sides = [threads.submit(side, trace) for side in (_host_side, _device_side)]
    for side in sides:
        side.result()


def _host_side(trace: Trace) -> None:
    node_times(trace)
    find_all(trace)


def _device_side(trace: Trace) -> None:
    for analysis in (kernel_table, device_utilisation, kernel_groups, launch_statistics):
        analysis(trace)
    queue_summary(trace)
    idle_causes(trace)
    idle_breakdown(trace)
