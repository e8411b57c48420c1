"""Cycles that are given other work by a program that computes on the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.calls.companions import in_proportion
from timesink.analyses.diagnosis.causes.calls.functions import Functions, computes_on_host
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, change
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    calls_evidence,
    cycle_evidence,
    told_name,
)
from timesink.analyses.diagnosis.causes.device.launching import Launching, common_ratio
from timesink.analyses.diagnosis.causes.device.workload_change import ADVICE

_MOST_OF_IT = 0.5
_SHOWN = 4


def more_operators(case: Case) -> Iterator[Claim]:
    """Operators that take most of the time run more or less often, all in one proportion.

    A model with more layers does that, between the same ends.  A few operators that are more, or
    many short ones, are no other work but other code.
    """
    if not computes_on_host(case.functions):
        return
    operators = case.functions.where(pl.col("function_class") == "cpu_operator")
    which, ratio = _in_one_proportion(case.functions, operators)
    which &= case.functions.where(~pl.col("function").is_in([*case.taken, *case.blurred]))
    total = np.sum(case.functions.times, axis=0)
    if ratio is None or total[which].sum() < _MOST_OF_IT * total[operators].sum():
        return
    host = Launching(case, which, ratio)
    base, new = host.sides
    _, interval = change(base, new)
    shown = by_change(case.functions, which)
    cycle = cycle_evidence(case.new, case.functions.new[:, which].sum(axis=1))
    yield Claim(
        "workload_change",
        tuple(host.demands()),
        interval,
        _sentence(case, which, ratio, shown[0]),
        ADVICE,
        (*(calls_evidence(case, each) for each in shown[:_SHOWN]), *filter(None, [cycle])),
        functions=host.functions,
    )


def _in_one_proportion(
    functions: Functions, operators: np.ndarray
) -> tuple[np.ndarray, float | None]:
    ratio = common_ratio(functions, operators & ~functions.called_equally)
    if ratio is None:
        return np.zeros(len(operators), dtype=bool), None
    seen, often = (functions, ratio) if ratio > 1 else (functions.swapped(), 1 / ratio)
    return operators & in_proportion(seen, often), ratio


def _sentence(case: Case, which: np.ndarray, ratio: float, first: int) -> str:
    functions = case.functions
    name = told_name(functions.table["function"][first])
    often = case.calls(*(float(side[first]) for side in functions.calls))
    took = case.times(*(float(side[which].sum()) for side in functions.times))
    return (
        f"Cycles hold other work: {int(which.sum())} operators run about {ratio:.2f} times as "
        f"often, {name} {often} times per cycle among them. Together they take {took} per cycle."
    )
