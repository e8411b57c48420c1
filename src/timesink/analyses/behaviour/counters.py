"""Which counters belong to which device and process of a trace, and what they read meanwhile.

A call with three samples or more has their mean and spread.  A shorter one has the values at both
its ends, interpolated between the samples around them; a sample further away than twice the
sampling interval says nothing about it.  A counter that does not change gives exactly its value and
a spread of exactly zero: tests between cycles are undefined otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses.behaviour.calls import HOST_NUMBER, NO_NUMBER, Windows
from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.names import device_word
from timesink.model.arrays import prefix_sums
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.schema import HOST_DEVICE, host_and_pid
from timesink.model.trace import Trace
from timesink.model.units import join_names, quantity, unit_of
from timesink.model.vendors import DEVICE_WORDS
from timesink.patterns import regex

ENOUGH_SAMPLES = 3
"""From so many samples on, a call has a mean of its own."""
REACH_IN_INTERVALS = 2
"""How far a sample speaks for the counter, in sampling intervals."""
_NOMINAL_INTERVAL_NS = 1_000_000_000
"""Of samplers whose only sample does not tell it."""

NONE, SOME, ALL = range(3)
"""How many calls were interpolated: places in `model.schema.INTERPOLATED`."""


class Series(msgspec.Struct, frozen=True, eq=False):
    """Samples of one counter of one device or process; times ascend and are distinct."""

    counter: str
    ts_ns: Ints
    value: Floats

    @property
    def reach_ns(self) -> int:
        """How far a sample speaks for the counter."""
        if len(self.ts_ns) < 2:
            return REACH_IN_INTERVALS * _NOMINAL_INTERVAL_NS
        return int(REACH_IN_INTERVALS * np.median(np.diff(self.ts_ns)))


class Spans(msgspec.Struct, frozen=True, eq=False):
    """Stretches of time in which functions ran, and the group (function and cycle) of each."""

    group: Ints
    start: Ints
    end: Ints
    weight: Ints
    """Time that counts; a span in which all time belongs to callees has none."""
    groups: int

    def __len__(self) -> int:
        return len(self.group)

    def take(self, chosen: Flags) -> Spans:
        names = ("group", "start", "end", "weight")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


class CounterLevels(msgspec.Struct, frozen=True, eq=False):
    """What one counter read in those groups in which it is known."""

    group: Ints
    mean: Floats
    spread: Floats
    interpolated: NDArray[np.int8]
    """`NONE`, `SOME` or `ALL` of the group's spans."""


def levels(series: Sequence[Series], spans: Spans) -> Iterator[tuple[Series, CounterLevels]]:
    """Each counter's level in each group; counters sampled together share the search."""
    by_times = sorted(series, key=lambda counter: counter.ts_ns.tobytes())
    for _, same_times in groupby(by_times, key=lambda counter: counter.ts_ns.tobytes()):
        together = list(same_times)
        ts, reach = together[0].ts_ns, together[0].reach_ns
        first = np.searchsorted(ts, spans.start, side="left")
        beyond = np.searchsorted(ts, spans.end, side="right")
        start = _around(ts, spans.start, first, reach)
        end = _around(ts, spans.end, np.searchsorted(ts, spans.end, side="left"), reach)
        enough = beyond - first >= ENOUGH_SAMPLES
        # Spans near enough to samples, and which of these have enough of them inside.
        near = enough | start.is_near | end.is_near
        if not near.any():
            continue
        start, end, wide = start.take(near), end.take(near), np.flatnonzero(enough[near])
        first, beyond = first[near][wide], beyond[near][wide]
        group, place, example, weight, total, interpolated = _weights(spans.take(near), wide)
        for counter in together:
            # Mean and variance of the counter in each span: from its ends, or from its samples.
            at_start, at_end = start.read(counter.value), end.read(counter.value)
            at_start = np.where(start.is_near, at_start, at_end)
            half = np.where(end.is_near, at_end - at_start, 0.0) / 2
            level, variance = at_start + half, half * half
            if len(wide):
                level[wide], variance[wide] = _of_samples(counter.value, first, beyond)
            # Sums of differences from one of the values: those of a constant are exactly zero.
            base = level[example]
            excess = _sums(place, (level - base[place]) * weight)
            spread = np.sqrt(_sums(place, variance * weight) / total)
            yield counter, CounterLevels(group, base + excess / total, spread, interpolated)


