"""Which calls ran in which cycle, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.behaviour.functions import (
    NOT_COUNTED,
    SCHEDULED,
    STEP_MARK,
    device_classes,
    function_name,
    functions_of,
    host_classes,
)
from timesink.analyses.columns import (
    device_columns,
    device_names,
    encode,
    host_columns,
    host_lanes,
    host_names,
    host_processes,
    start_and_end,
)
from timesink.analyses.cycles.spans import Cycles, host_spans
from timesink.analyses.forest import nest_calls
from timesink.analyses.links import link_launches
from timesink.model import intervals
from timesink.model.arrays import exclusive_cumsum, ragged_ranges, sums_by
from timesink.model.intervals import Flags, IntervalSet, Ints
from timesink.model.nested_calls import pre_order
from timesink.model.trace import Trace
from timesink.recorder.folder import CUT_MARK

OUTSIDE = -1


class Windows(msgspec.Struct, frozen=True, eq=False):
    """The cycles of one process, in time order."""

    row: Ints
    """Row in the table of cycles."""
    start: Ints
    end: Ints

    @property
    def ranges(self) -> IntervalSet:
        return np.stack([self.start, self.end]).T

    def holding(self, moment: Ints) -> Ints:
        """Row of the cycle that holds each moment, `OUTSIDE` where none does."""
        return np.append(self.row, OUTSIDE)[
            intervals.enclosing_interval(moment, self.start, self.end)
        ]

    def take(self, chosen: Flags) -> Windows:
        """Some of the cycles."""
        return Windows(self.row[chosen], self.start[chosen], self.end[chosen])

    def cut(self, start: Ints, end: Ints) -> Pieces:
        """Calls cut at the borders of cycles; what lies outside of all is left out."""
        # A call without length lies in one cycle all the same.
        first = np.searchsorted(np.maximum.accumulate(self.end), start, side="right")
        beyond = np.searchsorted(self.start, np.maximum(end, start + 1), side="left")
        count = np.maximum(beyond - first, 0)
        call, place = np.repeat(np.arange(len(start)), count), ragged_ranges(first, count)
        return Pieces(
            call=call,
            row=self.row[place],
            start=np.maximum(start[call], self.start[place]),
            end=np.minimum(end[call], self.end[place]),
            first_piece=exclusive_cumsum(count),
            first_window=first,
            window=place,
        )


class Pieces(msgspec.Struct, frozen=True, eq=False):
    """Parts of calls that lie in one cycle each, call by call in time order."""

    call: Ints
    row: Ints
    """Row in the table of cycles."""
    start: Ints
    end: Ints
    first_piece: Ints
    """For each call: its first piece."""
    first_window: Ints
    """For each call: the window of its first piece."""
    window: Ints
    """For each piece: its window."""


def windows_by_process(cycles: Cycles) -> dict[str, Windows]:
    """For each process that has cycles, when its host was at each: which calls are of which."""
    return _by_process(host_spans(cycles))


def step_windows_by_process(cycles: Cycles) -> dict[str, Windows]:
    """For each process that has cycles, the time that each of them takes."""
    return _by_process(cycles.table)


def _by_process(table: pl.DataFrame) -> dict[str, Windows]:
    process, pids = encode(table["pid"])
    start, end = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
    order = np.argsort(start, kind="stable")
    rows_of = {pid or "": order[process[order] == code] for code, pid in enumerate(pids)}
    # The process whose first cycle starts first comes first.
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    by_start = sorted(rows_of.items(), key=lambda item: int(places[item[1][0]]))
    return {pid: Windows(rows, start[rows], end[rows]) for pid, rows in by_start}


HOST_NUMBER = -1
"""Device of what ran on the processors."""
NO_NUMBER = -2
"""Device of work whose device is not recorded."""


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """Calls, or parts of calls, inside of cycles; arrays have one entry each."""

    row: Ints
    """Cycle: row in the table of cycles."""
    function: Ints
    """Place in a list of functions."""
    function_class: NDArray[np.int8]
    """Place in `FUNCTION_CLASSES`."""
    device: Ints
    """Device number, `HOST_NUMBER` or `NO_NUMBER`."""
    start: Ints
    end: Ints
    time: Ints
    """Time that counts for the function: on the host without the time of what it called."""
    calls: Ints
    """1, or 0 for the continuation of a call that began in a cycle before."""

    def __len__(self) -> int:
        return len(self.row)

    def take(self, chosen: NDArray[Any]) -> Calls:
        return Calls(*(getattr(self, field.name)[chosen] for field in fields(self)))


def concat_calls(parts: Sequence[Calls]) -> Calls:
    """All calls of several lists."""
    columns = (
        np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Calls)
    )
    return Calls(*columns)


class CycleWork(msgspec.Struct, frozen=True, eq=False):
    """Calls inside of cycles, what their functions are called, and what was left out."""

    calls: Calls
    functions: Sequence[str]
    outside: int
    """Calls outside of all cycles."""
    outside_ns: int
    total: int
    """Calls in all."""
    total_ns: int
    by_time: int = 0
    """Device work without a launching call, given to the cycle in which it started."""
    without_cycles: tuple[str, ...] = ()
    """Processes that have no cycles."""


def device_work(trace: Trace, cycles: Cycles) -> CycleWork:
    """Device work by the cycle that holds its launch; without one, by its own start."""
    device = device_columns(trace)
    counted = np.flatnonzero(device_classes(trace) != NOT_COUNTED)
    start = device["ts_ns"].to_numpy()[counted]
    time = device["dur_ns"].to_numpy()[counted]
    by_launch = not cycles.on_device
    linked = (link_launches(trace).call_row[counted] >= 0) & by_launch
    _, row = cycle_of_device(trace, cycles, counted)
    functions = functions_of(device_names(trace))
    number = device["device"].cast(pl.Int64)
    numbers = (number.fill_null(NO_NUMBER) if number.null_count() else number).to_numpy()
    every = Calls(
        row=row,
        function=functions.codes[counted],
        function_class=device_classes(trace)[counted],
        device=numbers[counted],
        start=start,
        end=start + time,
        time=time,
        calls=np.ones(len(row), dtype=np.int64),
    )
    inside = row != OUTSIDE
    return CycleWork(
        calls=every.take(inside),
        functions=functions.texts,
        outside=int((~inside).sum()),
        outside_ns=int(time[~inside].sum()),
        total=len(row),
        total_ns=int(time.sum()),
        by_time=int((inside & ~linked).sum()) if by_launch else 0,
    )


def cycle_of_device(trace: Trace, cycles: Cycles, rows: NDArray[np.intp]) -> tuple[Ints, Ints]:
    """Process and cycle of some device work, given by row: places and rows, or `OUTSIDE`.

    It is of the cycle whose host launched it; without a recorded launch, or where cycles are times
    of the device, of the one in whose time it starts.
    """
    windows, in_time = windows_by_process(cycles), step_windows_by_process(cycles)
    launch = link_launches(trace).call_row[rows]
    start = device_columns(trace)["ts_ns"].to_numpy()[rows]
    process = process_of_device(trace, list(windows), rows, launch)
    linked = (launch >= 0) & (not cycles.on_device)
    cycle = np.full(len(rows), OUTSIDE, dtype=np.int64)
    launched = host_columns(trace)["ts_ns"].to_numpy()
    for number, pid in enumerate(windows):
        mine = process == number
        by_launch, by_start = np.flatnonzero(mine & linked), np.flatnonzero(mine & ~linked)
        cycle[by_launch] = windows[pid].holding(launched[launch[by_launch]])
        cycle[by_start] = in_time[pid].holding(start[by_start])
    return process, cycle


def process_of_device(
    trace: Trace, processes: Sequence[str], counted: NDArray[np.intp], launch: Ints
) -> Ints:
    """Place of the process whose work it is: that of the launch, its own, or the only one."""
    place_of_pid = {pid: number for number, pid in enumerate(processes)}
    device_pid, own_texts = encode(device_columns(trace)["pid"])
    only = 0 if len(processes) == 1 else OUTSIDE
    places = np.array([place_of_pid.get(text or "", only) for text in own_texts] or [only])[
        device_pid[counted]
    ]
    linked = np.flatnonzero(launch >= 0)
    if len(linked):
        callers = host_processes(trace)
        of_launch = np.array([place_of_pid.get(text, OUTSIDE) for text in callers.texts])
        by_launch = of_launch[callers.codes[launch[linked]]]
        # Where launching processes have cycles of their own, work of another is not theirs.
        launchers = set(callers.texts) & set(place_of_pid)
        certain = (by_launch != OUTSIDE) | bool(launchers)
        places[linked] = np.where(certain, by_launch, places[linked])
    return places.astype(np.int64)


def host_work(
    trace: Trace,
    windows: Mapping[str, Windows],
    classes: NDArray[np.int8],
    marks: frozenset[str] = frozenset(),
) -> CycleWork:
    """Host calls cut at the borders of cycles, with the time they do not spend in others.

    `classes` are those of all host events, `marks` the names of what marks cycles.
    """
    process, absent = process_of_host(trace, list(windows))
    scheduled = np.isin(classes, SCHEDULED)
    counted = (classes != NOT_COUNTED) & (process != OUTSIDE)
    functions = functions_of(host_names(trace), marks)
    none = np.zeros(0, dtype=np.int64)
    parts = [Calls(none, none, none.astype(np.int8), none, none, none, none, none)]
    touched = np.zeros(len(classes), dtype=np.bool_)
    for number, window in enumerate(windows.values()):
        mine = counted & (process == number)
        for rows, nested in ((mine & ~scheduled, True), (mine & scheduled, False)):
            part, reached = _pieces(trace, np.flatnonzero(rows), window, nested=nested)
            parts.append(part)
            touched[reached] = True
    calls = concat_calls(parts)
    time = host_columns(trace)["dur_ns"].to_numpy()
    return CycleWork(
        calls=replace(
            calls, function=functions.codes[calls.function], function_class=classes[calls.function]
        ),
        functions=functions.texts,
        outside=int((counted & ~touched).sum()),
        outside_ns=int(time[counted & ~touched].sum()),
        total=int(counted.sum()),
        total_ns=int(time[counted].sum()),
        without_cycles=absent,
    )


def process_of_host(trace: Trace, processes: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Place of each host event's process, and the processes that have no cycles."""
    place_of_pid = {pid: number for number, pid in enumerate(processes)}
    recorded = host_processes(trace)
    counted = np.bincount(recorded.codes[host_classes(trace) != NOT_COUNTED])
    working = [recorded.texts[code] for code in np.flatnonzero(counted).tolist()]
    # Cycles of a kernel sequence belong to a device; the only process there is drives it.
    drives = len(processes) == 1 and len(working) == 1 and working[0] not in place_of_pid
    table = [0 if drives else place_of_pid.get(text, OUTSIDE) for text in recorded.texts]
    absent = () if drives else tuple(sorted(pid for pid in working if pid not in place_of_pid))
    return np.array(table or [OUTSIDE], dtype=np.int64)[recorded.codes], absent


