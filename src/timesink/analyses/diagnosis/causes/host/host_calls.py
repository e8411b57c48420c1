"""Calls of the host that run more or less often, or that took the place of others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.calls.companions import more_calls, same_work
from timesink.analyses.diagnosis.causes.calls.functions import is_program
from timesink.analyses.diagnosis.causes.calls.typical import slowdown
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, Demand, change, is_certain
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    calls_evidence,
    cycle_evidence,
    told_name,
)
from timesink.analyses.diagnosis.causes.host.pace import marks_of
from timesink.model.units import listed

_HOST = ("host_cpu", "launch_gap", "idle")
_SHOWN = 4
_COMPILES = re.compile(r"compil|dynamo|inductor|nvrtc|ModuleLoad|autotun", re.IGNORECASE)


def host_calls(case: Case) -> Iterator[Claim]:
    """All calls of the host that run more or less often together, beyond the pace of the others.

    What runs more may stand for what runs less, so it is the sum that counts.
    """
    functions = case.functions
    works = functions.where(
        is_program(),
        # How often a mark comes is a matter of how cycles are told apart.
        ~pl.col("function").is_in([*case.taken, *case.blurred, *marks_of(case)]),
        pl.col("part") != "data_loading",
    )
    other = works & ((more_calls(functions) > 0) | (more_calls(functions.swapped()) > 0))
    if not other.any() or not same_work(functions):
        return
    pace = slowdown(functions.base, functions.new, works & functions.called_equally)
    base, new = functions.base[:, other].sum(axis=1), functions.new[:, other].sum(axis=1)
    rise, interval = change(pace * base, new)
    if abs(rise) < case.least_ns or not is_certain(interval):
        return
    shown = by_change(functions, other)
    names = [functions.table["function"][each] for each in shown]
    yield Claim(
        "host_code",
        (Demand(rise, _HOST, structural=True),),
        interval,
        _sentence(case, shown, names),
        _advice(names),
        (
            *(calls_evidence(case, each) for each in shown[:_SHOWN]),
            *filter(None, [cycle_evidence(case.new, new)]),
        ),
        functions=tuple(names),
    )


def _sentence(case: Case, shown: list[int], names: list[str]) -> str:
    base, new = (float(side[shown[0]]) for side in case.functions.calls)
    others = [told_name(name) for name in names[1:]]
    also = f", and {listed(others, _SHOWN)} run {_often(case, shown)} too" if others else ""
    times = [float(np.sum(side[shown])) for side in case.functions.times]
    return (
        f"{told_name(names[0])} runs {case.calls(base, new)} times per cycle{also}: together "
        f"{case.times(*times)} per cycle."
    )


def _often(case: Case, shown: list[int]) -> str:
    """Whether all of them run more often, or less."""
    before, after = case.functions.calls
    more = (after - before)[shown] > 0
    return "more often" if more.all() else "less often" if not more.any() else "more or less often"


def _advice(names: list[str]) -> str:
    if any(_COMPILES.search(name) for name in names):
        return "Find out what makes it compile again: shapes, dtypes or flags that change."
    return "Look up in the trace what calls these, and whether it is needed in every cycle."
