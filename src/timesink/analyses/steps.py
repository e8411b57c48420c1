"""Steps of a run, from the first host event to the last device activity they caused.

And what their time is spent on: kernels, copies, communication, calls, loading.  Threads and
devices are pooled for that: a range says that at least one of them was at it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.background import background_calls
from timesink.analyses.backlog import starting_backlog
from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    device_numbers,
    encode,
    event_ranges,
    host_columns,
    host_kinds,
    host_names,
    memoize_per_trace,
    memoize_structure,
    numbers,
    seed_memo,
    start_and_end,
)
from timesink.analyses.forest import call_forest, is_python_region
from timesink.analyses.links import link_launches, origin_rows
from timesink.errors import NotFoundError, UsageError
from timesink.model import intervals, vendors
from timesink.model.arrays import is_among
from timesink.model.intervals import Flags, IntervalSet, Ints
from timesink.model.launches import LAUNCH_KINDS
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace
from timesink.patterns import regex

_BEGINNING_OF_TIME = np.iinfo(np.int64).min

CUT_SHARE = 0.8
"""An edge step in which fewer of the launching calls have their device work was cut."""
_LAUNCHES = 0.9
"""A call launches device work where so many of its name do, in the steps between the edges."""
_MIN_LAST_MARK = 0.2
"""Of a usual step: a last mark that is shorter and holds no call is where recording stopped."""

SCHEMA: dict[str, pl.DataType] = {
    "name": pl.String(),
    **dict.fromkeys(("start_ns", "end_ns", "host_start_ns", "host_end_ns"), pl.Int64()),
    "device_events": pl.Int64(),
    **dict.fromkeys(("complete", "marked"), pl.Boolean()),
}


@memoize_per_trace
def find_steps(trace: Trace) -> pl.DataFrame:
    """One row per step.  A step lasts until its device work is done; the next starts after it.

    Without marks in the recording the whole of it is one step, named `0`, which begins with the
    first device work where the recording starts with a backlog.  A last step whose device work was
    not recorded is kept and marked as not `complete`; averages leave it out.
    """
    marks = _marked_steps(trace)
    steps = marks or _whole_trace(trace)
    if not steps:
        return pl.DataFrame(schema=SCHEMA)
    bounds = np.array([(start, end) for _, start, end in steps], dtype=np.int64)
    starts, ends, count = until_device_work(trace, bounds)
    backlog = None if marks else starting_backlog(trace)
    if backlog is not None and count.any():
        starts = np.minimum(np.maximum(starts, backlog.start_ns), ends)
    return pl.DataFrame(
        {
            "name": [name for name, _, _ in steps],
            "start_ns": starts,
            "end_ns": ends,
            "host_start_ns": bounds[:, 0].copy(),
            "host_end_ns": bounds[:, 1].copy(),
            "device_events": count,
            "complete": _complete(trace, bounds, count),
            "marked": np.full(len(steps), bool(marks)),
        },
        schema=SCHEMA,
    )


def until_device_work(
    trace: Trace, marks: Ints, chosen: Flags | None = None
) -> tuple[Ints, Ints, Ints]:
    """Starts and ends of steps, and how many device events each launched.

    `marks` are the starts and ends of what marks them on the host, in the order of their starts.  A
    step lasts until its device work is done, and the next one begins after that; the first after
    device work that was launched before it.  Without device work steps are as marked.  `chosen`
    says which rows of `trace.device` count, by default all.
    """
    count, last, warm_up_end = _device_reach(trace, marks, chosen)
    starts, ends = marks.T.copy()
    if count.any():
        # Steps end with their device work; what is left of one delays the next.
        free_from = max(int(starts[0]), warm_up_end)
        for step in range(len(marks)):
            starts[step] = max(free_from, int(starts[step]))
            ends[step] = max(int(ends[step]), int(last[step]), int(starts[step]))
            free_from = int(ends[step])
    return starts, ends, count


@memoize_per_trace
def complete_steps(trace: Trace) -> pl.DataFrame:
    """The steps that were recorded as a whole, which most questions are about."""
    return find_steps(trace).filter("complete")


def complete_lengths(trace: Trace) -> Ints:
    """How long the complete steps take, in ns; their mean is the step time of every answer."""
    complete = complete_steps(trace)
    return (complete["end_ns"] - complete["start_ns"]).to_numpy()


def bounds_of(rows: pl.DataFrame) -> Ints:
    """Start and end of each row, of steps or of whatever takes time."""
    return np.stack([rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()], axis=1)


def marks_of(steps: pl.DataFrame) -> Ints:
    """Start and end of what marks each step on the host."""
    return np.stack([steps["host_start_ns"].to_numpy(), steps["host_end_ns"].to_numpy()], axis=1)


def window(steps: pl.DataFrame) -> tuple[int, int]:
    """From the start of the first complete step to the last end; (0, 0) without steps."""
    complete = steps.filter("complete")
    if complete.is_empty():
        return (0, 0)
    return int(complete["start_ns"][0]), int(complete["end_ns"].to_numpy().max())


def step_at(start: Ints, end: Ints, bounds: Ints) -> Ints:
    """The latest step, or other range, that holds a stretch of time wholly; -1 where none does.

    `bounds` are the starts and ends of the steps, in the order of their starts.
    """
    step = np.searchsorted(bounds[:, 0], start, side="right") - 1
    # A step inside another, or one that overlaps it: an earlier one may still hold it.
    missed = np.flatnonzero((step >= 0) & (bounds[step, 1] < end)) if len(bounds) else step[:0]
    if len(missed):
        # Entry i of maxima[k] is the latest of the 2**k ends up to i.
        maxima, width = [bounds[:, 1]], 1
        while 2 * width <= len(bounds):
            wider = maxima[-1].copy()
            np.maximum(wider[width:], maxima[-1][:-width], out=wider[width:])
            maxima.append(wider)
            width *= 2
        place = step[missed]
        for exponent, latest in reversed(list(enumerate(maxima))):
            too_early = (place >= 0) & (latest[place] < end[missed])
            place -= np.where(too_early, 1 << exponent, 0)
        step[missed] = np.maximum(place, -1)
    return step


def step_of_launch(trace: Trace, rows: Ints, bounds: Ints) -> Ints:
    """The step in which some device events, given by row, were launched; -1 outside of all."""
    call = origin_rows(trace)[rows]
    step = np.full(len(rows), -1, dtype=np.int64)
    launched = np.flatnonzero(call >= 0)
    step[launched] = step_at(*start_and_end(host_columns(trace), call[launched]), bounds)
    return step


def step_names() -> pl.Expr:
    """The number of each mark as text; as written where it does not fit the column."""
    written = pl.col("name").cast(pl.String).str.strip_prefix("ProfilerStep#")
    return pl.coalesce(pl.col("step").cast(pl.String), written)


_HostStep: TypeAlias = tuple[str, int, int]
"""Name, start and end."""


def _marked_steps(trace: Trace) -> list[_HostStep]:
    """Marks in the order of their starts; those of one number that overlap are one step.

    Several processes in one recording mark the same steps, each for itself.  The names of marks may
    be lost.
    """
    marks = trace.steps.select(step_names().fill_null("?").alias("name"), "ts_ns", "dur_ns")
    steps: list[_HostStep] = []
    latest: dict[str, int] = {}
    for name, start, length in sorted(marks.iter_rows(), key=lambda mark: mark[1]):
        place = latest.get(name)
        if place is not None and start < steps[place][2]:
            _, first_start, end = steps[place]
            steps[place] = (name, first_start, max(end, start + length))
        else:
            latest[name] = len(steps)
            steps.append((name, start, start + length))
    return steps


def _whole_trace(trace: Trace) -> list[_HostStep]:
    """One step over the operators; over what else there is where no operator was recorded."""
    host, device, kinds = host_columns(trace), device_columns(trace), host_kinds(trace)
    counts = ~background_calls(trace)
    for events, chosen in (
        (host, (kinds.among("operator") | is_python_region(trace)) & counts),
        (host, kinds.among("annotation") & counts),
        (device, device_kinds(trace).among(*BUSY_KINDS)),
        (host, ~kinds.among("trace", "instant") & counts),
    ):
        rows = np.flatnonzero(chosen)
        if len(rows):
            start, end = start_and_end(events, rows)
            return [("0", int(start.min()), int(end.max()))]
    return []


def _device_reach(
    trace: Trace, bounds: Ints, chosen: Flags | None = None
) -> tuple[Ints, Ints, int]:
    """How much device work was launched inside each step, and when the last of it ended.

    The third is the end of the device work before the first step, as far as it belongs to none.
    """
    device = device_columns(trace)
    is_busy = device_kinds(trace).among(*BUSY_KINDS)
    busy = np.flatnonzero(is_busy if chosen is None else is_busy & chosen)
    start, end = start_and_end(device, busy)
    step = step_of_launch(trace, busy, bounds)
    inside = step >= 0
    last = np.full(len(bounds), _BEGINNING_OF_TIME)
    np.maximum.at(last, step[inside], end[inside])
    count = np.bincount(step[inside], minlength=len(bounds))
    before = end[:0]
    if count[0]:
        first = step == 0
        before = end[~inside & (end < start[first].min())]
        # A copy on a stream of its own does not wait for what the stream of the step still does.
        stream, _ = encode(device["stream"][busy])
        same = (device_numbers(trace)[busy], stream)
        busiest = _busiest(same, end - start, first)
        mine = np.logical_and(*(codes == code for codes, code in zip(same, busiest, strict=True)))
        left = end[~inside & mine & (end < start[first & mine].min())]
        before = np.concatenate([before, left])
    return count, last, int(before.max(initial=_BEGINNING_OF_TIME))


def _busiest(place: tuple[Ints, Ints], length: Ints, chosen: Flags) -> tuple[int, int]:
    """Device and stream that work longest on some events, each at a `place`."""
    device, stream = (codes[chosen] for codes in place)
    joint = (device - device.min()) * (int(stream.max()) + 1) + stream
    most = int(np.bincount(joint, length[chosen]).argmax())
    lane_row = int(np.flatnonzero(joint == most)[0])
    return int(device[lane_row]), int(stream[lane_row])


def _complete(trace: Trace, bounds: Ints, count: Ints) -> Flags:
    """Steps whose device work was recorded; all of them where no device work is known.

    A last step that does less than others is complete, unless it does nothing.
    """
    complete = np.ones(len(count), dtype=np.bool_)
    if len(count) < 2 or not count.any():
        return complete
    last = int(np.flatnonzero(count)[-1])
    complete[last + 1 :] = False
    if last > 0:
        complete[last] = not _lacks_work(trace, bounds, last, count)[last]
    return complete


@memoize_per_trace
def cut_steps(trace: Trace) -> Flags:
    """Which steps an end of the recording cuts: their calls are there, the work of these is not.

    At the end also a step of about the usual length without any call.  Only `complete` leaves
    these out of averages; of the first step what was recorded counts.
    """
    steps = find_steps(trace)
    count, cut = steps["device_events"].to_numpy(), np.zeros(steps.height, dtype=np.bool_)
    if steps.height < 2 or not count.any() or not steps["marked"][0]:
        return cut
    bounds = steps.select("host_start_ns", "host_end_ns").to_numpy()
    is_complete, last = steps["complete"].to_numpy(), int(np.flatnonzero(count)[-1])
    lacks = _lacks_work(trace, bounds, last, count)
    cut = lacks & ~is_complete
    cut[0] = lacks[0]
    length = bounds[:, 1] - bounds[:, 0]
    usual_ns = float(np.median(length[is_complete])) if is_complete.any() else 0.0
    calls = host_kinds(trace).among("operator", *LAUNCH_KINDS)
    calls &= ~host_names(trace).matching(names.is_profiler_step)
    within = step_at(*start_and_end(host_columns(trace), np.flatnonzero(calls)), bounds)
    is_empty = ~is_among(np.arange(len(bounds)), within)
    return np.asarray(cut | (~is_complete & is_empty & (length > _MIN_LAST_MARK * usual_ns)))


def _lacks_work(trace: Trace, bounds: Ints, last: int, count: Ints) -> Flags:
    """Steps with calls that launch device work in the steps between the edges, and here did not.

    `last` is the last step with device work.  What does less calls less, and lacks nothing.  Where
    most device work has no launch in the recording, nothing tells.
    """
    lacks = np.zeros(len(count), dtype=np.bool_)
    origins = origin_rows(trace)[device_kinds(trace).among(*BUSY_KINDS)]
    if 2 * int((origins >= 0).sum()) < len(origins):
        return lacks
    host, codes = host_columns(trace), host_names(trace).codes
    worked = np.zeros(len(codes), dtype=np.bool_)
    worked[origins[origins >= 0]] = True
    launching = np.unique(codes[worked])
    rows = np.flatnonzero(is_among(codes, launching))
    step = step_at(*start_and_end(host, rows), bounds)
    rows, step = rows[step >= 0], step[step >= 0]
    place = step * len(launching) + np.searchsorted(launching, codes[rows])
    launched, done = (
        np.bincount(chosen, minlength=len(bounds) * len(launching)).reshape(len(bounds), -1)
        for chosen in (place, place[worked[rows]])
    )
    between = np.arange(1, last)
    for edge in (0, *range(max(last, 1), len(count))):
        other_steps = between if len(between) else np.array([0 if edge else last])
        usual_made, usual_done = launched[other_steps].sum(axis=0), done[other_steps].sum(axis=0)
        tells = (usual_done > 0) & (usual_done >= _LAUNCHES * usual_made)
        lacks[edge] = done[edge, tells].sum() < CUT_SHARE * launched[edge, tells].sum()
    return lacks


# What the time of a run is spent on, as ranges.

ROLES = ("kernel", "memcpy", "memset", "communication", "runtime", "data_loader", "cpu_exec")
"""In order of priority: a moment counts for the first role that covers it."""


@memoize_per_trace
def role_ranges(trace: Trace) -> dict[str, IntervalSet]:
    """When each role was active, as disjoint ranges in time order."""
    device, host = device_columns(trace), host_columns(trace)
    talks = is_communication(trace)
    kinds = device_kinds(trace)
    # Calls inside others of their purpose add nothing to the ranges.
    forest, calls = call_forest(trace), _host_calls(trace).copy()
    callees = np.flatnonzero((forest.parent >= 0) & ~forest.crossing)
    rows, callers = forest.row[callees], forest.row[forest.parent[callees]]
    calls[rows[calls[rows] == calls[callers]]] = _NO_WORK
    calls[background_calls(trace)] = _NO_WORK
    launching = host_kinds(trace).among(*LAUNCH_KINDS) & ~background_calls(trace)
    parts = {
        "kernel": [event_ranges(device, kinds.among("kernel") & ~talks)],
        "memcpy": [event_ranges(device, kinds.among("memcpy") & ~talks)],
        "memset": [event_ranges(device, kinds.among("memset"))],
        "communication": [event_ranges(device, talks), event_ranges(host, calls == _COMMUNICATION)],
        "runtime": [event_ranges(host, launching)],
        "data_loader": [event_ranges(host, calls == _DATA_LOADER)],
        "cpu_exec": [event_ranges(host, calls == _OTHER)],
    }
    return {role: intervals.merge(np.concatenate(ranges)) for role, ranges in parts.items()}


@memoize_structure
def is_communication(trace: Trace) -> Flags:
    """Which rows of `trace.device` are communication: by name, or by the call they serve."""
    kinds = device_kinds(trace)
    by_name = device_names(trace).matching(vendors.is_collective_kernel) & kinds.among("kernel")
    # Device events without a known place of launch that carry the id of a collective call.
    named = link_launches(trace).node < 0
    if named.any():
        talks = _host_calls(trace) == _COMMUNICATION
        ids = numbers(host_columns(trace)["external_id"])[talks]
        wanted = numbers(device_columns(trace)["external_id"])[named]
        named[named] = (wanted != 0) & is_among(wanted, ids)
    forest, node = call_forest(trace), link_launches(trace).node
    serves = named
    if len(forest):
        serves = named | ((node >= 0) & forest.named(vendors.is_collective_call)[node])
    return kinds.among("collective") | by_name | (serves & kinds.among("kernel", "memcpy"))


_NO_WORK, _OTHER, _COMMUNICATION, _DATA_LOADER = range(4)


@memoize_structure
def _host_calls(trace: Trace) -> NDArray[np.int8]:
    """What the host events that do the program's work are for."""
    named, kinds = host_names(trace), host_kinds(trace)
    tests = (
        (_NO_WORK, names.is_profiler_step),
        (_COMMUNICATION, vendors.is_collective_call),
        (_DATA_LOADER, names.is_data_loader),
    )
    purposes = [next((code for code, test in tests if test(text)), _OTHER) for text in named.texts]
    purpose = np.array(purposes or [_NO_WORK], dtype=np.int8)
    calls = kinds.among("operator", "annotation") | is_python_region(trace)
    return np.where(calls, purpose[named.codes], np.int8(_NO_WORK))


