"""The anatomy of the cycles of one process: time split into parts that add up to their length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import structs
from numpy.typing import NDArray

from timesink.analyses import columns, names
from timesink.analyses.behaviour.calls import OUTSIDE, Windows, process_of_device, process_of_host
from timesink.analyses.behaviour.classes import FUNCTION_CLASSES, PART_OF_CLASS
from timesink.analyses.behaviour.counters import LEVELS, levels_beside
from timesink.analyses.behaviour.functions import (
    ON_CPU,
    RUN_QUEUE,
    device_classes,
    functions_of,
    host_classes,
)
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.behaviour.untraced import WORK, OwnThread, in_stead, own_threads
from timesink.analyses.cycles.spans import Cycles
from timesink.analyses.kernels.families import load_families
from timesink.analyses.kernels.table import launched_blocks
from timesink.analyses.links import link_launches
from timesink.analyses.names import is_waiting_call
from timesink.model import intervals, vendors
from timesink.model.arrays import combine_codes, run_starts, sums_by
from timesink.model.intervals import Flags, Floats, IntervalSet, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace
from timesink.patterns import regex

PARTS = (
    "device_compute",
    "copies",
    "exposed_communication",
    "synchronisation",
    "data_loading",
    "io",
    "run_queue",
    "launch_gap",
    "host_cpu",
    "idle",
)
"""What a moment of a cycle is spent on; it counts for one part only.