def _pieces(
    trace: Trace, rows: NDArray[np.intp], window: Windows, *, nested: bool
) -> tuple[Calls, NDArray[np.intp]]:
    """Calls of one process in its cycles; `function` is the row in the host table for now."""
    host = host_columns(trace)
    start, end = start_and_end(host, rows)
    own_start, parent = start, np.full(len(rows), -1, dtype=np.int64)
    if nested and len(rows):
        thread = np.unique(host_lanes(trace)[0][rows], return_inverse=True)[1]
        order = pre_order(thread, start, end)
        rows, start, end = rows[order], start[order], end[order]
        nesting = nest_calls(thread[order], start, end)
        own_start, parent = np.minimum(nesting.self_start, end), nesting.parent
    pieces = window.cut(start, end)
    # Time of each piece that is not inside of a callee: a call less its callees' pieces there.
    time = np.maximum(pieces.end - np.maximum(pieces.start, own_start[pieces.call]), 0)
    caller = parent[pieces.call]
    called = np.flatnonzero(caller >= 0)
    if len(called):
        caller = caller[called]
        place = pieces.first_piece[caller] + pieces.window[called] - pieces.first_window[caller]
        time = np.maximum(time - sums_by(place, time[called], len(time)), 0)
    calls = Calls(
        row=pieces.row,
        function=rows[pieces.call],
        function_class=np.zeros(len(pieces.call), dtype=np.int8),
        device=np.full(len(pieces.call), HOST_NUMBER, dtype=np.int64),
        start=pieces.start,
        end=pieces.end,
        time=time,
        calls=(pieces.window == pieces.first_window[pieces.call]).astype(np.int64),
    )
    idle = (calls.time == 0) & (calls.calls == 0)
    return calls.take(~idle), rows[pieces.call]


_BY_FUNCTION = "function"


def without_recorders_ranges(trace: Trace, cycles: Cycles) -> Trace:
    """The trace without its recorder's marks of cycles, where cycles go by something else.

    These are the steps of the profiler and, where it was told of a function, a range around each
    call of that.  A recording of the same program that tells cycles apart in another way has none,
    so they explain no difference between the two.
    """
    run = trace.metadata.run
    if run is None:
        return trace
    mark_names = {STEP_MARK, CUT_MARK}
    if run.cycles.by == _BY_FUNCTION and run.cycles.name:
        mark_names.add(run.cycles.name)
    mark_names -= {function_name(name) for name in cycles.table["name"].drop_nulls().unique()}
    is_range = (host_columns(trace)["kind"] == "annotation").to_numpy()
    is_own = is_range & host_names(trace).matching(lambda name: function_name(name) in mark_names)
    if not is_own.any():
        return trace
    host = trace.host.filter(pl.Series(~is_own))
    return replace(trace, frames={**trace.frames, "host": host.lazy()})
