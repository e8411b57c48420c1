"""Every counter of the devices of a process and of its host, cycle by cycle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import LEVELS
from timesink.analyses.behaviour.calls import HOST_NUMBER, NO_NUMBER, Windows
from timesink.analyses.behaviour.counters import (
    HOST_PLACE,
    CounterBook,
    Devices,
    Series,
    Spans,
    levels,
    place_of,
    process_place,
)
from timesink.model.arrays import Floats, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace
from timesink.model.units import listed, quantity, unit_of
from timesink.model.vendors import DEVICE_WORDS

OF_DEVICE = re.compile(rf"(?:^|_)(?:{DEVICE_WORDS})(?:_|$)")
"""Counters of an accelerator, where the sampler does not say which."""
RUN_QUEUE = re.compile(r"^(?:process|thread|task)_.*(?:runq|run_?queue|sched_wait)")
"""Share of time in which the process could have run and had no processor."""
_MASK = re.compile(r"(?:throttle_?|event_?)reasons|reasons[._]active", re.IGNORECASE)
"""Counters whose bits mean something each, and whose mean means nothing."""


def level_rows(
    book: CounterBook,
    of_devices: Iterable[tuple[str, list[Series]]],
    windows: Windows,
    cycle: Ints,
) -> pl.DataFrame:
    """Rows of `LEVELS` for cycles; `cycle` is the number of each row of the table of cycles.

    `of_devices` are the counters of each device, as `series_by_device` finds them.
    """
    length = windows.end - windows.start
    spans = Spans(np.arange(len(length)), windows.start, windows.end, length, groups=len(length))
    middle = windows.start + length // 2
    found = []
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
            found.append((label, series.counter, level.group, value))
    return _level_table(found, book.units, cycle[windows.row])


def _level_table(
    found: Sequence[tuple[str, str, Ints, Floats]],
    units: Mapping[str, str | None],
    cycle: Ints,
) -> pl.DataFrame:
    """Rows of `LEVELS`: of devices and counters, in which of the cycles, and how high."""
    groups = [np.zeros(0, dtype=np.int64), *(group for *_, group, _ in found)]
    row = np.repeat(np.arange(len(found)), [len(group) for group in groups[1:]])
    texts: dict[str, list[str | None]] = {
        "metric": [counter for _, counter, *_ in found],
        "device": [label for label, *_ in found],
        "unit": [units[counter] for _, counter, *_ in found],
    }
    return pl.DataFrame(
        {
            "cycle": cycle[np.concatenate(groups)],
            **{name: pl.Series(each, dtype=pl.String).gather(row) for name, each in texts.items()},
            "value": np.concatenate([np.zeros(0), *(value for *_, value in found)]),
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
    numbers = list(used) or sorted(int(one) for one in sampled if one.isdigit()) or [NO_NUMBER]
    near_host = devices.places(process, HOST_NUMBER)
    # A sampler that names no device means the only one there is.
    unnamed = len(numbers) == 1
    given: set[str] = set()
    for number in numbers:
        places = [place for place in devices.places(process, number) if place.startswith("device ")]
        found = []
        for counter in book.counters:
            series = book.find(counter, places)
            if series is None and unnamed and OF_DEVICE.search(counter):
                series = book.find(counter, near_host)
                given.add(counter)
            found.append(series)
        yield devices.label(process, number), [each for each in found if each is not None]
    rest = (book.find(counter, near_host) for counter in book.counters if counter not in given)
    yield HOST_DEVICE, [each for each in rest if each is not None]


def run_queue_share(levels_of: pl.DataFrame, cycle: Ints) -> Floats:
    """Share of each cycle in which the process waited for a processor; 0 where unknown."""
    share = np.zeros(len(cycle))
    known = levels_of.filter(
        pl.col("device") == HOST_DEVICE, pl.col("metric").str.contains(RUN_QUEUE.pattern)
    )
    for (_, unit), rows in known.group_by("metric", "unit", maintain_order=True):
        factor, base = quantity(1.0, unit if isinstance(unit, str) else None)
        if base != "%":
            continue
        values = dict(rows.select("cycle", "value").iter_rows())
        found = np.array([values.get(number, 0.0) for number in cycle.tolist()])
        share = np.maximum(share, np.nan_to_num(found) * factor / 100)
    return np.clip(share, 0.0, 1.0)


Samples = tuple[Ints, Floats]
_ROUND = 4
"""Samples that are so many times closer to each other than rounds usually are belong to one."""
_FEWEST = 3
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
    found, mixed = _host_series(counters, process)
    units = {each.counter: unit for each, unit in found}
    read = [
        (HOST_DEVICE, each.counter, level.group, level.mean)
        for each, level in levels([each for each, _ in found], spans)
    ]
    note = f"counters that mix several devices were left out: {listed(sorted(mixed))}"
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
    found: dict[str, tuple[int, Series, str | None]] = {}
    mixed = []
    by_counter = samples.sort("ts_ns").partition_by("counter", "device", as_dict=True)
    for (counter, label), rows in by_counter.items():
        place = place_of(label, [process], [])
        if place not in nearness or OF_DEVICE.search(counter):
            continue
        unit = unit_of(counter, rows.select(pl.col("value").abs().max()).item())
        series = _series(counter, (rows["ts_ns"].to_numpy(), rows["value"].to_numpy()), unit)
        near = nearness[place]
        if series is None:
            mixed.append(counter)
        elif counter not in found or near < found[counter][0]:
            found[counter] = (near, series, unit)
    left_out = [counter for counter in dict.fromkeys(mixed) if counter not in found]
    return [(series, unit) for _, series, unit in found.values()], left_out


def _series(counter: str, samples: Samples, unit: str | None) -> Series | None:
    """One value per round of samples; None where they are of several devices and do not add up."""
    times, values = samples
    turn = rounds(times)
    many = np.bincount(turn)
    usual = int(np.bincount(many).argmax()) if len(many) >= _FEWEST else 1
    if usual == 1:
        return Series(counter, times, values.astype(np.float64))
    whole = many == usual
    if quantity(1.0, unit)[1] not in _ADD_UP or whole.mean() < _REGULAR:
        return None
    first = np.searchsorted(turn, np.arange(len(many)))
    sums = np.bincount(turn, values)
    return Series(counter, times[first[whole]].astype(np.int64), sums[whole])


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
    return np.concatenate([[0], np.cumsum(gaps * _ROUND > usual)])


_CORES = ("cpu_count", "cpu_cores", "num_cpus", "logical_cpus", "cores")
"""Fields in which recorders write how many processor cores there are."""
_AROUND = ("topology", "host", "system", "cpu", "machine")
"""Fields these may be in."""


def hardware_names(
    trace: Trace, devices: Devices, process: str, used: Sequence[int]
) -> dict[str, str]:
    """The hardware of each device of a process, by the label of the device."""
    known = {device.id: device.name for device in trace.metadata.devices if device.name}
    numbers = used or tuple(known)
    return {devices.label(process, number): known[number] for number in numbers if number in known}


def cores_of(trace: Trace) -> int | None:
    """Processor cores of the host; None where the recording does not say.

    All of the machine, as counters of the whole host do not know what a program may use.
    """
    host = None if trace.metadata.run is None else trace.metadata.run.host
    told = None if host is None else host.machine_cores or host.cores
    if told is not None and told >= 1:
        return round(told)
    extra = trace.metadata.extra
    said = (
        str(fields.get(name))
        for fields in (extra, *(extra.get(name) for name in _AROUND))
        if isinstance(fields, dict)
        for name in _CORES
    )
    return next((int(one) for one in said if one.isdigit() and int(one) > 0), None)
