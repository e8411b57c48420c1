"""More, fewer or other kernels per cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.calls.companions import more_of_all
from timesink.analyses.diagnosis.causes.calls.functions import Functions
from timesink.analyses.diagnosis.causes.calls.typical import slowdown
from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.claim import Claim, Demand, change, is_certain
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    cycle_evidence,
    time_evidence,
    told_name,
)
from timesink.analyses.diagnosis.causes.device.launching import Launching, launching
from timesink.analyses.diagnosis.causes.device.precision import precision
from timesink.analyses.diagnosis.causes.device.work import is_other_work, work_of
from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.analyses.statistics.moments import Floats
from timesink.model import amounts
from timesink.model.units import listed

_SHOWN = 3
_PART_OF_LEAST = 0.25
"""Part of the least that is worth a cause which a family must change by to be spoken of in one."""
_WORTH_ITSELF = 0.25
"""Part of what the host lost that kernels must have gained, to be spoken of without it."""
_STEADY = 1.2
_SAME_TOTAL = 0.05
_SAME_LAUNCHES = 0.1
"""Launches of a family per cycle that differ by less are as many."""


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """Kernels of one family that run more or less often, or on one side only."""

    name: str
    which: np.ndarray
    base: Floats
    """Time per cycle, as it would be on the new side had only the pace of all kernels changed."""
    new: Floats

    @property
    def rise_ns(self) -> float:
        return change(self.base, self.new)[0]


def kernel_change(case: Case) -> Iterator[Claim]:
    """Families whose kernels run more or less often, or were replaced, and take other time.

    What all kernels gained or lost alike is no part of it, and nor is a choice of other tiles that
    takes the same time.
    """
    if is_other_work(case, work_of(case)) or more_of_all(case.functions) is not None:
        return  # other sizes choose other kernels
    families = list(_changed_families(case))
    if not families:
        return
    host = _launching_of(case, families)
    around = host.sides
    base = np.sum([each.base for each in families], axis=0) + around[0]
    new = np.sum([each.new for each in families], axis=0) + around[1]
    _, interval = change(base, new)
    yield Claim(
        "kernel_change",
        (*_demands(families), *host.demands()),
        interval,
        _sentence(case, families, host),
        _advice(case, families),
        tuple(_evidence(case, families, new)),
        functions=host.functions,
    )


def _launching_of(case: Case, families: list[_Family]) -> Launching:
    """What the host does more or less with these kernels.

    Slower kernels that are fewer, or faster ones that are more, are two changes: in one sum the
    one would hide the other.
    """
    host = launching(case, [each.which for each in families])
    rise_ns = sum(each.rise_ns for each in families)
    host_ns = change(*host.sides)[0]
    is_apart = rise_ns * host_ns < 0 and abs(rise_ns) >= _WORTH_ITSELF * abs(host_ns)
    return host.left_out() if is_apart else host


def _changed_families(case: Case) -> Iterator[_Family]:
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
        family = _Family(name, which, base, functions.new[:, which].sum(axis=1))
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


def _demands(families: list[_Family]) -> Iterator[Demand]:
    for each in families:
        yield Demand(each.rise_ns, (f"device_compute/{each.name}",), structural=True)


# -- words -----------------------------------------------------------------------------------------


def _sentence(case: Case, families: list[_Family], host: Launching) -> str:
    ordered = sorted(families, key=lambda each: -abs(each.rise_ns))
    first = _family_told(case, ordered[0])
    others = [each.name for each in ordered[1:]]
    also = f" Kernels of {listed(others, _SHOWN)} changed as well." if others else ""
    return f"{first}{also}{_along_told(case, host)}"


def _along_told(case: Case, host: Launching) -> str:
    """Which operators run more or less often with the kernels, and what that takes."""
    functions = case.functions
    operators = host.which & functions.where(pl.col("function_class") == "cpu_operator")
    if not operators.any():
        return ""
    base, new = (float(side[host.which].sum()) for side in functions.times)
    names = [
        told_name(functions.table["function"][each]) for each in by_change(functions, operators)
    ]
    calls = functions.calls[1][operators].sum() - functions.calls[0][operators].sum()
    often = f"{'more' if calls > 0 else 'less'} often too"
    if host.ratio is not None:
        often = f"{host.ratio:.2f} times as often, as most of the kernels do"
    return f" {listed(names, _SHOWN)} run {often}: {case.times(base, new)} on the host per cycle."


def _family_told(case: Case, family: _Family) -> str:
    functions = case.functions
    calls = [float(side[family.which].sum()) for side in functions.calls]
    times = [float(side[family.which].sum()) for side in functions.times]
    return (
        f"{_launches_told(case, family.name, calls)}: {case.times(*times)} per cycle"
        f"{_names_told(case, family)}."
    )


def _launches_told(case: Case, name: str, calls: list[float]) -> str:
    rise = calls[1] - calls[0]
    if abs(rise) <= _SAME_LAUNCHES:
        return f"The {name} family runs other kernels"
    more = ("more" if rise > 0 else "fewer") if not case.backwards else "other"
    number = amounts.per_cycle(abs(rise))
    return f"{number} {more} {name} {'launch' if number == '1' else 'launches'} per cycle"


def _names_told(case: Case, family: _Family) -> str:
    """Which kernels came and which went, with their number formats."""
    names = case.functions.table["function"]
    base, new = case.functions.times
    order = by_change(case.functions, family.which)
    came = [names[each] for each in order if new[each] > base[each]]
    went = [names[each] for each in order if new[each] <= base[each]]
    instead = "instead of" if came else "without"
    told = f", {_kernels(came)}" if came else ""
    return f"{told}{f', {instead} {_kernels(went)}' if went else ''}"


def _kernels(names: list[str]) -> str:
    formats = sorted({found for name in names if (found := precision(name))})
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{told_name(names[0])}{more}{f' ({listed(formats)})' if formats else ''}"


def _advice(case: Case, families: list[_Family]) -> str:
    names = case.functions.table["function"]
    base, new = case.functions.times
    wide = {"fp32", "fp64"}
    for each in families:
        came = [column for column in np.flatnonzero(each.which) if new[column] > base[column]]
        if any(precision(names[int(column)]) in wide for column in came):
            return (
                "Check the precision of the inputs and of autocast: these kernels compute in full "
                "precision. Look up what launches them in the trace."
            )
    return "Look up in the trace which operators launch these kernels, and what changed about them."


def _evidence(case: Case, families: list[_Family], new: Floats) -> Iterator[Evidence]:
    for each in sorted(families, key=lambda each: -abs(each.rise_ns))[:_SHOWN]:
        for column in by_change(case.functions, each.which)[:_SHOWN]:
            yield time_evidence(case, column)
    if (cycle := cycle_evidence(case.new, new)) is not None:
        yield cycle