Device work comes first, computing before communication; then what the host waits for; then what it
does: `launch_gap` while it launches work or otherwise calls the runtime, `host_cpu` in other
recorded calls, and `idle` where neither the device nor a recorded call is active."""

PART_TIMES = {
    "cycle": pl.Int64(),
    "part": pl.Enum(PARTS),
    "family": pl.String(),
    "dur_ns": pl.Float64(),
}
"""One row per cycle and part with some time; `family` of kernels for `device_compute`, else null.
The rows of a cycle add up to its length."""

PLACE_TIMES = {
    "cycle": pl.Int64(),
    "inside": pl.String(),
    "after": pl.String(),
    "before": pl.String(),
    "occurrence": pl.Int64(),
    "ts_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
}
"""Stretches of the thread that marks cycles in which no further call begins: in which call (null
for none but the mark), after and before which calls inside of that (null at its start and its end),
and the how many-th of that sort in the cycle.  Only places that take a part of the cycle worth
mentioning in some cycle are kept."""

MIN_PLACE = 0.002
"""Places matter that take this part of a typical cycle in one cycle at least."""


CYCLE_SPANS = {"cycle": pl.Int64(), "ts_ns": pl.Int64(), "dur_ns": pl.Int64()}
"""When each cycle starts and how long it is; only cycles of known length."""


def cycle_spans(windows: Windows, cycle: Ints) -> pl.DataFrame:
    """Rows of `CYCLE_SPANS`; `cycle` is the number of each row of the table of cycles."""
    columns: Mapping[str, Ints] = {
        "cycle": cycle[windows.row],
        "ts_ns": windows.start,
        "dur_ns": windows.end - windows.start,
    }
    return pl.DataFrame(columns, schema=CYCLE_SPANS).sort("cycle")


LAUNCHES = {
    "cycle": pl.Int64(),
    "function": pl.String(),
    "calls": pl.Int64(),
    "blocks": pl.Float64(),
    "bytes": pl.Float64(),
}
"""Work that device calls were given: launches that start in the cycle, blocks of all of these and
bytes that they copy; 0 where that is not recorded."""


CALL_KINDS = ("operator", "module")

CALL_TIMES = {
    "kind": pl.Enum(CALL_KINDS),
    "name": pl.String(),
    "cycle": pl.Int64(),
    "calls": pl.Int64(),
    "device_ns": pl.Int64(),
    "host_ns": pl.Int64(),
}
"""One row per operator or module and cycle in which it was called.  A module goes by its path,
`UNet_0.DoubleConv_1.Conv2d_0`.  Times hold what was called inside: `device_ns` sums the device work
launched by the call, parallel streams each, `host_ns` its length on the host.  A call inside of one
of its own name counts once; the backward pass counts for the module whose forward pass it is of."""


@dataclass(frozen=True, slots=True, eq=False)
class Anatomy:
    """What the cycles of one process are made of."""

    parts: pl.DataFrame
    places: pl.DataFrame
    levels: pl.DataFrame
    hardware: Mapping[str, str] = field(default_factory=dict)
    """Name of the hardware of each device label that is known: `GPU 0` -> `NVIDIA H200`."""
    cores: int | None = None
    """Processor cores of the host, where known."""
    from_timeline: bool = True
    """False where only a behaviour table was there: parts are then put in order."""
    cycles: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CYCLE_SPANS))
    """Rows of `CYCLE_SPANS`: every cycle of known length."""
    host_spans: pl.DataFrame | None = None
    """Rows of `CYCLE_SPANS`: when the host was at each cycle; None where that is the cycle."""
    plain_levels: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LEVELS))
    """Rows of `LEVELS` of cycles right before the profiler: the last one is -1."""
    launches: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LAUNCHES))
    """Rows of `LAUNCHES`, where a timeline tells."""
    on_device: bool = False
    """Whether cycles are times of the device."""
    find_calls: Callable[[], pl.DataFrame] = lambda: pl.DataFrame(schema=CALL_TIMES)
    """Looks for `calls`: it takes a while, and few questions need them."""
    notes: tuple[str, ...] = ()
    """Counters that were left out, and why."""

    @property
    def calls(self) -> pl.DataFrame:
        """Rows of `CALL_TIMES`, where a timeline tells."""
        return self.find_calls()

    def span(self, cycle: int) -> tuple[int | None, int | None]:
        """When a cycle began and ended; None where that is not known."""
        rows = self.cycles.filter(pl.col("cycle") == cycle)
        if rows.is_empty():
            return None, None
        start = int(rows["ts_ns"][0])
        return start, start + int(rows["dur_ns"][0])

    def with_devices(self, labels: Mapping[str, str]) -> Anatomy:
        """The same with other labels for some of the devices."""
        named = {labels.get(label, label): name for label, name in self.hardware.items()}
        levels, plain = (
            table.with_columns(pl.col("device").replace(dict(labels)))
            for table in (self.levels, self.plain_levels)
        )
        return replace(self, levels=levels, plain_levels=plain, hardware=named)


def only_cycles(anatomy: Anatomy, cycles: Iterable[int]) -> Anatomy:
    """The anatomy of some of the cycles."""
    numbers = cycles.to_numpy() if isinstance(cycles, pl.Series) else [*cycles]
    chosen = np.unique(np.asarray(numbers, dtype=np.int64))

    def select_cycles(table: pl.DataFrame) -> pl.DataFrame:
        rows = np.isin(table["cycle"].to_numpy(), chosen)
        return table if rows.all() else table.filter(rows)

    tables = ("parts", "places", "levels", "cycles", "launches")
    chosen_rows: dict[str, Any] = {name: select_cycles(getattr(anatomy, name)) for name in tables}
    return replace(anatomy, find_calls=lambda: select_cycles(anatomy.calls), **chosen_rows)


# -- parts -----------------------------------------------------------------------------------------


_COMPUTING_CLASS, _TALKING = (FUNCTION_CLASSES.index(name) for name in ("gpu_compute", "gpu_comm"))
_COPYING = tuple(
    place for place, name in enumerate(FUNCTION_CLASSES) if name.startswith("gpu_memcpy")
)


class DeviceTime(msgspec.Struct, frozen=True, eq=False):
    """When the devices of a process were at what."""

    computing: IntervalSet
    """Disjoint, in time order: the kernel that started first has the moments of several."""
    family: Ints
    """Of each of these: place in `families`."""
    families: Sequence[str]
    communication: IntervalSet
    copies: IntervalSet
    devices: tuple[int, ...]
    """Numbers of the devices the process worked on."""
    rows: NDArray[np.intp]
    """Rows of its work in the table of device events."""


def device_times(trace: Trace, processes: Sequence[str]) -> dict[str, DeviceTime]:
    """The device work of each process."""
    classes = device_classes(trace)
    counted = np.flatnonzero(classes >= 0)
    launch = link_launches(trace).call_row[counted]
    process = process_of_device(trace, processes, counted, launch)
    families = columns.device_names(trace).renamed(load_families().of)
    return {
        pid: _device_time(trace, counted[process == number], families)
        for number, pid in enumerate(processes)
    }


def _device_time(trace: Trace, rows: NDArray[np.intp], families: columns.Texts) -> DeviceTime:
    device, classes = columns.device_columns(trace), device_classes(trace)[rows]
    spans = columns.event_ranges(device, rows)
    computing = np.flatnonzero(classes == _COMPUTING_CLASS)
    source, apart = intervals.resolve_overlaps(spans[computing])
    numbers = device["device"][rows].unique().drop_nulls()
    return DeviceTime(
        computing=apart,
        family=families.codes[rows[computing[source]]],
        families=families.texts,
        communication=intervals.merge(spans[classes == _TALKING]),
        copies=intervals.merge(spans[np.isin(classes, _COPYING)]),
        devices=tuple(sorted(int(number) for number in numbers)),
        rows=rows,
    )


def launch_rows(
    trace: Trace, rows: NDArray[np.intp], windows: Windows, cycle: Ints
) -> pl.DataFrame:
    """Rows of `LAUNCHES` for device events of a process, given by their rows in the table.

    `cycle` is the number of each row of the table of cycles.
    """
    if not len(rows) or not len(windows.row):
        return pl.DataFrame(schema=LAUNCHES)
    place = windows.holding(columns.device_columns(trace)["ts_ns"].to_numpy()[rows])
    rows, place = rows[place != OUTSIDE], place[place != OUTSIDE]
    functions = functions_of(columns.device_names(trace))
    columns_of = ("grid_x", "grid_y", "grid_z", "bytes")
    events = trace.lazy("device").select(columns_of).collect(engine="in-memory")[rows]
    table = events.select(
        pl.Series("cycle", cycle[place]),
        pl.Series("code", functions.codes[rows]),
        launched_blocks().alias("blocks"),
        pl.col("bytes").cast(pl.Float64),
    )
    summed = table.group_by("cycle", "code").agg(
        pl.len().cast(pl.Int64).alias("calls"), pl.col("blocks", "bytes").sum()
    )
    names = pl.Series("function", functions.texts, dtype=pl.String)[summed["code"].to_numpy()]
    return summed.hstack([names])[[*LAUNCHES]].sort("cycle", "function")


Rows = NDArray[np.intp]
"""Rows of `trace.host`."""


class Crew(msgspec.Struct, frozen=True, eq=False):
    """Cycles of one process, and the host events of the threads that work for them."""

    process: str
    windows: Windows
    marker_calls: Rows
    """Calls of the thread that marks these cycles; none where no thread does."""
    instead: Rows
    """Calls of threads that work while that one does not, as in the backward pass."""
    lanes: Ints
    """Numbers of these threads, in the sense of `host_lanes`."""


def crews(
    trace: Trace,
    cycles: Cycles,
    windows: Mapping[str, Windows],
    calls_of: Mapping[str, Windows] | None = None,
) -> Iterator[Crew]:
    """All cycles by the threads that work for them, in the time that they take.

    `calls_of` are the windows in which their hosts were at them, by default `windows`: these say
    which thread marks them.  Cycles that no thread marks, as those of a kernel sequence, are worked
    for by every thread of their process, in calls that are work for sure.
    """
    markers = [] if cycles.on_device else list(own_threads(trace, cycles, calls_of or windows))
    marked = [_in_time(marker, windows[marker.process]) for marker in markers]
    for marker in marked:
        # Python functions and annotations tell nothing: the own thread is in one while it waits.
        helpers = [thread for thread, _ in in_stead(marker, marker.working(marker.thread))]
        instead = [
            marker.row[marker.of(helper)][marker.is_work[marker.of(helper)]] for helper in helpers
        ]
        yield Crew(
            process=marker.process,
            windows=marker.windows,
            marker_calls=marker.row[marker.of(marker.thread)],
            instead=np.concatenate([marker.row[:0], *instead]),
            lanes=np.array([marker.thread, *helpers], dtype=np.int64),
        )
    process, _ = process_of_host(trace, list(windows))
    is_work = np.isin(host_classes(trace), WORK)
    lanes = columns.host_lanes(trace)[0]
    for number, (pid, window) in enumerate(windows.items()):
        marked_rows = [marker.windows.row for marker in marked if marker.process == pid]
        rest = ~np.isin(window.row, np.concatenate([window.row[:0], *marked_rows]))
        if rest.any():
            mine = process == number
            working = np.flatnonzero(mine & is_work)
            yield Crew(pid, window.take(rest), working[:0], working, np.unique(lanes[mine]))


def _in_time(marker: OwnThread, windows: Windows) -> OwnThread:
    """A thread that marks cycles with the time that these take."""
    return structs.replace(marker, windows=windows.take(np.isin(windows.row, marker.windows.row)))


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

_HOST_COLLECTIVE = regex(r"(?:gloo|mpi|ucc):")
"""Collectives the processors carry out; of others the host only launches kernels."""
_LOADER_FRAME = regex(r"\bdataloader\.py\(\d+\): __next__$|\bDataLoader\w*\.__next__$")


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
    classes, named = host_classes(trace), columns.host_names(trace)
    calls = crew.marker_calls[~marks[crew.marker_calls]]
    rows = np.concatenate([calls, crew.instead])
    kind, loads = classes[rows], named.matching(is_loading)[rows]
    waits = named.matching(vendors.waits_for_device)[rows]
    sync = np.isin(kind, _SYNC) | (np.isin(kind, _COPY) & waits)
    sleeps = np.isin(kind, _MAY_WAIT) & named.matching(is_waiting_call)[rows]
    scheduled = np.flatnonzero(np.isin(columns.host_lanes(trace)[0], crew.lanes))
    on_cpu, queued = (scheduled[classes[scheduled] == state] for state in (ON_CPU, RUN_QUEUE))
    # Own calls in each of the cycles, but for those that hold it: these tell nothing about it.
    windows, spans = crew.windows, columns.event_ranges(columns.host_columns(trace), calls)
    pieces = windows.cut(spans[:, 0], spans[:, 1])
    around = spans[pieces.call, 0] <= windows.start[pieces.window]
    around &= spans[pieces.call, 1] >= windows.end[pieces.window]
    inside = np.stack([pieces.start, pieces.end]).T[~around & (pieces.end > pieces.start)]
    return {
        "exposed_communication": _collectives(trace, crew),
        "synchronisation": _ranges(trace, rows[sync]),
        "data_loading": _ranges(trace, rows[loads]),
        "io": _ranges(trace, rows[np.isin(kind, _IO)]),
        "run_queue": _ranges(trace, queued),
        "launch_gap": _ranges(trace, rows[np.isin(kind, _LAUNCH) & ~sync]),
        WAITING: _ranges(trace, rows[sleeps]),
        "host_cpu": np.concatenate(
            [inside, *(_ranges(trace, more) for more in (crew.instead, on_cpu))]
        ),
    }


def _collectives(trace: Trace, crew: Crew) -> IntervalSet:
    """When processors communicated for the process and its own thread did not work meanwhile."""
    collectives = columns.host_names(trace).rows(is_host_collective)
    if not len(collectives):
        return _ranges(trace, collectives)
    process, _ = process_of_host(trace, [crew.process])
    collectives = collectives[process[collectives] == 0]
    mine = np.isin(collectives, crew.marker_calls)
    work = crew.marker_calls[np.isin(host_classes(trace)[crew.marker_calls], WORK)]
    beside = intervals.subtract(_ranges(trace, collectives[~mine]), _ranges(trace, work))
    return intervals.merge(np.concatenate([_ranges(trace, collectives[mine]), beside]))


def _ranges(trace: Trace, rows: Rows) -> IntervalSet:
    return intervals.merge(columns.event_ranges(columns.host_columns(trace), rows))


_COMPUTING = PARTS.index("device_compute")
SHARED = ("launch_gap", "host_cpu", "idle")
"""What a thread that waits for a processor would have done instead."""
_BLOCKED = ("synchronisation", "data_loading", "io", WAITING)
"""What a thread waits for that needs no processor meanwhile."""


def part_rows(
    crew: Crew, device: DeviceTime, host: Mapping[str, IntervalSet], queued: Floats, cycle: Ints
) -> pl.DataFrame:
    """Rows of `PART_TIMES`: each moment of a crew's cycles given to the first part that covers it.

    Device work comes first, then `host` in its order; nothing is left for `idle`.  `cycle` are the
    numbers of the cycles, `queued` the share of each in which their thread waited for a processor.
    """
    windows = crew.windows
    bounds = windows.ranges
    talking = [device.communication, host["exposed_communication"]]
    layers = {
        "computing": device.computing,
        "exposed_communication": np.concatenate(talking),
        "copies": device.copies,
    }
    layers |= {part: ranges for part, ranges in host.items() if part not in layers}
    parts, left = intervals.waterfall(layers, bounds)
    del parts["computing"]
    asleep = parts.pop(WAITING)
    parts["idle"] = left + asleep
    if queued.any() and not parts["run_queue"].any():
        blocked = [host[part] for part in _BLOCKED]
        busy = intervals.coverage_within(np.concatenate(blocked), bounds)
        parts |= _with_run_queue(parts, asleep, queued, windows.end - windows.start, busy)
    # Computing by window and family.
    sums = np.zeros((len(windows.row), len(device.families)), dtype=np.int64)
    if len(device.computing) and len(windows.row):
        pieces = windows.cut(device.computing[:, 0], device.computing[:, 1])
        place = pieces.window * len(device.families) + device.family[pieces.call]
        # Of cycles that overlap, a piece may lie in one of them only.
        np.add.at(sums.reshape(-1), place, np.maximum(pieces.end - pieces.start, 0))
    window, family = np.nonzero(sums)
    times = np.stack(list(parts.values()))
    part, other = np.nonzero(times)
    places = np.array([PARTS.index(name) for name in parts])
    no_family = len(device.families)
    return pl.DataFrame(
        {
            "cycle": cycle[np.concatenate([window, other])],
            "part": pl.Series(PARTS, dtype=PART_TIMES["part"])[
                np.concatenate([np.full(len(window), _COMPUTING), places[part]])
            ],
            "family": pl.Series([*device.families, None], dtype=pl.String)[
                np.concatenate([family, np.full(len(other), no_family)])
            ],
            "dur_ns": np.concatenate([sums[window, family], times[part, other]]).astype(np.float64),
        }
    )


def _with_run_queue(
    parts: Mapping[str, Ints], asleep: Ints, share: Floats, length: Ints, blocked: Ints
) -> dict[str, Ints]:
    """Parts with waits for a processor, which took that share of the cycles.

    They fall into the time in which the thread could run, evenly: not into calls in which it is
    blocked, waiting for the device, data or a sleep to end.  What falls into device work costs
    nothing and stays there; the rest is taken off `SHARED`, but not off time it is `asleep`.  Where
    the scheduler's own events tell, nothing needs to be shared out.
    """
    share = np.minimum(1.0, share * length / np.maximum(length - blocked, 1))
    remaining, lost = {}, np.zeros_like(asleep)
    for part in SHARED:
        fixed = asleep if part == "idle" else np.zeros_like(asleep)
        remaining[part] = fixed + np.rint((parts[part] - fixed) * (1 - share)).astype(np.int64)
        lost = lost + parts[part] - remaining[part]
    return {**remaining, "run_queue": lost}


# -- from a behaviour table ------------------------------------------------------------------------

Key = tuple[str, str | None]
"""Part and family of kernels."""
_ON_CPU = "on_cpu"
"""What the scheduler says: it holds launches and all other calls."""
_ON_DEVICE = ("device_compute", "exposed_communication", "copies")
_ORDER = ("exposed_communication", *(part for part in PARTS[1:-1] if part[:7] != "exposed"))
"""Parts in the order in which they are given what remains of a cycle, after computing."""


def anatomy_of(behaviour: pl.DataFrame, counters: pl.DataFrame | None = None) -> Anatomy:
    """The anatomy of the cycles of one process from its behaviour table.

    Times of functions do not say what happened at the same time.  Parts are therefore put one after
    the other, device work first, each cut to what remains of the cycle.  Counters that were sampled
    beside the table are added where it lacks them.
    """
    timed = columns.numbers(behaviour["cycle_dur_ns"]) > 0
    table = behaviour if timed.all() else behaviour.filter(pl.Series(timed))
    cycles = _spans_of(table)
    levels = pl.DataFrame(schema=LEVELS)
    if table["metric"].null_count() < table.height:
        # Functions of a cycle share the samples of a counter: their median is what it read.
        readings = plain_texts(table).filter(
            pl.col("metric").is_not_null() & pl.col("mu").cast(pl.Float64).is_finite()
        )
        medians = readings.group_by("cycle", "metric", "device").agg(
            pl.col("unit").drop_nulls().first(), pl.col("mu").median().alias("value")
        )
        levels = columns.in_schema(medians, LEVELS)
    notes: tuple[str, ...] = ()
    if counters is not None and counters.height:
        pid = table["pid"].drop_nulls()
        process = str(pid[0]) if len(pid) else ""
        beside, notes = levels_beside(counters, cycles, process)
        levels = pl.concat([levels, beside.join(levels, "metric", "anti")])
    length = cycles["dur_ns"].to_numpy()
    durations = _durations(once_per_cycle(table), cycles["cycle"].to_numpy())
    return Anatomy(
        parts=_rows(cycles["cycle"], _cut_to_length(length, durations)),
        places=pl.DataFrame(schema=PLACE_TIMES),
        levels=levels.sort("cycle", "metric", "device"),
        from_timeline=False,
        cycles=cycles,
        notes=notes,
    )


def _spans_of(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of `CYCLE_SPANS` for the cycles of a behaviour table, all of known length."""
    cycle, start = table["cycle"].to_numpy(), table["cycle_ts_ns"]
    order = np.argsort(cycle, kind="stable")
    first = run_starts(cycle[order])
    times: dict[str, Ints] = {
        "ts_ns": columns.numbers(start),
        "dur_ns": columns.numbers(table["cycle_dur_ns"]),
    }
    unknown = np.iinfo(np.int64).max
    if start.null_count():
        times["ts_ns"] = np.where(start.is_null().to_numpy(), unknown, times["ts_ns"])
    if len(first):
        times["ts_ns"] = np.minimum.reduceat(times["ts_ns"][order], first)
        times["dur_ns"] = np.maximum.reduceat(times["dur_ns"][order], first)
    times["ts_ns"] = np.where(times["ts_ns"] == unknown, 0, times["ts_ns"])
    return pl.DataFrame({"cycle": cycle[order][first], **times}, schema=CYCLE_SPANS)


