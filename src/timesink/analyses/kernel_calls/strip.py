"""Utilisation along a run: means of equal stretches of kernel time, in launch order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from timesink.analyses.kernel_calls.calls import UTILISATIONS
from timesink.analyses.kernel_calls.classes import CLASSES
from timesink.analyses.kernel_calls.sampling import call_time
from timesink.model.arrays import Floats

_Within: TypeAlias = Callable[[Floats], Floats]
_LEAST = 1e-6
"""Part of a stretch below which a metric counts as missing there: rounding leaves less."""


@dataclass(frozen=True, eq=False)
class Strip:
    """A run cut into stretches of the same kernel time."""

    total_ns: float
    means_pct: Mapping[str, Floats]
    """By metric (`tensor_pct`, ...), weighted by time; NaN where no launch of a stretch has it."""
    class_shares: Floats
    """Fractions of each stretch, one row per stretch, in the order of `CLASSES`."""

    @property
    def stretches(self) -> int:
        return len(self.class_shares)


def strip(calls: pl.DataFrame, stretches: int, metrics: tuple[str, ...] = UTILISATIONS) -> Strip:
    """The launches of one device one after the other, as means of equal stretches of their time.

    A launch counts in every stretch it reaches into, by its time there.  Without any time there
    are no stretches.
    """
    time = calls.select(call_time().fill_null(0.0)).to_series().to_numpy()
    ends = np.concatenate(([0.0], np.cumsum(time)))
    total = float(ends[-1])
    if not total:
        return Strip(0.0, {name: np.empty(0) for name in metrics}, np.empty((0, len(CLASSES))))
    edges = np.linspace(0, total, stretches + 1)

    def within(amounts: Floats) -> Floats:
        """What each launch brings, spread evenly over its time and summed per stretch."""
        reached = np.concatenate(([0.0], np.cumsum(amounts)))
        return np.diff(np.interp(edges, ends, reached))

    length = total / stretches
    kinds = calls["class"].cast(pl.String())
    return Strip(
        total_ns=total,
        means_pct={
            name: _mean(calls[name].cast(pl.Float64()).to_numpy(), time, length, within)
            for name in metrics
        },
        class_shares=np.stack(
            [within(time * (kinds == name).to_numpy()) / length for name in CLASSES], axis=1
        ),
    )


def _mean(values: Floats, time: Floats, length: float, within: _Within) -> Floats:
    known = ~np.isnan(values)
    covered = within(np.where(known, time, 0.0))
    amount = within(np.where(known, values, 0.0) * time)
    enough = covered > _LEAST * length
    return np.where(enough, amount / np.where(enough, covered, 1.0), np.nan)
