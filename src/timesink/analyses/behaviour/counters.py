"""Which counters belong to which device and process of a trace, and what they read meanwhile.

A call with three samples or more has their mean and spread.  A shorter one has the values at both
its ends, interpolated between the samples around them; a sample further away than twice the
sampling interval says nothing about it.  A counter that does not change gives exactly its value and
a spread of exactly zero: tests between cycles are undefined otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.analyses.behaviour.calls import HOST_NUMBER, NO_NUMBER
from timesink.analyses.names import device_word
from timesink.model.arrays import prefix_sums
from timesink.model.intervals import Flags, Floats, Ints
from timesink.model.schema import HOST_DEVICE, host_and_pid
from timesink.model.trace import Trace
from timesink.model.units import unit_of
from timesink.model.vendors import DEVICE_WORDS

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
_ACCELERATOR = re.compile(
    rf"(?:cat_)?(?:{DEVICE_WORDS}|device)(?![a-z])"
    r"(?:[ :_#-]*(\d+)(?![\w-]))?.*",
    re.IGNORECASE | re.DOTALL,
)
_PROCESS = re.compile(r"pid\s+(\S+)", re.IGNORECASE)
_ON_MACHINE = re.compile(r"(?P<what>.+) on (?P<machine>\S+)")
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


_NUMBER = re.compile(r"\d+")


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