def _durations(once: pl.DataFrame, cycles: Ints) -> dict[Key, Ints]:
    """Time by part and family of kernels in each cycle; of devices that of the busiest one."""
    encoded = [
        columns.encode(once[name]) for name in ("function", "function_class", "device", "anchor")
    ]
    first, kind = np.unique(
        combine_codes(*(codes for codes, _ in encoded)), return_index=True, return_inverse=True
    )[1:]
    rules, time = load_families(), columns.numbers(once["dur_ns"])
    kinds = list(zip(*([of[code] for code in codes[first]] for codes, of in encoded), strict=True))
    parts = [
        _part(function or "", function_class, device or "", anchor)
        for function, function_class, device, anchor in kinds
    ]
    devices = [device for *_, device, _ in kinds]
    on_device = [
        part in _ON_DEVICE and device != HOST_DEVICE
        for part, device in zip(parts, devices, strict=True)
    ]
    busy: dict[str, int] = {}
    totals = sums_by(kind, time, len(kinds)).tolist()
    for device, of_device, total in zip(devices, on_device, totals, strict=True):
        if of_device and device is not None:
            busy[device] = busy.get(device, 0) + total
    if len(busy) > 1:
        busiest = min(busy, key=lambda device: (-busy[device], device))
        parts = [
            None if of_device and device != busiest else part
            for part, of_device, device in zip(parts, on_device, devices, strict=True)
        ]
    keys = [
        None
        if part is None
        else (part, rules.of(texts[0] or "") if part == "device_compute" else None)
        for part, texts in zip(parts, kinds, strict=True)
    ]
    every = sorted({key for key in keys if key is not None}, key=lambda key: (key[0], key[1] or ""))
    row_of = {key: row for row, key in enumerate(every)}
    row = np.array([-1 if key is None else row_of[key] for key in keys], dtype=np.int64)[kind]
    some = np.flatnonzero(row >= 0)
    place = row[some] * len(cycles) + np.searchsorted(cycles, once["cycle"].to_numpy()[some])
    spent = sums_by(place, time[some], len(every) * len(cycles)).reshape(len(every), len(cycles))
    return dict(zip(every, spent, strict=True))


