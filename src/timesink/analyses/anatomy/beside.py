"""Counters that were sampled beside a behaviour table, cycle by cycle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import LEVELS
from timesink.analyses.anatomy.levels import OF_DEVICE
from timesink.analyses.behaviour.places import HOST, place_of, process_place
from timesink.analyses.behaviour.samples import Series, Spans, levels
from timesink.model.arrays import Floats, Ints
from timesink.model.counter_units import quantity, unit_of
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import listed

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
    number = cycles["cycle"].to_numpy()
    found, mixed = _host_series(counters, process)
    units = {each.counter: unit for each, unit in found}
    parts = [
        pl.DataFrame(
            {
                "cycle": number[level.group],
                "metric": each.counter,
                "device": HOST_DEVICE,
                "unit": units[each.counter],
                "value": level.mean,
            },
            schema=LEVELS,
        )
        for each, level in levels([each for each, _ in found], spans)
    ]
    return pl.concat([pl.DataFrame(schema=LEVELS), *parts]), _left_out(mixed)


def _left_out(mixed: Sequence[str]) -> tuple[str, ...]:
    if not mixed:
        return ()
    return (f"counters that mix several devices were left out: {listed(sorted(mixed))}",)


def _host_series(
    counters: pl.DataFrame, process: str
) -> tuple[list[tuple[Series, str | None]], list[str]]:
    """Counters of the host and the process with their units, the nearer one of two; and mixed ones.

    Of a counter that is mixed in one place and not in the other, the latter is taken.
    """
    samples = counters.select(pl.col("counter", "device").cast(pl.String), "ts_ns", "value").filter(
        pl.col("value").is_finite()
    )
    nearness = {process_place(process): 0, HOST: 1}
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
    if not len(times):
        return np.zeros(0, dtype=np.int64)
    gaps = np.diff(times)
    apart = gaps * _ROUND > _usual_gap(gaps)
    return np.concatenate([[0], np.cumsum(apart)])


def _usual_gap(gaps: Ints) -> int:
    """The median of gaps, each weighed by its length."""
    ordered = np.sort(gaps)
    # Without the longest: it may be a pause that is longer than all the rest together.
    passed = np.cumsum(ordered[:-1]) if len(ordered) > 1 else np.cumsum(ordered)
    if not len(passed):
        return 0
    return int(ordered[np.searchsorted(passed, passed[-1] / 2)])
