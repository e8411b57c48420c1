"""How busy each device was from the first step to the last, and with what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.columns import (
    among,
    device_columns,
    device_numbers,
    event_ranges,
    host_columns,
    host_kinds,
    memoize_per_trace,
    memoize_structure,
    start_and_end,
)
from timesink.analyses.device_activities import device_activities
from timesink.analyses.kernels.table import (
    device_tensor_core_share,
    kernel_launches,
    operator_tensor_core_share,
)
from timesink.analyses.steps import complete_steps, find_steps, is_communication, window
from timesink.model import intervals
from timesink.model.intervals import Floats, IntervalSet, Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

SCHEMA = {
    "device": pl.Int64(),
    "window_ns": pl.Int64(),
    "utilisation": pl.Float64(),
    "any_activity": pl.Float64(),
    "steps_ns": pl.Int64(),
    "within_steps": pl.Float64(),
    "sm_efficiency": pl.Float64(),
    "occupancy_pct": pl.Float64(),
    "tensor_core_ratio": pl.Float64(),
}

INTERVAL_SCHEMA = {"start_ns": pl.Int64(), "end_ns": pl.Int64(), "value": pl.Float64()}


@memoize_per_trace
def device_utilisation(trace: Trace, *, zeros: bool = False) -> pl.DataFrame:
    """One row per device that ran kernels; ratios from 0 to 1, null where nothing tells.

    * `utilisation`: time with a kernel running, of `window_ns`, which lasts from the start of
      the first complete step to the end of the last, gaps between steps included;
    * `any_activity`: the same with copies and memsets;
    * `within_steps`: time with a kernel running inside steps, of `steps_ns`, the steps alone;
    * `sm_efficiency`: multiprocessors in use by blocks per SM, over the window;
    * `occupancy_pct`: achieved occupancy, weighted by the time inside the window of the kernels
      that state one (`zeros` as for :func:`known_occupancy`);
    * `tensor_core_ratio`: of the time of all kernels, anywhere in the trace; null where names do
      not tell (with `zeros` of kernels launched by operators, as the former plugin counts).
    """
    steps = complete_steps(trace)
    first, last = window(steps)
    bounds = steps.select("start_ns", "end_ns").to_numpy()
    frames = np.vstack([(first, last), bounds])
    window_ns, steps_ns = last - first, int((bounds[:, 1] - bounds[:, 0]).sum())
    if zeros:
        shares = operator_tensor_core_share(trace).select("device", pl.col("ratio").fill_null(0.0))
    else:
        shares = device_tensor_core_share(trace)
    ratio_of = dict(shares.iter_rows())
    events, number = device_columns(trace), device_numbers(trace)
    works = events["kind"].is_in(BUSY_KINDS).to_numpy()

    def inside(start: pl.Series, end: pl.Series) -> Ints:
        return np.asarray(
            np.clip(end.to_numpy(), first, last) - np.clip(start.to_numpy(), first, last)
        )

    def part(amount: float, total: float) -> float | None:
        return amount / total if total else None

    rows = []
    for device in kernel_devices(trace):
        running = intervals.coverage_within(kernel_ranges(trace, device), frames)
        active = intervals.coverage_within(event_ranges(events, works & (number == device)), frames)
        used = sm_efficiency_intervals(trace, device)
        length = inside(used["start_ns"], used["end_ns"])
        efficiency = float((used["value"].to_numpy() * length).sum())
        launches = _launches_on(trace, device, zeros=zeros).drop_nulls("occupancy_pct")
        lasted = inside(launches["ts_ns"], launches["ts_ns"] + launches["dur_ns"])
        occupied = float((launches["occupancy_pct"].to_numpy() * lasted).sum())
        rows.append(
            {
                "device": device,
                "window_ns": window_ns,
                "utilisation": part(int(running[0]), window_ns),
                "any_activity": part(int(active[0]), window_ns),
                "steps_ns": steps_ns,
                "within_steps": part(int(running[1:].sum()), steps_ns),
                "sm_efficiency": part(efficiency, window_ns) if length.any() else None,
                "occupancy_pct": part(occupied, int(lasted.sum())),
                "tensor_core_ratio": ratio_of.get(device, 0.0 if zeros and ratio_of else None),
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA)


def kernel_devices(trace: Trace) -> list[int]:
    """Numbers of the devices that ran kernels, in order; -1 for kernels on an unknown device."""
    devices: list[int] = kernel_launches(trace)["device"].unique().sort().to_list()
    return devices


def kernel_ranges(trace: Trace, device: int) -> IntervalSet:
    """When each kernel of a device ran, communication included; not merged."""
    return event_ranges(_launches_on(trace, device))


@memoize_per_trace
def sm_efficiency_intervals(trace: Trace, device: int) -> pl.DataFrame:
    """Share of the multiprocessors in use while kernels of known size run, over time.

    Each kernel uses as many as it has blocks per SM; together they use all of them at most.
    """
    blocks = pl.col("blocks_per_sm")
    sized = _launches_on(trace, device).filter((blocks > 0) & blocks.is_finite())
    bounds, sums = intervals.sweep(*start_and_end(sized), sized["blocks_per_sm"].to_numpy())
    used = sums > 0
    pieces = {
        "start_ns": bounds[:-1][used],
        "end_ns": bounds[1:][used],
        "value": np.minimum(sums[used], 1.0),
    }
    return pl.DataFrame(pieces, schema=INTERVAL_SCHEMA)


def _launches_on(trace: Trace, device: int, *, zeros: bool = False) -> pl.DataFrame:
    return kernel_launches(trace, zeros=zeros).filter(pl.col("device") == device)


UTILISATION = "utilisation"
SM_EFFICIENCY = "sm_efficiency"
SAMPLE_SCHEMA = {
    "ts_ns": pl.Int64(),
    "device": pl.Int64(),
    "counter": pl.String(),
    "value": pl.Float64(),
}

MAX_BUCKETS = 100
_SHORTEST_BUCKET_NS = 1_000
_WHOLE_RECORDING = "PyTorch Profiler (0)"
_NOT_WORK = ("trace", "instant")


@memoize_per_trace
def utilisation_counters(trace: Trace) -> pl.DataFrame:
    """Samples of `utilisation` and `sm_efficiency` per device, from 0 to 1, as they are shown.

    Utilisation is the part of a bucket with a kernel running, given at the start of the bucket.
    SM efficiency is given wherever it changes.  Each counter starts with a 1 and a 0, so that
    every viewer scales it alike, and falls to 0 at its end.  No rows without kernels.
    """
    samples = [
        pl.DataFrame(
            {"ts_ns": times, "device": device, "counter": counter, "value": values},
            schema=SAMPLE_SCHEMA,
        )
        for device in kernel_devices(trace)
        for counter, times, values in _counters(trace, device)
    ]
    return pl.concat([pl.DataFrame(schema=SAMPLE_SCHEMA), *samples])


@memoize_per_trace
def timeline(trace: Trace) -> tuple[int, int]:
    """What the recording covers: as the profiler states it, else from first to last event."""
    host = host_columns(trace)
    frames = host_kinds(trace).rows("trace".__eq__)
    stated = frames[among(host["name"][frames], {_WHOLE_RECORDING})]
    if len(stated):
        start, end = start_and_end(host, stated[:1])
        return int(start[0]), int(end[0])
    work = ~host_kinds(trace).among(*_NOT_WORK)
    spans = [start_and_end(host, work), start_and_end(device_columns(trace))]
    return (
        min((int(start.min()) for start, _ in spans if len(start)), default=0),
        max((int(end.max()) for _, end in spans if len(end)), default=0),
    )


def buckets(start: int, end: int) -> Ints:
    """Borders of at most a hundred buckets of 1, 10, 100, ... us; the last takes the rest."""
    width = _SHORTEST_BUCKET_NS
    while end - start > MAX_BUCKETS * width:
        width *= 10
    count = max((end - start) // width, 1)
    return np.append(start + width * np.arange(count), end)


def _counters(trace: Trace, device: int) -> Iterator[tuple[str, Ints, Floats]]:
    start, end = timeline(trace)
    borders = buckets(start, end)
    windows = np.stack([borders[:-1], borders[1:]], axis=1)
    covered = intervals.coverage_within(kernel_ranges(trace, device), windows)
    parts = covered / np.maximum(windows[:, 1] - windows[:, 0], 1)
    pieces = sm_efficiency_intervals(trace, device)
    changes = pieces.select("start_ns", "end_ns").to_numpy().ravel()
    values = np.zeros(len(changes))
    values[::2] = pieces["value"].to_numpy()
    for counter, at, levels in (
        (UTILISATION, borders, np.append(parts, 0.0)),
        (SM_EFFICIENCY, changes, values),
    ):
        if len(at):
            yield counter, np.insert(at, 0, [start, start]), np.insert(levels, 0, [1.0, 0.0])


COMPUTATION, COMMUNICATION, MEMORY = range(3)
CLASS_NAMES = ("computation", "communication", "memory")


@memoize_structure
def activity_classes(trace: Trace) -> NDArray[np.int8]:
    """For each row of `trace.device`: whether it computes, communicates or moves memory.

    Copies and sets are `MEMORY`, collectives `COMMUNICATION`, everything else `COMPUTATION`.
    """
    moves = device_columns(trace)["kind"].is_in(["memcpy", "memset"]).to_numpy()
    classes = np.where(moves, MEMORY, COMPUTATION).astype(np.int8)
    classes[is_communication(trace)] = COMMUNICATION
    return classes


def device_time(trace: Trace) -> pl.DataFrame:
    """What each device did between its first and its last activity.

    Times are lengths of unions: what runs at the same time counts once.  Communication is exposed
    while the device does not compute, memory work while it neither computes nor communicates, so
    compute, exposed communication, exposed memory and idle time add up to the span.
    `compute_only_ns` is computation with nothing beside it, `communication_overlap_pct` the part
    of communication that is hidden under computation.
    """
    frames = [
        _window_times(work, np.array([work.span])).with_columns(
            device=pl.lit(work.device, dtype=pl.Int64),
            activities=pl.lit(sum(work.counts), dtype=pl.Int64),
        )
        for work in _divide_work(trace)
    ]
    return pl.concat([_NO_TIMES, *frames], how="diagonal").select(_NO_TIMES.columns)


def overlap_by_step(trace: Trace) -> pl.DataFrame:
    """The same as :func:`device_time` for every step of every device."""
    steps = find_steps(trace)
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    about = steps.select(step="name", start_ns="start_ns", complete="complete")
    frames = [
        pl.concat([about, _window_times(work, bounds)], how="horizontal").with_columns(
            device=pl.lit(work.device, dtype=pl.Int64)
        )
        for work in _divide_work(trace)
    ]
    return pl.concat([about.clear(), _NO_TIMES, *frames], how="diagonal").select(
        "device", *about.columns, *_TIMES, "communication_overlap_pct"
    )


def kernel_kinds(trace: Trace) -> pl.DataFrame:
    """Time of each class of work by itself, and of classes that ran at the same time.

    `time_ns` of a row is how long exactly these classes ran, so the rows of a device add up to
    its busy time.  `activities` and `sum_ns` (their lengths added up) are given for single
    classes.
    """
    rows: list[tuple[int, str, int | None, int | None, int]] = []
    for work in _divide_work(trace):
        # Single classes first, then mixtures.
        for mixture in sorted(work.exactly, key=lambda bits: (bits.bit_count(), bits)):
            members = [number for number in range(len(CLASS_NAMES)) if mixture >> number & 1]
            name = "+".join(CLASS_NAMES[number] for number in members)
            time = intervals.coverage(work.exactly[mixture])
            if len(members) > 1 and time:
                rows.append((work.device, name, None, None, time))
            elif len(members) == 1 and work.counts[members[0]]:
                member = members[0]
                rows.append((work.device, name, work.counts[member], work.sums[member], time))
    return pl.DataFrame(rows, schema=_KINDS, orient="row")


_TIMES = (
    "span_ns",
    "busy_ns",
    "idle_ns",
    "compute_ns",
    "communication_ns",
    "memory_ns",
    "compute_only_ns",
    "exposed_communication_ns",
    "exposed_memory_ns",
)
_NO_TIMES = pl.DataFrame(
    schema={
        "device": pl.Int64(),
        "activities": pl.Int64(),
        **dict.fromkeys(_TIMES, pl.Int64()),
        "communication_overlap_pct": pl.Float64(),
    }
)
_KINDS = {
    "device": pl.Int64(),
    "kind": pl.String(),
    "activities": pl.Int64(),
    "sum_ns": pl.Int64(),
    "time_ns": pl.Int64(),
}


class _DeviceWork(msgspec.Struct, frozen=True, eq=False):
    """The busy time of a device, divided by the classes that ran at the same time."""

    device: int
    span: tuple[int, int]
    exactly: Mapping[int, IntervalSet]
    """Where these classes ran and no other; a set of classes is a number with their bits."""
    counts: tuple[int, ...]
    sums: tuple[int, ...]
    """Number and added lengths of the activities of each class."""


@memoize_per_trace
def _divide_work(trace: Trace) -> list[_DeviceWork]:
    work = device_activities(trace)
    kind, spans = activity_classes(trace)[work.row], np.stack([work.start, work.end]).T
    device_works = []
    for device in pl.Series(work.device).unique().sort():
        mine = work.device == device
        parts = [spans[mine & (kind == number)] for number in range(len(CLASS_NAMES))]
        # Cut time where a class starts or ends.  Ranges of a class are disjoint, so the sum of the
        # bits of what runs is a set of classes.
        merged = [intervals.merge(part) for part in parts]
        bits = np.repeat([1 << number for number in range(len(parts))], [*map(len, merged)])
        ranges = np.concatenate(merged)
        borders, mixture = intervals.sweep(ranges[:, 0], ranges[:, 1], bits)
        pieces = np.stack([borders[:-1], borders[1:]]).T
        device_works.append(
            _DeviceWork(
                device=device,
                span=(int(work.start[mine].min()), int(work.end[mine].max())),
                exactly={n: pieces[mixture == n] for n in range(1, 1 << len(parts))},
                counts=tuple(len(part) for part in parts),
                sums=tuple(int((part[:, 1] - part[:, 0]).sum()) for part in parts),
            )
        )
    return device_works


def _window_times(work: _DeviceWork, windows: IntervalSet) -> pl.DataFrame:
    """The times of one device inside each window."""
    compute, communication, memory = (1 << number for number in range(len(CLASS_NAMES)))
    # How long exactly these classes ran inside each window.
    parts = {
        mixture: intervals.coverage_within(ranges, windows)
        for mixture, ranges in work.exactly.items()
    }
    nothing = np.zeros(len(windows), dtype=np.int64)

    def with_any(bits: int, without: int = 0) -> Ints:
        chosen = (time for mix, time in parts.items() if mix & bits and not mix & without)
        return sum(chosen, start=nothing)

    span, busy = windows[:, 1] - windows[:, 0], with_any(compute | communication | memory)
    times = {
        "span_ns": span,
        "busy_ns": busy,
        "idle_ns": span - busy,
        "compute_ns": with_any(compute),
        "communication_ns": with_any(communication),
        "memory_ns": with_any(memory),
        "compute_only_ns": parts[compute],
        "exposed_communication_ns": with_any(communication, without=compute),
        "exposed_memory_ns": parts[memory],
    }
    talk, exposed = pl.col("communication_ns"), pl.col("exposed_communication_ns")
    return pl.DataFrame(times, schema=dict.fromkeys(times, pl.Int64())).with_columns(
        communication_overlap_pct=pl.when(talk > 0).then((talk - exposed) / talk * 100)
    )