def _part(function: str, function_class: str | None, device: str, anchor: str | None) -> str | None:
    """What a function counts for; None for one that says nothing about what is done."""
    on_host = device == HOST_DEVICE
    if on_host and is_loading(function):
        return "data_loading"
    if is_host_collective(function) or (not on_host and vendors.is_collective_kernel(function)):
        return "exposed_communication"
    if on_host and function == anchor:
        return None
    return _ON_CPU if function_class == "oncpu" else PART_OF_CLASS.get(function_class or "")


def _cut_to_length(length: Ints, durations: dict[Key, Ints]) -> dict[Key, Ints]:
    """Parts in order, as far as the cycle lasts; what is left is idle."""
    nothing = np.zeros(len(length), dtype=np.int64)
    if (_ON_CPU, None) in durations:
        launches = durations.get(("launch_gap", None), nothing)
        durations["host_cpu", None] = np.maximum(durations[_ON_CPU, None] - launches, 0)
    computing = {key: time for key, time in durations.items() if key[0] == "device_compute"}
    # Kernels that ran at the same time share what there is.
    total = sum(computing.values(), nothing)
    share = np.minimum(1.0, length / np.maximum(total, 1))
    cut = {key: np.floor(time * share).astype(np.int64) for key, time in computing.items()}
    rest = length - sum(cut.values(), nothing)
    for part in _ORDER:
        cut[part, None] = np.minimum(durations.get((part, None), nothing), rest)
        rest = rest - cut[part, None]
    cut["idle", None] = rest
    return cut


def _rows(cycle: pl.Series, cut: dict[Key, Ints]) -> pl.DataFrame:
    times = np.stack([*cut.values()]).astype(np.float64)
    key, row = np.nonzero(times > 0)
    part, family = (pl.Series(texts, dtype=pl.String) for texts in zip(*cut, strict=True))
    rows = {
        "cycle": cycle[row],
        "part": part[key],
        "family": family[key],
        "dur_ns": times[key, row],
    }
    return pl.DataFrame(rows, schema=PART_TIMES).sort("cycle", "part", "family")