@dataclass(frozen=True, slots=True, eq=False)
class _Between:
    """Samples around moments: the value is that of `left`, and `part` of the way to `right`."""

    left: Ints
    right: Ints
    part: Floats
    is_near: Flags

    def take(self, chosen: Flags) -> _Between:
        return _Between(*(getattr(self, attribute.name)[chosen] for attribute in fields(self)))

    def read(self, value: Floats) -> Floats:
        low = value[self.left]
        # Not as a weighted sum of both: a constant must stay what it is.
        return np.asarray(low + self.part * (value[self.right] - low))


def _around(ts: Ints, moment: Ints, following: Ints, reach: int) -> _Between:
    right = np.minimum(following, len(ts) - 1)
    left = np.maximum(following - 1, 0)
    since, until = moment - ts[left], ts[right] - moment
    left_near = (following > 0) & (since <= reach)
    right_near = (following < len(ts)) & (until <= reach)
    both = left_near & right_near
    part = np.zeros(len(moment))
    np.divide(since, since + until, out=part, where=both)
    return _Between(
        left=np.where(left_near, left, right),
        right=np.where(right_near, right, np.where(left_near, left, right)),
        part=part,
        is_near=left_near | right_near,
    )


def _weights(
    spans: Spans, wide: NDArray[np.intp]
) -> tuple[Ints, Ints, NDArray[np.intp], Floats, Floats, NDArray[np.int8]]:
    """Groups that have spans; for each span the place of its group among these.

    Then for each group one of its spans, the weight of each span and of all of a group, and for
    each group how many of its spans have no samples of their own: all but the `wide` ones.
    """
    count = np.bincount(spans.group, minlength=spans.groups)
    group = np.flatnonzero(count)
    place = (np.cumsum(count > 0) - 1)[spans.group]
    example = np.zeros(len(group), dtype=np.intp)
    example[place[::-1]] = np.arange(len(place))[::-1]
    weight: Floats = spans.weight.astype(np.float64)
    total = _sums(place, weight)
    if not total.all():
        # Functions without any time of their own: every span counts the same.
        weight = np.where(total[place] > 0, weight, 1.0)
        total = _sums(place, weight)
    sampled = np.bincount(place[wide], minlength=len(group))
    interpolated = np.where(sampled == 0, ALL, np.where(sampled < count[group], SOME, NONE))
    return group, place, example, weight, total, interpolated.astype(np.int8)


def _of_samples(value: Floats, first: Ints, beyond: Ints) -> tuple[Floats, Floats]:
    """Mean and variance of the samples from `first` to before `beyond`."""
    # Sums from the start of the recording, of differences from a typical value and in the widest
    # type there is: the difference of two such sums loses few digits.
    base = np.median(value)
    shifted = (value - base).astype(np.longdouble)
    sums, squares = prefix_sums(shifted), prefix_sums(shifted * shifted)
    count = beyond - first
    mean = (sums[beyond] - sums[first]) / count
    variance = np.maximum((squares[beyond] - squares[first]) / count - mean * mean, 0)
    # Where nothing changes, exactly that.
    changes = prefix_sums(value[1:] != value[:-1])
    constant = changes[beyond - 1] == changes[first]
    return (
        np.where(constant, value[first], (mean + base).astype(np.float64)),
        np.where(constant, 0.0, variance.astype(np.float64)),
    )


def _sums(place: Ints, values: Floats) -> Floats:
    """Sums by place; each place has values."""
    return np.bincount(place, values).astype(np.float64, copy=False)


# What counters are of: the host, a process or an accelerator, whatever the label says.

HOST_PLACE = "host"
_ACCELERATOR = regex(
    rf"(?:cat_)?(?:{DEVICE_WORDS}|device)(?![a-z])"
    r"(?:[ :_#-]*(\d+)(?![\w-]))?.*",
    re.IGNORECASE | re.DOTALL,
)
_PROCESS = regex(r"pid\s+(\S+)", re.IGNORECASE)
_ON_MACHINE = regex(r"(?P<what>.+) on (?P<machine>\S+)")
"""Labels of recordings of several machines, each with a device 0 of its own."""


def process_place(pid: str) -> str:
    """Where counters of a process are."""
    return f"pid {host_and_pid(pid)[1]}"


def device_place(number: int | str) -> str:
    """Where counters of an accelerator are."""
    return f"device {number}"


def on_machine(place: str, machine: str | None) -> str:
    """The same of one of several machines."""
    return place if machine is None else f"{place} on {machine}"


