"""What a rank does while it does not wait for others: the time that can make others wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import TypeAlias

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import (
    Texts,
    device_columns,
    device_kinds,
    device_names,
    encode,
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    start_and_end,
)
from timesink.analyses.communication_calls import decode_list
from timesink.analyses.device_activities import device_activities
from timesink.analyses.device_utilisation import COMMUNICATION, COMPUTATION, activity_classes
from timesink.analyses.kernels.families import normalised_name
from timesink.analyses.kernels.table import launched_blocks
from timesink.analyses.names import is_profiler_step
from timesink.analyses.steps import is_communication, role_ranges
from timesink.model import intervals, vendors
from timesink.model.intervals import Flags, Floats, IntervalSet, Ints
from timesink.model.schema import KERNEL_KINDS
from timesink.model.trace import Trace

ON_DEVICE = ("kernel", "memcpy", "memset")
ON_HOST = ("data_loader", "runtime", "cpu_exec")
OWN_PARTS = (*ON_DEVICE, *ON_HOST, "idle")
"""What own time is spent on, in order of priority; `idle` is what no recorded call covers."""
HOST_PARTS = ("runtime", "cpu_exec", "idle")
"""The host keeps the device waiting, and not for data."""
GAP_COLUMNS = {"longest_gap_ns": pl.Int64(), "gap_start_ns": pl.Int64(), "gap_in": pl.String()}


class OwnTime(msgspec.Struct, frozen=True, eq=False):
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
    talking = find_blocked_ranges(intervals.merge(np.concatenate(working)), moving)
    layers = {part: roles[part] for part in ON_DEVICE}
    layers["exposed"] = talking
    layers |= {part: roles[part] for part in ON_HOST}
    parts, parts["idle"] = intervals.waterfall(layers, bounds)
    del parts["exposed"]
    busy = [roles[part] for part in (*ON_DEVICE, "data_loader")]
    return OwnTime(parts, talking, intervals.merge(np.concatenate([*busy, moving])))


def find_blocked_ranges(working: IntervalSet, moving: IntervalSet) -> IntervalSet:
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


def step_unions(trace: Trace, moving: IntervalSet, bounds: IntervalSet) -> dict[str, Ints]:
    """How long each step computed, communicated, did one without the other, or neither.

    Lengths of unions over all devices of the rank, in nanoseconds, by the classes that the table
    of overlap has.  `moving` counts as communication where no kernel communicates: the host moves
    the data then.  Without any kernel, operators are what computes.
    """
    activities = device_activities(trace)
    spans = np.stack([activities.start, activities.end], axis=1)
    classes, kinds = activity_classes(trace)[activities.row], device_kinds(trace)
    computing, talking = spans[classes == COMPUTATION], spans[classes == COMMUNICATION]
    if not kinds.among(*KERNEL_KINDS).any():
        computing = role_ranges(trace)["cpu_exec"]
    if not (is_communication(trace) & kinds.among(*KERNEL_KINDS)).any():
        talking = moving
    computing, talking = intervals.merge(computing), intervals.merge(talking)
    # Without a device a host that computes is at work, too.
    active = intervals.merge(np.concatenate([spans, computing, talking]))
    compute, communication, overlap, busy = (
        intervals.coverage_within(ranges, bounds)
        for ranges in (computing, talking, intervals.intersect(computing, talking), active)
    )
    return {
        "compute_ns": compute,
        "communication_ns": communication,
        "exposed_communication_ns": communication - overlap,
        "overlap_ns": overlap,
        "idle_ns": bounds[:, 1] - bounds[:, 0] - busy,
    }


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
    named, (starts, ends) = host_names(trace), start_and_end(host_columns(trace))
    for start, end in bounds.tolist():
        free = intervals.subtract(np.array([[start, end]]), intervals.clip(busy, start, end))
        if not len(free):
            rows.append((0, start, None))
            continue
        first, last = free[np.argmax(free[:, 1] - free[:, 0])].tolist()
        rows.append((last - first, first, _call_around(named, starts, ends, first, last)))
    return pl.DataFrame(rows, schema=GAP_COLUMNS, orient="row")


def _call_around(named: Texts, starts: Ints, ends: Ints, start: int, end: int) -> str | None:
    """The shortest that covers most of a stretch, else the last one that ended before it."""
    # Whoever covers most of it covers its middle.
    middle = (start + end) // 2
    near = np.flatnonzero((starts <= middle) & (ends >= middle))
    length = ends[near] - starts[near]
    common = np.minimum(ends[near], end) - np.maximum(starts[near], start)
    around = np.flatnonzero(2 * common > end - start)
    for place in around[np.argsort(length[around])]:
        name: str = named.texts[named.codes[near[place]]]
        if not is_profiler_step(name) and length[place] < 2 * (end - start):
            return name
    before = np.flatnonzero((ends <= start) & (ends > starts))
    if not len(before):
        return None
    return f"after {named.texts[named.codes[before[np.argmax(ends[before])]]]}"


# How much operators are given to do, by the shapes of their inputs: for runs without a device.


def work_of_shapes(text: str) -> float:
    """The product of all sizes, of which those that inputs share count once.

    For a product of matrices, and for what goes element by element, this grows with the work.
    """
    sizes: Counter[int] = Counter()
    for shape in decode_list(text):
        if isinstance(shape, list) and all(isinstance(size, int) for size in shape):
            sizes |= Counter(shape)
    return float(prod(sizes.elements())) if sizes else 0.0


# What each function of a rank did in all of its steps: a row per function, never per call.

PLACES = ("kernel", "copy", "host", "loading", "waiting")
FUNCTION_SCHEMA: dict[str, pl.DataType] = {
    "place": pl.Enum(PLACES),
    "function": pl.String(),
    **dict.fromkeys(("calls", "dur_ns"), pl.Int64()),
    **dict.fromkeys(("typical_ns", "work"), pl.Float64()),
}
"""`typical_ns` is the median of the calls, `work` the blocks or bytes they were given; of
operators, where there is no device, what the shapes of their inputs tell."""


def function_times(trace: Trace, bounds: IntervalSet) -> pl.DataFrame:
    """Rows of `FUNCTION_SCHEMA`: kernels, copies and host calls that start in the steps."""
    codes: dict[str, int] = {}
    parts = []
    for events, named, rows, place, work in (
        _device_calls(trace, bounds),
        _host_calls(trace, bounds),
    ):
        # A number for place and function: numbers are grouped faster than texts.
        plain = [codes.setdefault(normalised_name(text), len(codes)) for text in named.texts]
        function = np.array(plain, dtype=np.int64)[named.codes[rows]] if len(rows) else rows
        what = function * len(PLACES) + place
        parts.append((what, events["dur_ns"].to_numpy()[rows], work))
    what, length, work = (np.concatenate(pair) for pair in zip(*parts, strict=True))
    table = (
        pl.DataFrame({"what": what, "length": length, "work": work})
        .group_by("what")
        .agg(
            calls=pl.len(),
            dur_ns=pl.col("length").sum(),
            typical_ns=pl.col("length").median(),
            work=pl.col("work").sum(),
        )
    )
    function, place = np.divmod(table["what"].to_numpy(), len(PLACES))
    return (
        table.with_columns(
            place=pl.Series(PLACES, dtype=pl.Enum(PLACES)).gather(place),
            function=pl.Series([*codes], dtype=pl.String).gather(function),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in FUNCTION_SCHEMA.items())
        .sort("place", "function")
    )


_Called: TypeAlias = tuple[pl.DataFrame, Texts, NDArray[np.intp], NDArray[np.intp], Floats]
"""Events and their names, the rows that count, and of each of these its place and its work."""


def _device_calls(trace: Trace, bounds: IntervalSet) -> _Called:
    device, kinds = device_columns(trace), device_kinds(trace)
    kernel = kinds.among("kernel") & ~is_communication(trace)
    rows = np.flatnonzero((kernel | kinds.among("memcpy", "memset")) & _inside(device, bounds))
    amount = pl.coalesce(pl.col("bytes").cast(pl.Float64), launched_blocks()).fill_null(0.0)
    work = trace.lazy("device").select(work=amount).collect()["work"].to_numpy()[rows]
    place = np.where(kernel[rows], PLACES.index("kernel"), PLACES.index("copy"))
    return device, device_names(trace), rows, place, work


def _host_calls(trace: Trace, bounds: IntervalSet) -> _Called:
    """Operators, runtime calls, those that wait for the device, and data loading."""
    host, named = host_columns(trace), host_names(trace)
    calls = host_kinds(trace).among("operator", "runtime", "driver")
    loads = named.matching(names.is_data_loader)
    waits = named.matching(vendors.waits_for_device) & calls
    waits[_made_by_collectives(trace, np.flatnonzero(waits))] = False
    silent = named.matching(vendors.is_collective_call) | named.matching(is_profiler_step)
    chosen = (calls & ~silent) | loads
    rows = np.flatnonzero(chosen & _inside(host, bounds))
    on_host, loading, waiting = (PLACES.index(name) for name in ("host", "loading", "waiting"))
    place = np.where(loads[rows], loading, np.where(waits[rows], waiting, on_host))
    work = np.zeros(len(rows))
    # Beside a device it is its kernels that tell how much there is to do.
    if not device_columns(trace).height:
        codes, texts = encode(trace.lazy("host").select("input_dims").collect()["input_dims"])
        amounts = np.array([work_of_shapes(text or "") for text in texts] or [0.0])
        work = amounts[codes[rows]]
    return host, named, rows, place, work


def _made_by_collectives(trace: Trace, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of some host rows that lie in a collective of their thread: the program waits not."""
    host = host_columns(trace)
    talking = host_names(trace).rows(vendors.is_collective_call)
    start, end = start_and_end(host)
    thread, _ = host_lanes(trace)
    inside = np.zeros(len(rows), dtype=np.bool_)
    for thread_code in np.intersect1d(thread[rows], thread[talking]):
        calls = talking[thread[talking] == thread_code]
        ranges = intervals.merge(np.stack([start[calls], end[calls]], axis=1))
        place = np.searchsorted(ranges[:, 0], start[rows], side="right") - 1
        inside |= (thread[rows] == thread_code) & (place >= 0) & (end[rows] <= ranges[place, 1])
    return rows[inside]


def _inside(events: pl.DataFrame, bounds: IntervalSet) -> Flags:
    """Which events start in a step; steps are in order and apart."""
    start = events["ts_ns"].to_numpy()
    return np.asarray(intervals.enclosing_interval(start, bounds[:, 0], bounds[:, 1]) >= 0)
