"""What the host does for the cycles of a crew, as ranges of time for each part."""

from __future__ import annotations

import re

import numpy as np

from timesink.analyses import names
from timesink.analyses.anatomy.anatomy import PART_OF_CLASS
from timesink.analyses.anatomy.threads import Crew, Rows
from timesink.analyses.behaviour.calls import process_of_host
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES
from timesink.analyses.behaviour.functions import ON_CPU, RUN_QUEUE, host_classes
from timesink.analyses.behaviour.untraced import WORK
from timesink.analyses.behaviour.waits import is_waiting_call
from timesink.analyses.behaviour.windows import Windows
from timesink.analyses.columns import event_ranges, host_columns, host_lanes, host_names
from timesink.model import intervals
from timesink.model.arrays import Flags
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

WAITING = "waiting"
"""Calls of the own thread that only wait, such as a sleep: nobody works, so this time is idle."""


def _places(*classes: str) -> tuple[int, ...]:
    return tuple(FUNCTION_CLASSES.index(name) for name in classes)


_SYNC, _COPY = _places("cpu_sync"), _places("cpu_copy")
_LAUNCH, _IO = (
    _places(*(name for name, part in PART_OF_CLASS.items() if part == wanted))
    for wanted in ("launch_gap", "io")
)
_MAY_WAIT = _places("cpu_python", "cpu_other")

_HOST_COLLECTIVE = re.compile(r"(?:gloo|mpi|ucc):")
"""Collectives the processors carry out; of others the host only launches kernels."""
_LOADER_FRAME = re.compile(r"\bdataloader\.py\(\d+\): __next__$|\bDataLoader\w*\.__next__$")


def is_loading(name: str) -> bool:
    """Whether a call fetches the next batch: an annotation or a Python function."""
    return names.is_data_loader(name) or _LOADER_FRAME.search(name) is not None


def is_host_collective(name: str) -> bool:
    """Whether the processors themselves carry out a collective."""
    return _HOST_COLLECTIVE.match(name) is not None


def host_ranges(trace: Trace, crew: Crew, marks: Flags) -> dict[str, IntervalSet]:
    """When the crew was at each part, in the order in which a moment counts for them.

    `marks` says of every host event whether it marks cycles: the mark is the cycle, and no call in
    it.  Parts may overlap.
    """
    classes, named = host_classes(trace), host_names(trace)
    own = crew.own[~marks[crew.own]]
    rows = np.concatenate([own, crew.instead])
    kind, loads = classes[rows], named.matching(is_loading)[rows]
    waits = named.matching(names.waits_for_device)[rows]
    sync = np.isin(kind, _SYNC) | (np.isin(kind, _COPY) & waits)
    sleeps = np.isin(kind, _MAY_WAIT) & named.matching(is_waiting_call)[rows]
    scheduled = np.flatnonzero(np.isin(host_lanes(trace)[0], crew.lanes))
    on_cpu, queued = (scheduled[classes[scheduled] == each] for each in (ON_CPU, RUN_QUEUE))
    return {
        "exposed_communication": _collectives(trace, crew),
        "synchronisation": _ranges(trace, rows[sync]),
        "data_loading": _ranges(trace, rows[loads]),
        "io": _ranges(trace, rows[np.isin(kind, _IO)]),
        "run_queue": _ranges(trace, queued),
        "launch_gap": _ranges(trace, rows[np.isin(kind, _LAUNCH) & ~sync]),
        WAITING: _ranges(trace, rows[sleeps]),
        "host_cpu": np.concatenate(
            [_inside(_ranges_apart(trace, own), crew.windows)]
            + [_ranges(trace, more) for more in (crew.instead, on_cpu)]
        ),
    }


def _inside(spans: IntervalSet, windows: Windows) -> IntervalSet:
    """Calls in each of the cycles, but for those that hold it: these tell nothing about it."""
    pieces = windows.cut(spans[:, 0], spans[:, 1])
    start, end = windows.start[pieces.window], windows.end[pieces.window]
    around = (spans[pieces.call, 0] <= start) & (spans[pieces.call, 1] >= end)
    some = ~around & (pieces.end > pieces.start)
    return np.stack([pieces.start[some], pieces.end[some]]).T


def _collectives(trace: Trace, crew: Crew) -> IntervalSet:
    """When processors communicated for the process and its own thread did not work meanwhile."""
    found = host_names(trace).rows(is_host_collective)
    if not len(found):
        return _ranges(trace, found)
    process, _ = process_of_host(trace, [crew.process])
    found = found[process[found] == 0]
    mine = np.isin(found, crew.own)
    work = crew.own[np.isin(host_classes(trace)[crew.own], WORK)]
    beside = intervals.subtract(_ranges(trace, found[~mine]), _ranges(trace, work))
    return intervals.merge(np.concatenate([_ranges(trace, found[mine]), beside]))


def _ranges(trace: Trace, rows: Rows) -> IntervalSet:
    return intervals.merge(_ranges_apart(trace, rows))


def _ranges_apart(trace: Trace, rows: Rows) -> IntervalSet:
    host = host_columns(trace)
    return event_ranges(host, rows)
