"""More waits for the device per cycle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.calls.added_calls import added_calls, added_in_cycles
from timesink.analyses.diagnosis.causes.calls.companions import along, more_calls, same_work
from timesink.analyses.diagnosis.causes.calls.functions import Functions, on_host, waits
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import HOST_PARTS, Claim, Demand, change
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    calls_evidence,
    cycle_evidence,
    told_name,
)
from timesink.analyses.statistics.moments import Floats
from timesink.model.units import listed

_SHOWN = 4
_EXPOSED = ("host_cpu", "launch_gap", "idle")
"""Where the host's work shows that ran beside the device before."""


def synchronisation(case: Case) -> Iterator[Claim]:
    """Calls that wait for the device and run more often, with all that came with them.

    The time is that of the waits, of what runs more often by the same number, and of the work of
    the host that the device no longer runs beside.
    """
    functions = case.functions
    rises = more_calls(functions)
    more = (rises > 0) & functions.where(pl.col("function_class") == "cpu_sync")
    if not more.any() or not same_work(functions):
        return
    first = int(np.argmax(np.where(more, rises, 0)))
    taken = more | along(functions, float(rises[first]))
    yield _claim(case, first, taken)


def _claim(case: Case, first: int, taken: np.ndarray) -> Claim:
    functions = case.functions
    own = added_in_cycles(functions, taken, added_calls(functions, taken))
    exposed = _exposed(case)
    total, interval = change(own[0] + exposed[0], own[1] + exposed[1])
    shown = by_change(functions, taken)
    return Claim(
        "synchronisation",
        (
            *_demands(functions, taken),
            Demand(total - _rise(own), _EXPOSED),
        ),
        interval,
        _sentence(case, first, shown),
        "Find what reads a value of the device on the host (.item(), .cpu(), print, a condition on "
        "a tensor) and do it once per cycle, or on the device.",
        (
            calls_evidence(case, first),
            *(calls_evidence(case, each) for each in shown[:_SHOWN] if each != first),
            *filter(None, [cycle_evidence(case.new, own[1])]),
        ),
        functions=tuple(functions.table["function"].filter(pl.Series(taken))),
    )


def _rise(own: tuple[Floats, Floats]) -> float:
    return float(own[1].mean() - own[0].mean()) if min(map(len, own)) else 0.0


def _demands(functions: Functions, taken: np.ndarray) -> Iterator[Demand]:
    parts = functions.table.filter(pl.Series(taken)).select("part", "family")
    rises = parts.with_columns(rise=pl.Series(added_calls(functions, taken)))
    summed = rises.group_by("part", "family").agg(pl.col("rise").sum())
    for part, family, rise in summed.sort("part", "family").iter_rows():
        name = part if family is None else f"{part}/{family}"
        yield Demand(rise, (name,), structural=True)


def _exposed(case: Case) -> tuple[Floats, Floats]:
    """Less the host's work that ran beside the device, per cycle: it grows where that is lost."""
    found = []
    for side, times in ((case.base, case.functions.base), (case.new, case.functions.new)):
        works = case.functions.where(on_host(), ~waits())
        parts = side.anatomy.parts.filter(pl.col("part").cast(pl.String).is_in(HOST_PARTS))
        summed = dict(parts.group_by("cycle").agg(pl.col("dur_ns").sum()).iter_rows())
        alone = np.array([summed.get(cycle, 0.0) for cycle in side.cycles], dtype=np.float64)
        found.append(alone - times[:, works].sum(axis=1))
    if not (case.base.anatomy.from_timeline and case.new.anatomy.from_timeline):
        return np.zeros(len(found[0])), np.zeros(len(found[1]))
    lost = found[1].mean() - found[0].mean() if min(map(len, found)) else 0.0
    if lost <= 0:
        return np.zeros(len(found[0])), np.zeros(len(found[1]))
    return found[0], found[1]


def _sentence(case: Case, first: int, shown: list[int]) -> str:
    names = case.functions.table["function"]
    base, new = (float(side[first]) for side in case.functions.calls)
    others = list(dict.fromkeys(told_name(names[each]) for each in shown if each != first))
    along = (
        f" With what came along ({listed(others, _SHOWN)}), these calls"
        if others
        else " These calls"
    )
    took = case.times(*(float(side[shown].sum()) for side in case.functions.times))
    return (
        f"{told_name(names[first])} waits for the device {case.calls(base, new)} times per cycle."
        f"{along} take {took} per cycle."
    )
