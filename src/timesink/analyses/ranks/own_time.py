"""What a rank does while it does not wait for others: the time that can make others wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import host_columns, host_names
from timesink.analyses.names import is_profiler_step
from timesink.analyses.texts import Texts
from timesink.model import intervals
from timesink.model.arrays import Ints
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

ON_DEVICE = ("kernel", "memcpy", "memset")
ON_HOST = ("data_loader", "runtime", "cpu_exec")
OWN_PARTS = (*ON_DEVICE, *ON_HOST, "idle")
"""What own time is spent on, in order of priority; `idle` is what no recorded call covers."""
HOST_PARTS = ("runtime", "cpu_exec", "idle")
"""The host keeps the device waiting, and not for data."""
GAP_COLUMNS = {"longest_gap_ns": pl.Int64(), "gap_start_ns": pl.Int64(), "gap_in": pl.String()}


@dataclass(frozen=True, slots=True, eq=False)
class OwnTime:
    """What a rank does by itself, and when it can do nothing but wait for others."""

    parts: dict[str, Ints]
    """Per step the time of each of `OWN_PARTS`, which add up to it with `exposed`."""
    exposed: IntervalSet
    """When the device did nothing until a collective was over: the rank waited for others."""
    busy: IntervalSet
    """When the device worked, or the rank communicated or loaded data."""


def own_time(
    roles: Mapping[str, IntervalSet],
    moving: IntervalSet,
    bounds: IntervalSet,
    *,
    on_host: IntervalSet | None = None,
) -> OwnTime:
    """Divide steps into parts; `moving` is when each collective moved data or waited to.

    Work of the device counts first, beside communication too: who has to wait anyway may as well
    work, and is none the later for it.  Collectives `on_host` copy from and to the device
    themselves: such a copy is no sign that a rank goes on.
    """
    copies = intervals.merge(roles["memcpy"])
    if on_host is not None and len(on_host):
        copies = intervals.subtract(copies, intervals.merge(on_host))
    working = [moving[:0], roles["kernel"], copies, roles["memset"]]
    talking = blocked(intervals.merge(np.concatenate(working)), moving)
    layers = {part: roles[part] for part in ON_DEVICE}
    layers["exposed"] = talking
    layers |= {part: roles[part] for part in ON_HOST}
    parts, parts["idle"] = intervals.waterfall(layers, bounds)
    del parts["exposed"]
    busy = [roles[part] for part in (*ON_DEVICE, "data_loader")]
    return OwnTime(parts, talking, intervals.merge(np.concatenate([*busy, moving])))


def blocked(working: IntervalSet, moving: IntervalSet) -> IntervalSet:
    """When a collective went on and the device had nothing to do until it was over.

    A device that goes on while a collective does was not waiting for it.  `working` is merged.
    """
    ends = np.sort(moving[:, 1])
    if not len(ends):
        return moving[:0]
    ever = min(int(moving.min()), int(working.min(initial=ends[0]))) - 1
    idle_from = np.concatenate([[ever], working[:, 1]])
    idle_to = np.concatenate([working[:, 0], [max(int(ends[-1]), int(idle_from[-1]))]])
    last = ends[np.maximum(np.searchsorted(ends, idle_to, side="right") - 1, 0)]
    waits = (last > idle_from) & (last <= idle_to)
    windows = np.stack([idle_from[waits], last[waits]], axis=1)
    return intervals.intersect(intervals.merge(moving), windows)


def own_time_before(moments: Ints, exposed: IntervalSet) -> Ints:
    """What a rank took by itself from each of the moments to the next; `moments` are in order."""
    windows = np.stack([moments[:-1], moments[1:]], axis=1)
    took: Ints = moments[1:] - moments[:-1]
    return took - intervals.coverage_within(exposed, windows)


def waited_for(ends: Ints, exposed: IntervalSet) -> Ints:
    """How much of the exposed time goes on until each of the collectives ends, by their ends."""
    order = np.argsort(ends, kind="stable")
    last = ends[order]
    before = np.concatenate([[min(exposed.min(initial=0), last.min(initial=0))], last])[:-1]
    waited = np.zeros(len(ends), dtype=np.int64)
    waited[order] = intervals.coverage_within(exposed, np.stack([before, last], axis=1))
    return waited


def longest_gaps(trace: Trace, busy: IntervalSet, bounds: IntervalSet) -> pl.DataFrame:
    """Per step the longest stretch in which only the host may have worked, and where it is."""
    rows: list[tuple[int, int, str | None]] = []
    calls = _Calls.of(trace)
    for start, end in bounds.tolist():
        free = intervals.subtract(np.array([[start, end]]), intervals.clip(busy, start, end))
        if not len(free):
            rows.append((0, start, None))
            continue
        first, last = free[np.argmax(free[:, 1] - free[:, 0])].tolist()
        rows.append((last - first, first, calls.around(first, last)))
    return pl.DataFrame(rows, schema=GAP_COLUMNS, orient="row")


@dataclass(frozen=True, slots=True, eq=False)
class _Calls:
    """Calls of the host."""

    named: Texts
    first: Ints
    last: Ints

    @classmethod
    def of(cls, trace: Trace) -> _Calls:
        host = host_columns(trace)
        first = host["ts_ns"].to_numpy()
        return cls(host_names(trace), first, first + host["dur_ns"].to_numpy())

    def around(self, start: int, end: int) -> str | None:
        """The shortest that covers most of a stretch, else the last one that ended before it."""
        # Whoever covers most of it covers its middle.
        middle = (start + end) // 2
        near = np.flatnonzero((self.first <= middle) & (self.last >= middle))
        first, last = self.first[near], self.last[near]
        length = last - first
        common = np.minimum(last, end) - np.maximum(first, start)
        around = np.flatnonzero(2 * common > end - start)
        for place in around[np.argsort(length[around])]:
            name = self._name(near[place])
            if not is_profiler_step(name) and length[place] < 2 * (end - start):
                return name
        before = np.flatnonzero((self.last <= start) & (self.last > self.first))
        return f"after {self._name(before[np.argmax(self.last[before])])}" if len(before) else None

    def _name(self, row: int) -> str:
        name: str = self.named.texts[self.named.codes[row]]
        return name
