"""Families whose kernels run more or less often, or were replaced, and take other time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.calls.functions import Functions
from timesink.analyses.diagnosis.causes.calls.typical import slowdown
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import change, is_certain
from timesink.analyses.statistics.moments import Floats

_PART_OF_LEAST = 0.25
"""Part of the least that is worth a cause which a family must change by to be spoken of in one."""
_STEADY = 1.2
_SAME_TOTAL = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Kernels of one family that run more or less often, or on one side only."""

    name: str
    which: np.ndarray
    base: Floats
    """Time per cycle, as it would be on the new side had only the pace of all kernels changed."""
    new: Floats

    @property
    def rise_ns(self) -> float:
        return change(self.base, self.new)[0]


def changed_families(case: Case) -> Iterator[Family]:
    """Families whose time in kernels that came, went or run more or less often changed for sure."""
    functions = case.functions
    computing = functions.where(
        pl.col("part") == "device_compute", ~pl.col("function").is_in(list(case.taken))
    )
    equal = computing & functions.called_equally
    pace = slowdown(functions.base, functions.new, equal)
    if only_swapped(functions):
        return
    for name in functions.table["family"].drop_nulls().unique().sort():
        which = computing & ~equal & functions.where(pl.col("family") == name)
        if not which.any():
            continue
        base = functions.base[:, which].sum(axis=1) * pace
        family = Family(name, which, base, functions.new[:, which].sum(axis=1))
        rise, interval = change(family.base, family.new)
        if abs(rise) >= _PART_OF_LEAST * case.least_ns and is_certain(interval):
            yield family


def only_swapped(functions: Functions) -> bool:
    """Whether the device got slower or faster, and libraries chose other kernels for it.

    They measure which kernel is the fastest: on a device that others use, another one is.  Then as
    many are launched in all, and those that stayed changed their pace too.
    """
    kernels = functions.where(pl.col("part") == "device_compute")
    pace = slowdown(functions.base, functions.new, kernels & functions.called_equally)
    base, new = (float(calls[kernels].sum()) for calls in functions.calls)
    as_many = abs(new - base) <= _SAME_TOTAL * max(base, new)
    return as_many and not 1 / _STEADY <= pace <= _STEADY