PARTS = (*ROLES, "other")
"""The parts of a step, in order of priority; `other` is what no role covers."""


@memoize_per_trace
def step_breakdown(trace: Trace) -> pl.DataFrame:
    """One row per step: its length and its parts, which add up to it.

    A moment in which several things happened counts for the first of `PARTS` among them.
    """
    steps = find_steps(trace)
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    parts, left = intervals.waterfall(role_ranges(trace), bounds)
    parts["other"] = left
    return steps.select(
        "name",
        (pl.col("end_ns") - pl.col("start_ns")).alias("total_ns"),
        *(pl.Series(f"{part}_ns", parts[part].astype(np.int64)) for part in PARTS),
        "complete",
    )


@memoize_per_trace
def average_step(trace: Trace) -> dict[str, float]:
    """Mean length of the complete steps and of their parts, in ns; empty without steps."""
    complete = step_breakdown(trace).filter("complete")
    if complete.is_empty():
        return {}
    columns = ["total_ns", *(f"{part}_ns" for part in PARTS)]
    # Sums stay whole numbers; only the division is rounded.
    return {name: int(complete[name].sum()) / complete.height for name in columns}


_RANGE = regex(r"(\d{1,40})(?:\s*-\s*(\d{1,40}))?", re.ASCII)


def step_ranges(wanted: str) -> list[tuple[int, int]]:
    """First and last of each part of a choice such as `5-8` or `5,7,10-12`."""
    matches = [_RANGE.fullmatch(part.strip()) for part in wanted.split(",")]
    bounds = [(int(part[1]), int(part[2] or part[1])) for part in matches if part is not None]
    if len(bounds) < len(matches) or any(first > last for first, last in bounds):
        raise UsageError(f"{wanted!r} is not a choice of steps", "try --steps 5-8 or 5,7,9")
    return bounds


