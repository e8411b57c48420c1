"""Host calls of every kind, cut at their borders: between two borders a thread does one thing.

Calls in pre-order, each with its start and its end, are an Euler tour: the places of all borders
follow from depths and sizes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from timesink.analyses.columns import (
    Codes,
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    once_per_trace,
    start_and_end,
)
from timesink.analyses.forest import NestedCalls, Nodes, nest_calls, pre_order
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_CALLS = (
    *("operator", "annotation", "python_function", "module", "runtime", "driver"),
    *("collective", "sync", "other"),
)
"""Host kinds that are calls; the rest frames or marks a recording."""


@dataclass(frozen=True, eq=False)
class RecordedCalls(NestedCalls):
    """Every host call of a trace, those of runtimes and of Python included."""

    row: Ints
    """Row in `trace.host`."""
    place: Ints
    """For each row of `trace.host` the call it is; -1 for what is none."""


@dataclass(frozen=True, eq=False)
class HostPoints:
    """Starts and ends of all calls, thread after thread, in the order in which they came."""

    calls: RecordedCalls
    time: Ints
    """When, as recorded; never earlier than the point before it on its thread."""
    owner: Nodes
    """The innermost call that goes on after the point; -1 where there is none."""
    call: Nodes
    """The call that starts or ends here."""
    is_start: Flags
    thread: Codes
    """Place in `calls.threads`."""
    start: Ints
    """For each call the point where it starts, and `end` where it ends."""
    end: Ints
    first: Ints
    """Where the points of each thread begin, and the number of all."""

    @property
    def length(self) -> Ints:
        """From each point to the next of its thread; 0 after the last."""
        length = np.diff(self.time, append=self.time[-1:])
        length[self.first[1:] - 1] = 0
        return length


@once_per_trace
def host_points(trace: Trace) -> HostPoints:
    """Cut the threads of a trace at the borders of their calls."""
    kinds = host_kinds(trace)
    row = np.flatnonzero(kinds.among(*_CALLS))
    lane, lanes = host_lanes(trace)
    start, end = start_and_end(host_columns(trace), row)
    used, thread = np.unique(lane[row], return_inverse=True)
    lanes = [lanes[number] for number in used.tolist()]
    order = pre_order(thread, start, end) if len(row) else row
    row, thread, start, end = row[order], thread[order], start[order], end[order]
    nest = nest_calls(thread, start, end)
    place = np.full(host_columns(trace).height, -1, dtype=np.int64)
    place[row] = np.arange(len(row))
    named = host_names(trace)
    calls = RecordedCalls(
        thread,
        start,
        end,
        nest.parent,
        nest.depth,
        named.codes[row],
        named.texts,
        lanes,
        row,
        place,
    )
    number = np.arange(len(row))
    starts = 2 * number - nest.depth
    ends = starts + 2 * calls.size - 1
    time, owner, call = (np.empty(2 * len(row), dtype=np.int64) for _ in range(3))
    is_start = np.zeros(2 * len(row), dtype=np.bool_)
    time[starts], time[ends] = start, end
    owner[starts], owner[ends] = number, nest.parent
    call[starts], call[ends] = number, number
    is_start[starts] = True
    first = np.append(np.flatnonzero(np.diff(thread[call], prepend=-1)), len(time))
    for low, high in pairwise(first):
        # A call that outlasts the one it began in begins after it.
        np.maximum.accumulate(time[low:high], out=time[low:high])
    return HostPoints(calls, time, owner, call, is_start, thread[call], starts, ends, first)
