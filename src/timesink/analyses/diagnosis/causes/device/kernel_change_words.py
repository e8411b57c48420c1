"""What is said about more, fewer or other kernels per cycle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from timesink.analyses.diagnosis.causes.case import Case
from timesink.analyses.diagnosis.causes.claims.evidence import (
    by_change,
    cycle_evidence,
    time_evidence,
    told_name,
)
from timesink.analyses.diagnosis.causes.device.changed_families import Family
from timesink.analyses.diagnosis.causes.device.launching import Launching
from timesink.analyses.diagnosis.causes.device.precision import precision
from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.analyses.statistics.moments import Floats
from timesink.model import amounts
from timesink.model.units import listed

_SHOWN = 3
_FULL = frozenset({"fp32", "fp64"})
_GREW_MORE = 1.1
_SAME_LAUNCHES = 0.1
"""Launches of a family per cycle that differ by less are as many."""


def sentence(case: Case, families: list[Family], host: Launching) -> str:
    """What changed about the family that changed most, and what else did with it."""
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


def _family_told(case: Case, family: Family) -> str:
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


def _names_told(case: Case, family: Family) -> str:
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


def advice(case: Case) -> str:
    """What to look at: the precision, where kernels in full precision grew more than the others."""
    functions = case.functions
    kernels = functions.where(pl.col("part") == "device_compute")
    full = kernels & np.array([precision(name) in _FULL for name in functions.table["function"]])
    wide = [float(side[full].sum()) for side in functions.times]
    others = [float(side[kernels & ~full].sum()) for side in functions.times]
    if wide[1] > wide[0] and wide[1] * others[0] > _GREW_MORE * wide[0] * others[1]:
        return (
            "Check the precision of the inputs and of autocast: these kernels compute in full "
            "precision. Look up what launches them in the trace."
        )
    return "Look up in the trace which operators launch these kernels, and what changed about them."


def evidence(case: Case, families: list[Family], new: Floats) -> Iterator[Evidence]:
    """Kernels that changed most of each family, and the cycle in which they took longest."""
    for each in sorted(families, key=lambda each: -abs(each.rise_ns))[:_SHOWN]:
        for column in by_change(case.functions, each.which)[:_SHOWN]:
            yield time_evidence(case, column)
    if (cycle := cycle_evidence(case.new, new)) is not None:
        yield cycle
