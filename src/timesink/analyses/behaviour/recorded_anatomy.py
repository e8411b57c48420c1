"""The anatomy of the cycles of a recording, with every counter of its devices and its host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import (
    CYCLE_SPANS,
    LEVELS,
    PART_TIMES,
    PARTS,
    PLACE_TIMES,
    Anatomy,
    Crew,
    crews,
    cycle_spans,
    device_times,
    host_ranges,
    is_host_collective,
    is_loading,
    launch_rows,
    part_rows,
)
from timesink.analyses.behaviour.calls import (
    HOST_NUMBER,
    NO_NUMBER,
    Windows,
    step_windows_by_process,
    windows_by_process,
)
from timesink.analyses.behaviour.classes import PART_OF_CLASS
from timesink.analyses.behaviour.counters import (
    HOST_PLACE,
    CounterBook,
    Devices,
    Series,
    Spans,
    counter_book,
    levels,
    match_devices,
    place_of,
    process_place,
)
from timesink.analyses.behaviour.cycle_places import place_rows, with_calls
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.behaviour.untraced import is_mark
from timesink.analyses.cycles.spans import Cycles, has_host_spans
from timesink.analyses.kernels.families import load_families
from timesink.model import vendors
from timesink.model.arrays import prefix_sums
from timesink.model.intervals import Floats, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace
from timesink.model.units import join_names, quantity, unit_of
from timesink.model.vendors import DEVICE_WORDS

OF_DEVICE = re.compile(rf"(?:^|_)(?:{DEVICE_WORDS})(?:_|$)")
"""Counters of an accelerator, where the sampler does not say which."""
RUN_QUEUE = re.compile(r"^(?:process|thread|task)_.*(?:runq|run_?queue|sched_wait)")
"""Share of time in which the process could have run and had no processor."""
_MASK = re.compile(r"(?:throttle_?|event_?)reasons|reasons[._]active", re.IGNORECASE)
"""Counters whose bits mean something each, and whose mean means nothing."""


def level_rows(
    book: CounterBook, of_devices: Iterable[tuple[str, list[Series]]], windows: Windows, cycle: Ints
) -> pl.DataFrame:
    """Rows of `LEVELS` for cycles; `cycle` is the number of each row of the table of cycles.

    `of_devices` are the counters of each device, as `series_by_device` finds them.
    """
    length = windows.end - windows.start
    spans = Spans(np.arange(len(length)), windows.start, windows.end, length, groups=len(length))
    middle = windows.start + length // 2
    entries = []
    for label, together in of_devices:
        for series, level in levels(together, spans):
            value = level.mean
            if _MASK.search(series.counter):
                # A mean of a mask means nothing: what it was nearest to the middle of the cycle.
                moment = middle[level.group]
                after = np.searchsorted(series.ts_ns, moment).clip(0, len(series.ts_ns) - 1)
                before = np.maximum(after - 1, 0)
                earlier = moment - series.ts_ns[before] < series.ts_ns[after] - moment
                value = series.value[np.where(earlier, before, after)]
            entries.append((label, series.counter, level.group, value))
    return _level_table(entries, book.units, cycle[windows.row])


def _level_table(
    entries: Sequence[tuple[str, str, Ints, Floats]], units: Mapping[str, str | None], cycle: Ints
) -> pl.DataFrame:
    """Rows of `LEVELS`: of devices and counters, in which of the cycles, and how high."""
    groups = [np.zeros(0, dtype=np.int64), *(group for *_, group, _ in entries)]
    row = np.repeat(np.arange(len(entries)), [len(group) for group in groups[1:]])
    texts: dict[str, list[str | None]] = {
        "metric": [counter for _, counter, *_ in entries],
        "device": [label for label, *_ in entries],
        "unit": [units[counter] for _, counter, *_ in entries],
    }
    return pl.DataFrame(
        {
            "cycle": cycle[np.concatenate(groups)],
            **{
                name: pl.Series(column, dtype=pl.String).gather(row)
                for name, column in texts.items()
            },
            "value": np.concatenate([np.zeros(0), *(value for *_, value in entries)]),
        },
        schema=LEVELS,
    ).sort("cycle", "metric", "device")


def series_by_device(
    book: CounterBook, devices: Devices, process: str, used: Sequence[int]
) -> Iterator[tuple[str, list[Series]]]:
    """Counters of each device, and those of the process and its host, each of them once.

    `used` are numbers of the devices it worked on.
    """
    # Devices with counters, where the process names none it worked on.
    sampled = (place.removeprefix("device ") for place in book.places("device"))
    numbers = list(used) or sorted(int(text) for text in sampled if text.isdigit()) or [NO_NUMBER]
    near_host = devices.places(process, HOST_NUMBER)
    # A sampler that names no device means the only one there is.
    unnamed = len(numbers) == 1
    taken: set[str] = set()
    for number in numbers:
        places = [place for place in devices.places(process, number) if place.startswith("device ")]
        candidates = []
        for counter in book.counters:
            series = book.find(counter, places)
            if series is None and unnamed and OF_DEVICE.search(counter):
                series = book.find(counter, near_host)
                taken.add(counter)
            candidates.append(series)
        yield devices.label(process, number), [item for item in candidates if item is not None]
    rest = (book.find(counter, near_host) for counter in book.counters if counter not in taken)
    yield HOST_DEVICE, [item for item in rest if item is not None]


def run_queue_share(levels_of: pl.DataFrame, cycle: Ints) -> Floats:
    """Share of each cycle in which the process waited for a processor; 0 where unknown."""
    share = np.zeros(len(cycle))
    queue_rows = levels_of.filter(
        pl.col("device") == HOST_DEVICE, pl.col("metric").str.contains(RUN_QUEUE.pattern)
    )
    for (_, unit), rows in queue_rows.group_by("metric", "unit", maintain_order=True):
        factor, base = quantity(1.0, unit if isinstance(unit, str) else None)
        if base != "%":
            continue
        values = dict(rows.select("cycle", "value").iter_rows())
        readings = np.array([values.get(number, 0.0) for number in cycle.tolist()])
        share = np.maximum(share, np.nan_to_num(readings) * factor / 100)
    return np.clip(share, 0.0, 1.0)


_ROUND = 4
"""Samples that are so many times closer to each other than rounds usually are belong to one."""
_MIN_ROUNDS = 3
"""Of fewer rounds it cannot be said how far apart they usually are."""
_REGULAR = 0.8
"""Part of the rounds that have equally many samples where each device has one in a round."""
_ADD_UP = ("B/s",)
"""Units of which the sum over all devices means something: traffic of all network interfaces."""


def levels_beside(
    counters: pl.DataFrame, cycles: pl.DataFrame, process: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Rows of `LEVELS` for the counters of the host and of one process, and what was left out.

    Samplers that leave out the device mix its counters: those of several devices are added up where
    that means something, and left out where it does not.  `cycles` are rows of `CYCLE_SPANS`.
    """
    start, length = cycles["ts_ns"].to_numpy(), cycles["dur_ns"].to_numpy()
    spans = Spans(np.arange(len(start)), start, start + length, length, groups=len(start))
    host_series, mixed = _host_series(counters, process)
    units = {series.counter: unit for series, unit in host_series}
    read = [
        (HOST_DEVICE, series.counter, level.group, level.mean)
        for series, level in levels([series for series, _ in host_series], spans)
    ]
    note = f"counters that mix several devices were left out: {join_names(sorted(mixed))}"
    return _level_table(read, units, cycles["cycle"].to_numpy()), (note,) if mixed else ()


