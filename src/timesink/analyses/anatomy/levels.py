"""Every counter of the devices of a process and of its host, cycle by cycle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import LEVELS
from timesink.analyses.behaviour.calls import HOST, NO_NUMBER
from timesink.analyses.behaviour.counter_devices import Devices
from timesink.analyses.behaviour.places import CounterBook
from timesink.analyses.behaviour.samples import Levels, Series, Spans, levels
from timesink.analyses.behaviour.windows import Windows
from timesink.model.arrays import Floats, Ints
from timesink.model.counter_units import quantity
from timesink.model.schema import HOST_DEVICE
from timesink.model.vendors import DEVICE_WORDS

OF_DEVICE = re.compile(rf"(?:^|_)(?:{DEVICE_WORDS})(?:_|$)")
"""Counters of an accelerator, where the sampler does not say which."""
RUN_QUEUE = re.compile(r"^(?:process|thread|task)_.*(?:runq|run_?queue|sched_wait)")
"""Share of time in which the process could have run and had no processor."""
_MASK = re.compile(r"(?:throttle_?|event_?)reasons|reasons[._]active", re.IGNORECASE)
"""Counters whose bits mean something each, and whose mean means nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Counters that were sampled while a process worked on some devices."""

    book: CounterBook
    devices: Devices
    process: str
    used: Sequence[int]
    """Numbers of the devices it worked on."""


def level_rows(sampled: Sampled, windows: Windows, cycle: Ints) -> pl.DataFrame:
    """Rows of `LEVELS` for cycles; `cycle` is the number of each row of the table of cycles."""
    length = windows.end - windows.start
    spans = Spans(np.arange(len(length)), windows.start, windows.end, length, groups=len(length))
    found = [
        (label, each, level)
        for label, series in _by_label(sampled)
        for each, level in levels(series, spans)
    ]
    many = [len(level.group) for _, _, level in found]
    group = np.concatenate([np.zeros(0, dtype=np.int64), *(level.group for _, _, level in found)])
    values = (_values(series, level, windows) for _, series, level in found)
    texts: dict[str, Sequence[str | None]] = {
        "metric": [series.counter for _, series, _ in found],
        "device": [label for label, _, _ in found],
        "unit": [sampled.book.units[series.counter] for _, series, _ in found],
    }
    rows = np.repeat(np.arange(len(found)), many)
    return pl.DataFrame(
        {
            "cycle": cycle[windows.row[group]],
            **{name: pl.Series(each, dtype=pl.String).gather(rows) for name, each in texts.items()},
            "value": np.concatenate([np.zeros(0), *values]),
        },
        schema=LEVELS,
    ).sort("cycle", "metric", "device")


def _values(series: Series, level: Levels, windows: Windows) -> Floats:
    """What a counter read in cycles: its mean; a mask what it was nearest to their middle."""
    if not _MASK.search(series.counter):
        return level.mean
    middle = (windows.start + (windows.end - windows.start) // 2)[level.group]
    after = np.searchsorted(series.ts_ns, middle).clip(0, len(series.ts_ns) - 1)
    before = np.maximum(after - 1, 0)
    earlier = middle - series.ts_ns[before] < series.ts_ns[after] - middle
    return series.value[np.where(earlier, before, after)]


def _by_label(sampled: Sampled) -> Iterator[tuple[str, list[Series]]]:
    """Counters of each device, and those of the process and its host, each of them once."""
    book, devices, process = sampled.book, sampled.devices, sampled.process
    numbers = list(sampled.used) or _sampled(book)
    near_host = devices.places(process, HOST)
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


def _sampled(book: CounterBook) -> list[int]:
    """Devices with counters, where the process names none it worked on."""
    numbers = (place.removeprefix("device ") for place in book.places("device"))
    return sorted(int(number) for number in numbers if number.isdigit()) or [NO_NUMBER]


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