def place_of(label: str | None, processes: Collection[str], devices: Collection[int]) -> str:
    """What a counter's label means in a recording of these processes and devices."""
    text = (label or "").strip()
    elsewhere = _ON_MACHINE.fullmatch(text)
    if elsewhere is not None:
        return on_machine(place_of(elsewhere["what"], processes, devices), elsewhere["machine"])
    process = _PROCESS.fullmatch(text)
    if process is not None:
        return process_place(process[1])
    if text in processes:
        return process_place(text)
    if text.isdigit():
        return device_place(int(text)) if int(text) in devices else HOST_PLACE
    accelerator = _ACCELERATOR.fullmatch(text)
    if accelerator is None:
        return HOST_PLACE
    return device_place(int(accelerator[1]) if accelerator[1] else text)


class CounterBook(msgspec.Struct, frozen=True, eq=False):
    """All counters of a recording by what they are of."""

    series: Mapping[tuple[str, str], Series]
    """By counter and place."""
    units: Mapping[str, str | None]
    """Of each counter."""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Of each place: as recorded."""

    @property
    def counters(self) -> tuple[str, ...]:
        return tuple(sorted(self.units))

    def places(self, kind: str) -> list[str]:
        """Places of the kind `device` or `pid`."""
        return sorted({place for _, place in self.series if place.startswith(f"{kind} ")})

    def find(self, counter: str, places: Collection[str]) -> Series | None:
        """The counter at the first of the places that has it."""
        candidates = (self.series.get((counter, place)) for place in places)
        return next((series for series in candidates if series is not None), None)


def counter_book(trace: Trace, processes: Collection[str], devices: Collection[int]) -> CounterBook:
    """The counters of a trace, sorted by time; samples taken at the same time are one."""
    if not trace.holds("counters"):
        return CounterBook({}, {})
    return _counter_book(trace, tuple(processes), tuple(devices))


@memoize_per_trace
def _counter_book(
    trace: Trace, processes: tuple[str, ...], devices: tuple[int, ...]
) -> CounterBook:
    samples = (
        trace.lazy("counters")
        .select("ts_ns", "counter", "device", "value")
        .filter(pl.col("value").is_finite())
        .collect()
        .with_columns(pl.col("counter", "device").cast(pl.String))
    )
    labels = samples["device"].unique().to_list()
    place = {label: place_of(label, processes, devices) for label in labels}
    samples = samples.with_columns(
        place=pl.col("device").replace_strict(
            list(place), list(place.values()), return_dtype=pl.String
        )
    )
    largest = samples.group_by("counter").agg(pl.col("value").abs().max()).sort("counter")
    return CounterBook(
        series=_series(samples),
        units={counter: unit_of(counter, value) for counter, value in largest.iter_rows()},
        labels={place[label]: label for label in labels if label},
    )


def _series(samples: pl.DataFrame) -> dict[tuple[str, str], Series]:
    # The mean of equal values may differ from them in the last digit.
    value = pl.col("value")
    mean = pl.when(value.min() == value.max()).then(value.min()).otherwise(value.mean())
    at_once = samples.group_by("counter", "place", "ts_ns").agg(mean.alias("value"))
    parts = at_once.sort("counter", "place", "ts_ns").partition_by(
        "counter", "place", as_dict=True, maintain_order=True
    )
    return {
        (counter, place): Series(
            counter,
            part["ts_ns"].to_numpy().astype(np.int64),
            part["value"].to_numpy().astype(np.float64),
        )
        for (counter, place), part in parts.items()
    }


_NUMBER = regex(r"\d+")


class Devices(msgspec.Struct, frozen=True, eq=False):
    """What devices are called, and where their counters and those of processes are."""

    word: str
    """What an accelerator of this maker is called."""
    numbers: Mapping[str, Sequence[int]]
    """Of processes that say so: the machine's number of each device they see."""
    process_places: Mapping[str, str]
    only: tuple[str, str] | None = None
    """Label and place of the only device there is, where both sides have one."""
    notes: tuple[str, ...] = ()

    def label(self, process: str, device: int) -> str:
        """What a device of a process is called."""
        if device == HOST_NUMBER:
            return HOST_DEVICE
        if self.only is not None:
            return self.only[0]
        return self.word if device == NO_NUMBER else f"{self.word} {self._number(process, device)}"

    def places(self, process: str, device: int) -> tuple[str, ...]:
        """Where to look for a counter of work on a device, nearest first."""
        machine = host_and_pid(process)[0]
        shared = [HOST_PLACE]
        if device != HOST_NUMBER:
            default_place = device_place(self._number(process, device))
            shared = [default_place if self.only is None else self.only[1], HOST_PLACE]
        near = [on_machine(place, machine) for place in shared]
        return (self.process_places[process], *dict.fromkeys([*near, *shared]))

    def _number(self, process: str, device: int) -> int:
        numbers = self.numbers.get(host_and_pid(process)[1], ())
        return numbers[device] if 0 <= device < len(numbers) else device


