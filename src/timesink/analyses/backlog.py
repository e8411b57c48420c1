"""Whether a recording starts while its device still works on what was queued before.

Work that was launched reaches an idle device within microseconds.  Where the first of it starts
much later, and the recording shows nothing on any device meanwhile, the device was busy with work
that was launched before the recording began, or that belongs to another program.
"""

from __future__ import annotations

import msgspec
import numpy as np

from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_numbers,
    host_columns,
    memoize_per_trace,
    start_and_end,
)
from timesink.analyses.links import launching_calls
from timesink.model import intervals
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

LONGEST_LAUNCH_NS = 200_000
"""From the end of a launching call to the start of its work on an idle device: at most 45 us in the
public recordings of H100, B200, MI210 to MI300 and MLU that start with an idle device."""
MIN_BACKLOG_SHARE = 0.05
"""Of the time from the first launch to the last end: a shorter backlog changes no conclusion."""


class StartingBacklog(msgspec.Struct, frozen=True):
    """The wait of the first launched work for work that is not in the recording."""

    device: int
    launched_ns: int
    """When the first launching call had returned."""
    start_ns: int
    """When the first launched work started."""
    unrecorded_ns: int
    """How much of that time no device shows any work."""


@memoize_per_trace
def starting_backlog(trace: Trace) -> StartingBacklog | None:
    """The longest backlog with which a recording starts; None where devices were idle then."""
    columns, call = device_columns(trace), launching_calls(trace)
    is_busy = device_kinds(trace).among(*BUSY_KINDS)
    launched = np.flatnonzero(is_busy & (call >= 0))
    if not len(launched):
        return None
    start, end = start_and_end(columns, launched)
    call_end = start_and_end(host_columns(trace), call[launched])[1]
    device = device_numbers(trace)[launched]
    backlogs = []
    for number in np.unique(device).tolist():
        rows = np.flatnonzero(device == number)
        launched_ns, start_ns = int(call_end[rows].min()), int(start[rows].min())
        if start_ns - launched_ns <= LONGEST_LAUNCH_NS:
            continue
        wait = np.array([[launched_ns, start_ns]])
        work = np.stack(start_and_end(columns, np.flatnonzero(is_busy))).T
        unrecorded_ns = int(wait[0, 1] - wait[0, 0] - intervals.coverage_within(work, wait)[0])
        least_ns = MIN_BACKLOG_SHARE * (int(end[rows].max()) - launched_ns)
        if unrecorded_ns > max(LONGEST_LAUNCH_NS, least_ns):
            backlogs.append(StartingBacklog(number, launched_ns, start_ns, unrecorded_ns))
    return max(backlogs, key=lambda backlog: backlog.unrecorded_ns, default=None)