def chosen_steps(names: list[str], wanted: str) -> list[str]:
    """Steps of a choice."""
    ranges = step_ranges(wanted)
    return [name for name in names if any(first <= int(name) <= last for first, last in ranges)]


def within_steps(trace: Trace, wanted: str) -> Trace:
    """The part of a trace that belongs to some of its steps.

    Host events are kept that lie in one of the steps, and device work that was launched there;
    device work without a launch, memory records, flows and counters by their time.  A step keeps
    the bounds and the parts it has in the whole trace.
    """
    steps = find_steps(trace)
    chosen_names = chosen_steps(steps["name"].to_list(), wanted)
    if not chosen_names:
        listing = ", ".join(steps["name"].head(12)) or "no step"
        raise NotFoundError(
            f"{trace.metadata.source}: none of the steps {wanted}", f"the trace holds {listing}"
        )
    chosen = steps.filter(pl.col("name").is_in(chosen_names))
    on_host = chosen.select("host_start_ns", "host_end_ns").to_numpy()
    on_device = chosen.select("start_ns", "end_ns").to_numpy()
    at_times = pl.any_horizontal(
        pl.col("ts_ns").is_between(int(start), int(end), closed="left") for start, end in on_device
    )
    frames = {name: trace.lazy(name).filter(at_times) for name in ("memory", "flows", "counters")}
    # By name: steps touch, so the end of one is the time of the next.
    frames["steps"] = trace.lazy("steps").filter(step_names().is_in(chosen_names))
    host = step_at(*start_and_end(host_columns(trace)), on_host) >= 0
    device = step_at(*start_and_end(device_columns(trace)), on_device) >= 0
    if len(host):
        call = origin_rows(trace)
        device = np.where(call >= 0, host[call], device)
    frames["host"] = trace.host.filter(pl.Series(host)).lazy()
    frames["device"] = trace.device.filter(pl.Series(device)).lazy()
    part = replace(trace, frames={**trace.frames, **frames})
    parts = step_breakdown(trace).filter(steps["name"].is_in(chosen_names))
    seed_memo(part, find_steps, _with_cut_steps(chosen))
    seed_memo(part, step_breakdown, _with_cut_steps(parts))
    return part


def _with_cut_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """Cut steps count as well where no other was asked for; averages would be empty."""
    return steps if steps["complete"].any() else steps.with_columns(complete=pl.lit(value=True))