def _host_series(
    counters: pl.DataFrame, process: str
) -> tuple[list[tuple[Series, str | None]], list[str]]:
    """Counters of the host and the process with their units, the nearer one of two; and mixed ones.

    Of a counter that is mixed in one place and not in the other, the latter is taken.
    """
    samples = counters.select(pl.col("counter", "device").cast(pl.String), "ts_ns", "value").filter(
        pl.col("value").is_finite()
    )
    nearness = {process_place(process): 0, HOST_PLACE: 1}
    nearest: dict[str, tuple[int, Series, str | None]] = {}
    mixed = []
    by_counter = samples.sort("ts_ns").partition_by("counter", "device", as_dict=True)
    for (counter, label), rows in by_counter.items():
        place = place_of(label, [process], [])
        if place not in nearness or OF_DEVICE.search(counter):
            continue
        unit = unit_of(counter, rows.select(pl.col("value").abs().max()).item())
        series = _series(counter, rows["ts_ns"].to_numpy(), rows["value"].to_numpy(), unit)
        near = nearness[place]
        if series is None:
            mixed.append(counter)
        elif counter not in nearest or near < nearest[counter][0]:
            nearest[counter] = (near, series, unit)
    left_out = [counter for counter in dict.fromkeys(mixed) if counter not in nearest]
    return [(series, unit) for _, series, unit in nearest.values()], left_out


