"""Whether calls of the device are given more work than they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.diagnosis.causes.calls.functions import on_host
from timesink.analyses.diagnosis.causes.case import Case

_SAME_WORK = 0.02
"""Blocks or bytes per launch that differ by less than this part are as many."""
_MOST_OF_IT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What is known of the work of functions launched equally often on both sides."""

    ratio: np.ndarray
    """How many times as much work a launch is given; NaN where that is not known."""

    @property
    def grew(self) -> np.ndarray:
        """Which are given more."""
        return np.asarray(np.nan_to_num(self.ratio, nan=1.0) > 1 + _SAME_WORK)

    @property
    def changed(self) -> np.ndarray:
        """Which are given more or less."""
        return np.asarray(np.abs(np.nan_to_num(self.ratio, nan=1.0) - 1) > _SAME_WORK)


def work_of(case: Case) -> Work:
    """Work per launch of every function of the case."""
    base, new = (_per_launch(side.anatomy) for side in (case.base, case.new))
    equal = case.functions.called_equally
    on_device = case.functions.where(~on_host())
    ratios = [
        _ratio(base.get(name), new.get(name)) if often and device else np.nan
        for name, often, device in zip(
            case.functions.table["function"], equal, on_device, strict=True
        )
    ]
    return Work(np.array(ratios, dtype=np.float64))


def is_other_work(case: Case, work: Work) -> bool:
    """Whether most of the time of kernels launched equally often is in ones given other work."""
    kernels = case.functions.called_equally & case.functions.where(
        pl.col("part") == "device_compute"
    )
    base, new = case.functions.times
    total = float((base + new)[kernels].sum())
    other = float((base + new)[kernels & work.changed].sum())
    return total > 0 and other >= _MOST_OF_IT * total


def _per_launch(anatomy: Anatomy) -> Mapping[str, tuple[float, float]]:
    sums = anatomy.launches.group_by("function").agg(pl.col("calls", "blocks", "bytes").sum())
    return {name: (blocks / calls, size / calls) for name, calls, blocks, size in sums.iter_rows()}


def _ratio(base: tuple[float, float] | None, new: tuple[float, float] | None) -> float:
    if base is None or new is None:
        return np.nan
    known = [now / before for before, now in zip(base, new, strict=True) if before > 0 and now > 0]
    return known[0] if known else np.nan