def match_devices(
    trace: Trace, book: CounterBook, devices: Sequence[int], processes: Sequence[str]
) -> Devices:
    """Match devices by number and processes by id; where each has one, these two belong together.

    Processes that were shown one device count it from zero, and those in a container count
    themselves otherwise than the machine does.
    """
    word, numbers = device_word(trace), _numbers_of_processes(trace)
    # Processes as their recorder saw them, which it would have sampled under these numbers.
    run = trace.metadata.run
    recorded = () if run is None else [str(process.pid) for process in run.processes]
    places, process_notes = _match_processes(book, processes, recorded)
    plain = Devices(word, numbers, places, notes=process_notes)
    sampled = book.places("device")
    if len(devices) != 1 or not sampled or numbers:
        return plain
    label = plain.label("", devices[0])
    if len(sampled) > 1:
        note = (
            f"counters of {len(sampled)} devices, but the trace names one, {label}: where a "
            "process was shown only some of them, its counters may be those of another"
        )
        return Devices(word, numbers, places, notes=(note, *process_notes))
    if device_place(devices[0]) == sampled[0]:
        return plain
    named = book.labels.get(sampled[0], sampled[0])
    note = f"{label} of the trace is taken for {named} of the counters"
    return Devices(word, numbers, places, (named, sampled[0]), (note, *process_notes))


def _numbers_of_processes(trace: Trace) -> dict[str, list[int]]:
    """What a description of the machine, or of the run, says about the devices of each process."""
    recorded = None if trace.metadata.run is None else trace.metadata.run.device_numbers
    if recorded:
        return {str(pid): list(numbers) for pid, numbers in recorded.items()}
    topology = trace.metadata.extra.get("topology")
    gpus_of_process = topology.get("gpus_of_process") if isinstance(topology, Mapping) else None
    if not isinstance(gpus_of_process, Mapping):
        return {}
    # Numbers of devices are written as 7, "6,7" or [6, 7].
    return {
        str(pid): list(map(int, _NUMBER.findall(str(gpus))))
        for pid, gpus in gpus_of_process.items()
    }


def _match_processes(
    book: CounterBook, processes: Sequence[str], recorded: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    places = {pid: process_place(pid) for pid in processes}
    sampled = book.places("pid")
    if len(processes) != 1 or len(sampled) != 1 or places[processes[0]] == sampled[0]:
        return places, ()
    pid = host_and_pid(processes[0])[1]
    if pid in recorded:
        return places, ()  # the one that was sampled is another, such as a launcher
    note = f"process {pid} of the trace is taken for {sampled[0]} of the counters"
    return {processes[0]: sampled[0]}, (note,)


# -- levels of counters in cycles ------------------------------------------------------------------

LEVELS = {
    "cycle": pl.Int64(),
    "metric": pl.String(),
    "device": pl.String(),
    "unit": pl.String(),
    "value": pl.Float64(),
}
"""Every counter of every device (or `Host`) once per cycle: mean while it lasted, in `unit`."""

OF_DEVICE = regex(rf"(?:^|_)(?:{DEVICE_WORDS})(?:_|$)")
"""Counters of an accelerator, where the sampler does not say which."""
RUN_QUEUE = regex(r"^(?:process|thread|task)_.*(?:runq|run_?queue|sched_wait)")
"""Share of time in which the process could have run and had no processor."""
_MASK = regex(r"(?:throttle_?|event_?)reasons|reasons[._]active", re.IGNORECASE)
"""Counters whose bits mean something each, and whose mean means nothing."""


def level_rows(
    book: CounterBook, of_devices: Iterable[tuple[str, list[Series]]], windows: Windows, cycle: Ints
) -> pl.DataFrame:
    """Rows of `LEVELS` for cycles; `cycle` is the number of each row of the table of cycles.

    `of_devices` are the counters of each device, as `series_by_device` finds them.
    """
    if not book.counters:
        return pl.DataFrame(schema=LEVELS)
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
            **{name: pl.Series(column, dtype=pl.String)[row] for name, column in texts.items()},
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
    if levels_of.is_empty():
        return share
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
        series = _round_sums(counter, rows["ts_ns"].to_numpy(), rows["value"].to_numpy(), unit)
        near = nearness[place]
        if series is None:
            mixed.append(counter)
        elif counter not in nearest or near < nearest[counter][0]:
            nearest[counter] = (near, series, unit)
    left_out = [counter for counter in dict.fromkeys(mixed) if counter not in nearest]
    return [(series, unit) for _, series, unit in nearest.values()], left_out


def _round_sums(counter: str, times: Ints, values: Floats, unit: str | None) -> Series | None:
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
