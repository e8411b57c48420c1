"""Kernels that take longer for as many launches, while the others keep their pace."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.calls.functions import Functions
from timesink.analyses.diagnosis.causes.calls.typical import excess
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, Demand, change
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    cycle_evidence,
    time_evidence,
    told_name,
)
from timesink.analyses.diagnosis.causes.device.work import is_other_work, work_of
from timesink.model import amounts
from timesink.model.schema import HOST_DEVICE

_SAME_TIME = 0.1
_NEARLY_ALL = 0.5
"""Part of the time: the kernel that is judged has some of the rest."""
_FEWEST = 4
"""Cycles a side needs before all of one being longer than all of the other means something."""


def longer_kernels(case: Case) -> Iterator[Claim]:
    """Kernels that stand out of the pace of all, in every cycle or over larger grids.

    On a device with an anomaly, that explains them: contention does not hit all kernels alike.
    """
    functions, work = case.functions, work_of(case)
    if is_other_work(case, work):
        return
    odd = {each.device for each in case.anomalies} - {HOST_DEVICE}
    kernels = functions.called_equally & functions.where(
        pl.col("part") == "device_compute", ~pl.col("device").is_in(list(odd))
    )
    found = excess(functions.base, functions.new, kernels)
    sure = work.grew.copy()
    if _is_steady(functions, kernels):
        sure |= _never_so_short(functions.base, functions.new)
    for column in by_change(functions, kernels & found.stands_out & sure):
        rise, interval = change(found.base[:, column], found.new[:, column])
        if rise >= case.least_ns:
            yield _claim(case, column, float(work.ratio[column]), rise, interval)


def _is_steady(functions: Functions, kernels: np.ndarray) -> bool:
    """Whether nearly all of the time of kernels is in ones that take what they took.

    Where they do not, the device is shared, and any kernel may be the one that is held up.
    """
    base, new = functions.times
    same = kernels & (np.abs(new - base) <= _SAME_TIME * base)
    return float(base[same].sum()) >= _NEARLY_ALL * float(base[kernels].sum())


def _never_so_short(base: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Which columns are longer in every new cycle than they ever were."""
    if min(len(base), len(new)) < _FEWEST:
        return np.zeros(base.shape[1], dtype=bool)
    return np.asarray(new.min(axis=0) > base.max(axis=0))


def _claim(
    case: Case,
    column: int,
    ratio: float,
    rise: float,
    interval: tuple[float, float] | None,
) -> Claim:
    row = case.functions.table.row(column, named=True)
    base, new = (float(side[column]) for side in case.functions.times)
    grown = np.isfinite(ratio) and ratio > 1
    given = f" over grids {amounts.digits(ratio)} times as large" if grown else ""
    cycle = cycle_evidence(case.new, case.functions.new[:, column])
    return Claim(
        "kernel_change",
        (Demand(rise, (f"device_compute/{row['family']}",)),),
        interval,
        f"{told_name(row['function'])} takes {case.times(base, new)} per cycle in as many "
        f"launches{given}, while the other kernels keep their pace.",
        "Check the shapes and the layout of its inputs; look up in the trace what launches it.",
        (time_evidence(case, column), *([] if cycle is None else [cycle])),
        device=row["device"],
    )