def _series(counter: str, times: Ints, values: Floats, unit: str | None) -> Series | None:
    """One value per round of samples; None where they are of several devices and do not add up."""
    turn = rounds(times)
    many = np.bincount(turn)
    usual = int(np.bincount(many).argmax()) if len(many) >= _MIN_ROUNDS else 1
    if usual == 1:
        return Series(counter, times, values.astype(np.float64))
    is_complete = many == usual
    if quantity(1.0, unit)[1] not in _ADD_UP or is_complete.mean() < _REGULAR:
        return None
    first = np.searchsorted(turn, np.arange(len(many)))
    sums = np.bincount(turn, values)
    return Series(counter, times[first[is_complete]].astype(np.int64), sums[is_complete])


def rounds(times: Ints) -> Ints:
    """The round of sampling each of the times (in order) belongs to.

    Rounds are as far apart as the gaps that make up half of the time: a pause of the sampler is one
    long gap, and samples of one round are many short ones.
    """
    gaps = np.diff(times)
    if not len(gaps):
        return np.zeros(len(times), dtype=np.int64)
    # The median of gaps, each weighed by its length, without the longest: it may be a pause that
    # is longer than all the rest together.
    ordered = np.sort(gaps)
    passed = np.cumsum(ordered[:-1] if len(ordered) > 1 else ordered)
    usual = int(ordered[np.searchsorted(passed, passed[-1] / 2)])
    return prefix_sums(gaps * _ROUND > usual)


_CORES = ("cpu_count", "cpu_cores", "num_cpus", "logical_cpus", "cores")
"""Fields in which recorders write how many processor cores there are."""
_AROUND = ("topology", "host", "system", "cpu", "machine")
"""Fields these may be in."""


def cores_of(trace: Trace) -> int | None:
    """Processor cores of the host; None where the recording does not say.

    All of the machine, as counters of the whole host do not know what a program may use.
    """
    host = None if trace.metadata.run is None else trace.metadata.run.host
    cores = None if host is None else host.machine_cores or host.cores
    if cores is not None and cores >= 1:
        return round(cores)
    extra = trace.metadata.extra
    texts = (
        str(fields.get(name))
        for fields in (extra, *(extra.get(name) for name in _AROUND))
        if isinstance(fields, dict)
        for name in _CORES
    )
    return next((int(text) for text in texts if text.isdigit() and int(text) > 0), None)


def anatomies(trace: Trace, cycles: Cycles) -> dict[str, Anatomy]:
    """What the cycles of each process are made of."""
    every = step_windows_by_process(cycles)
    windows = {
        pid: cycle_windows.take(cycle_windows.end > cycle_windows.start)
        for pid, cycle_windows in every.items()
    }
    calls_of = windows_by_process(cycles)
    device = device_times(trace, list(windows))
    numbers = sorted({number for device_time in device.values() for number in device_time.devices})
    book = counter_book(trace, list(windows), numbers)
    devices = match_devices(trace, book, numbers, list(windows))
    marks, cycle = is_mark(trace, cycles), cycles.table["cycle"].to_numpy()
    mine: dict[str, list[Crew]] = {pid: [] for pid in windows}
    for crew in crews(trace, cycles, windows, calls_of):
        mine[crew.process].append(crew)
    device_names = {device.id: device.name for device in trace.metadata.devices if device.name}
    by_process = {}
    for pid, window in windows.items():
        used = device[pid].devices
        of_devices = list(series_by_device(book, devices, pid, used))
        levels = level_rows(book, of_devices, window, cycle)
        parts = [pl.DataFrame(schema=PART_TIMES)]
        for crew in mine[pid]:
            numbers_of = cycle[crew.windows.row]
            queued, host = run_queue_share(levels, numbers_of), host_ranges(trace, crew, marks)
            parts.append(part_rows(crew, device[pid], host, queued, numbers_of))
        places = [place_rows(trace, crew, marks, cycle) for crew in mine[pid]]
        by_process[pid] = Anatomy(
            parts=pl.concat(parts).sort("cycle", "part", "family"),
            places=pl.concat([pl.DataFrame(schema=PLACE_TIMES), *places]).sort("cycle", "ts_ns"),
            levels=levels,
            hardware={
                devices.label(pid, device_id): device_names[device_id]
                for device_id in used or device_names
                if device_id in device_names
            },
            cores=cores_of(trace),
            cycles=cycle_spans(window, cycle),
            host_spans=cycle_spans(calls_of[pid], cycle) if has_host_spans(cycles) else None,
            plain_levels=_plain_levels(trace, book, of_devices),
            launches=launch_rows(trace, device[pid].rows, window, cycle),
            on_device=cycles.on_device,
        )
    return with_calls(trace, by_process)


