"""Cycles that are given other work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.calls.companions import more_of_all
from timesink.analyses.diagnosis.causes.calls.functions import computes_on_host
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, Demand, change
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    cycle_evidence,
    time_evidence,
    told_name,
)
from timesink.analyses.diagnosis.causes.device.launching import launching
from timesink.analyses.diagnosis.causes.device.work import is_other_work, work_of
from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.model import amounts

_SHOWN = 3
ADVICE = (
    "Compare runs of the same batch size, sequence length and model, or take the change as the "
    "price of the larger work."
)


def workload_change(case: Case) -> Iterator[Claim]:
    """Nearly all functions run more or less often, or most kernels do so over other grids.

    Libraries choose other kernels for other sizes: what all families gained is then one thing.
    Without a device, operators are the work: see `host.more_operators`.
    """
    if computes_on_host(case.functions):
        return
    ratio = more_of_all(case.functions)
    if ratio is not None:
        yield _more_of_all(case, ratio)
        return
    work = work_of(case)
    if not is_other_work(case, work):
        return
    base, new = (side.times_of("device_compute", "copies") for side in (case.base, case.new))
    _, interval = change(base, new)
    shown = by_change(case.functions, work.changed)
    yield Claim(
        "workload_change",
        tuple(_device_demands(case)),
        interval,
        _sentence(case, work.ratio, shown),
        ADVICE,
        tuple(_evidence(case, work.ratio, shown, new)),
    )


def _device_demands(case: Case) -> Iterator[Demand]:
    for part in case.attribution:
        if part.part in {"device_compute", "copies"}:
            yield Demand(part.delta_ns, (part.name,))


def _more_of_all(case: Case, ratio: float) -> Claim:
    functions = case.functions
    kernels = functions.where(pl.col("part") == "device_compute")
    host = launching(case, [kernels])
    times = [side.times_of("device_compute", "copies") for side in (case.base, case.new)]
    base, new = (device + side for device, side in zip(times, host.sides, strict=True))
    _, interval = change(base, new)
    calls = case.calls(*(float(side[kernels].sum()) for side in functions.calls))
    took = case.times(*(float(side[host.which | kernels].sum()) for side in functions.times))
    shown = by_change(functions, kernels)[:_SHOWN]
    cycle = cycle_evidence(case.new, new)
    return Claim(
        "workload_change",
        (*_device_demands(case), *host.demands()),
        interval,
        f"Cycles hold other work: nearly all functions run {ratio:.2f} times as often, with "
        f"{calls} kernels per cycle. With their operators and launches they take {took} per cycle.",
        ADVICE,
        (*(time_evidence(case, each) for each in shown), *([] if cycle is None else [cycle])),
        functions=host.functions,
    )


def _sentence(case: Case, ratio: np.ndarray, shown: list[int]) -> str:
    kernels = case.functions.called_equally & case.functions.where(
        pl.col("part") == "device_compute"
    )
    usual = float(np.median(ratio[shown]))
    name = told_name(case.functions.table["function"][shown[0]])
    times = (float(side[kernels].sum()) for side in case.functions.times)
    return (
        f"Kernels are given other work: {len(shown)} of {int(kernels.sum())} that run as often as "
        f"before have grids {usual:.2f} times as large, {name} among them. All of these take "
        f"{case.times(*times)} per cycle."
    )


def _evidence(
    case: Case, ratio: np.ndarray, shown: list[int], new: np.ndarray
) -> Iterator[Evidence]:
    for column in shown[:_SHOWN]:
        told = time_evidence(case, column)
        by = amounts.digits(float(ratio[column]))
        yield Evidence(
            told.kind,
            f"{told.text}, {by} times the work per launch",
            function=told.function,
            device=told.device,
            unit=told.unit,
            base=told.base,
            new=told.new,
        )
    if (cycle := cycle_evidence(case.new, new)) is not None:
        yield cycle
