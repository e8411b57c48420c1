"""How sure the numbers of a sampled recording are: 95 % intervals by drawing launches anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.kernel_calls.calls import UTILISATIONS
from timesink.analyses.kernel_calls.classes import CLASSES
from timesink.analyses.kernel_calls.sampling import Sampling, sampled_functions
from timesink.model.arrays import Ints

Interval: TypeAlias = tuple[float, float]
_Amounts: TypeAlias = NDArray[np.floating]

_REDRAWN = 1000
_MOST_PARCELS = 8000
"""Launches that are drawn one by one; more are drawn in random parcels, which vary alike."""
_SEED = 1794
_TAILS = (0.025, 0.975)


def sample_intervals(calls: pl.DataFrame, sampling: Sampling) -> Mapping[str, Interval]:
    """95 % intervals for a device: `total_ns`, `tensor_pct`, ..., `both_low_share`, ...

    Launches are drawn anew, each as often as chance will have it: those of one kernel among
    themselves where every n-th of each kernel was measured, else all among all.  How many launches
    of a kernel ran after the last one seen is unknown: the intervals hold for none and for all.
    The calls need `class` and a duration.  Kernels that were never seen are in no interval.
    """
    generator = np.random.default_rng(_SEED)
    kernel = sampled_functions(calls)
    if sampling.per == "launch":
        kernel = np.zeros_like(kernel)
    seen = np.bincount(kernel, minlength=1)
    parcel, stratum = _parcels(kernel, seen, generator)
    # What is added up: time; time with a metric and that time's use; time by class.
    time = pl.col("dur_ns").cast(pl.Float64())
    uses = [
        part
        for column in UTILISATIONS
        for part in (
            pl.when(pl.col(column).is_not_null()).then(time).otherwise(0.0).alias(f"{column} time"),
            (time * pl.col(column)).fill_null(0.0).alias(column),
        )
    ]
    classes = [
        pl.when(pl.col("class") == name).then(time).otherwise(0.0).alias(name) for name in CLASSES
    ]
    amounts = _summed(calls.select(time, *uses, *classes).to_numpy(), parcel, len(stratum))
    often = _drawn(stratum, generator)
    found: dict[str, Interval] = {}
    for launches in _counts(seen, sampling, generator):
        weight = launches / np.maximum(seen, 1)
        for name, values in _statistics((often * weight[..., stratum]) @ amounts):
            low, high = (float(value) for value in np.quantile(values, _TAILS))
            before = found.get(name, (low, high))
            found[name] = (min(low, before[0]), max(high, before[1]))
    return found


def _counts(seen: Ints, sampling: Sampling, generator: np.random.Generator) -> Iterator[_Amounts]:
    """Launches of each kernel as they may have been: all at their fewest or most, and mixed."""
    fewest, most = sampling.fewest(seen), sampling.most(seen)
    yield fewest
    if sampling.per == "kernel":
        yield most
        ratio = most / fewest
        yield fewest * ratio ** generator.random((_REDRAWN, len(seen)))


def _statistics(sums: _Amounts) -> Iterator[tuple[str, _Amounts]]:
    """Each number and its value in every draw."""
    total = sums[:, 0]
    yield "total_ns", total
    for place, column in enumerate(UTILISATIONS):
        time, use = sums[:, 1 + 2 * place], sums[:, 2 + 2 * place]
        if time.any():
            yield column, use[time > 0] / time[time > 0]
    if total.any():
        for place, name in enumerate(CLASSES, 1 + 2 * len(UTILISATIONS)):
            yield f"{name}_share", sums[total > 0, place] / total[total > 0]


def _parcels(kernel: Ints, seen: Ints, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """A parcel for each launch, and the kernel of each parcel.

    The sum of k parcels drawn from k varies as that of n launches drawn from n.
    """
    strata = max(int(np.count_nonzero(seen)), 1)
    parcels = np.minimum(seen, max(_MOST_PARCELS // strata, 2))
    first = np.cumsum(parcels) - parcels
    shuffled = generator.permutation(len(kernel))
    by_kernel = shuffled[np.argsort(kernel[shuffled], kind="stable")]
    place = np.arange(len(kernel)) - np.repeat(np.cumsum(seen) - seen, seen)
    parcel = np.empty(len(kernel), dtype=np.int64)
    parcel[by_kernel] = (first[kernel[by_kernel]]) + place % parcels[kernel[by_kernel]]
    return parcel, np.repeat(np.arange(len(seen)), parcels)


def _summed(amounts: _Amounts, parcel: Ints, parcels: int) -> _Amounts:
    return np.stack(
        [np.bincount(parcel, column, minlength=parcels) for column in amounts.T], axis=1
    )


def _drawn(stratum: Ints, generator: np.random.Generator) -> _Amounts:
    """How often each parcel is drawn, draw by draw, each from the parcels of its kernel."""
    size = np.bincount(stratum)
    first = np.cumsum(size) - size
    rows = len(stratum)
    chosen = generator.random((_REDRAWN, rows)) * size[stratum]
    chosen = chosen.astype(np.int64) + first[stratum] + rows * np.arange(_REDRAWN)[:, None]
    often = np.bincount(chosen.ravel(), minlength=_REDRAWN * rows)
    return often.reshape(_REDRAWN, rows).astype(np.float64)