def _plain_levels(
    trace: Trace, book: CounterBook, of_devices: Iterable[tuple[str, list[Series]]]
) -> pl.DataFrame:
    """Counters of the cycles before the profiler: a few recorded ones see slow samplers seldom."""
    run = trace.metadata.run
    if run is None or not run.own_plain_ns or run.overhead.plain_started_us is None:
        return pl.DataFrame(schema=LEVELS)
    end = 1000 * run.overhead.plain_started_us + np.cumsum(run.own_plain_ns)
    start = end - np.array(run.own_plain_ns)
    number = np.arange(-len(end), 0)
    return level_rows(book, of_devices, Windows(np.arange(len(end)), start, end), number)


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
    table = plain_texts(behaviour).filter(pl.col("cycle_dur_ns") > 0)
    first = table.group_by("cycle").agg(
        pl.col("cycle_ts_ns").min().fill_null(0).alias("ts_ns"),
        pl.col("cycle_dur_ns").max().alias("dur_ns"),
    )
    cycles = first.sort("cycle").select(*CYCLE_SPANS).cast(pl.Schema(CYCLE_SPANS))
    # Functions of a cycle share the samples of a counter: their median is what it read.
    readings = table.filter(
        pl.col("metric").is_not_null() & pl.col("mu").cast(pl.Float64).is_finite()
    )
    medians = readings.group_by("cycle", "metric", "device").agg(
        pl.col("unit").drop_nulls().first(), pl.col("mu").median().alias("value")
    )
    levels = medians.select(*LEVELS).cast(pl.Schema(LEVELS))
    notes: tuple[str, ...] = ()
    if counters is not None and counters.height:
        pid = table["pid"].drop_nulls()
        process = str(pid[0]) if len(pid) else ""
        beside, notes = levels_beside(counters, cycles, process)
        levels = pl.concat([levels, beside.join(levels, "metric", "anti")])
    length = cycles["dur_ns"].to_numpy()
    times = _times(table).join(cycles.select("cycle").with_row_index("row"), "cycle")
    keys = times.select("part", "family").unique().sort("part", "family")
    placed = times.join(keys.with_row_index("key"), ["part", "family"], nulls_equal=True)
    spent = np.zeros((keys.height, len(length)), dtype=np.int64)
    spent[placed["key"].to_numpy(), placed["row"].to_numpy()] = placed["dur_ns"].to_numpy()
    durations: dict[Key, Ints] = dict(zip(keys.iter_rows(), spent, strict=True))
    return Anatomy(
        parts=_rows(cycles["cycle"], _cut_to_length(length, durations)),
        places=pl.DataFrame(schema=PLACE_TIMES),
        levels=levels.sort("cycle", "metric", "device"),
        from_timeline=False,
        cycles=cycles,
        notes=notes,
    )


def _times(table: pl.DataFrame) -> pl.DataFrame:
    """Time by cycle, part and family of kernels; of devices that of the busiest one."""
    once = once_per_cycle(table)
    kinds = once.select("function", "function_class", "device", "anchor").unique()
    parts = [_part(*row) for row in kinds.iter_rows()]
    rules = load_families()
    family = [
        rules.of(name) if part == "device_compute" else None
        for name, part in zip(kinds["function"].to_list(), parts, strict=True)
    ]
    labelled = kinds.with_columns(
        part=pl.Series(parts, dtype=pl.String), family=pl.Series(family, dtype=pl.String)
    )
    keys = ["function", "function_class", "device", "anchor"]
    rows = once.join(labelled, keys, nulls_equal=True).filter(pl.col("part").is_not_null())
    device = pl.col("part").is_in(_ON_DEVICE) & (pl.col("device") != HOST_DEVICE)
    busy = rows.filter(device).group_by("device").agg(pl.col("dur_ns").sum())
    if busy.height > 1:
        busiest = busy.sort("dur_ns", "device", descending=[True, False])["device"][0]
        rows = rows.filter(~device | (pl.col("device") == busiest))
    return rows.group_by("cycle", "part", "family").agg(pl.col("dur_ns").sum())


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
