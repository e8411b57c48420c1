"""Causes in the work that the device is given: other kernels, longer ones, other work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
import polars as pl

from timesink.model import units as amounts
from timesink.model.arrays import Floats
from timesink.model.findings import Evidence
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import listed
from timesink.rules.case import DiagnosisCase, both_ways, by_change, told_name
from timesink.rules.case_functions import CaseFunctions, computes_on_host, more_of_all
from timesink.rules.launches import (
    SAME_WORK,
    Launching,
    has_other_work,
    is_other_work,
    launching,
    work_ratios,
)
from timesink.rules.ledger import Claim, Demand, change, is_certain
from timesink.rules.pace import excess, slowdown

_FORMATS = (
    ("fp8", r"e4m3|e5m2|fp8|float8"),
    ("int8", r"(?<![a-z])(int8|s8_s8|i8i8|imma|igemm)(?![a-z0-9])"),
    ("bf16", r"bf16|bfloat16"),
    ("tf32", r"tf32"),
    ("fp16", r"(?<![a-z])(half|hgemm|fp16|f16|h884|h1688|h16816|__half)(?![a-z0-9])|f16f16"),
    ("fp64", r"(?<![a-z])(double|dgemm|fp64|f64)(?![a-z0-9])|f64f64"),
    ("fp32", r"f32f32|(?<![a-z])(sgemm|fp32|float|f32)(?![a-z0-9])|simt_s"),
)
"""The first that is found counts: kernels of a narrow format often name a wide accumulator too."""
_RULES = tuple((name, re.compile(rule, re.IGNORECASE)) for name, rule in _FORMATS)
_FULL = frozenset({"fp32", "fp64"})
_COMPUTES = pl.col("part") == "device_compute"
_PART_OF_LEAST = 0.25
"""Part of the least that is worth a cause which a family must change by to be spoken of in one."""
_STEADY = 1.2
_SAME_TOTAL = 0.05
_WORTH_ITSELF = 0.25
"""Part of what the host lost that kernels must have gained, to be spoken of without it."""
_SHOWN = 3
_GREW_MORE = 1.1
_SAME_LAUNCHES = 0.1
"""Launches of a family per cycle that differ by less are as many."""
_SAME_TIME = 0.1
_NEARLY_ALL = 0.5
"""Part of the time: the kernel that is judged has some of the rest."""
_FEWEST = 4
"""Cycles a side needs before all of one being longer than all of the other means something."""


def precision(kernel: str) -> str | None:
    """The narrowest number format a kernel's name speaks of; None where it does not."""
    return next((name for name, rule in _RULES if rule.search(kernel)), None)


# -- other kernels ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FamilyChange:
    """Kernels of one family that run more or less often, or on one side only."""

    name: str
    which: np.ndarray
    base: Floats
    """Time per cycle, as it would be on the new side had only the pace of all kernels changed."""
    new: Floats
    rise_ns: float


def _changed_families(case: DiagnosisCase) -> Iterator[FamilyChange]:
    """Families whose time in kernels that came, went or run more or less often changed for sure."""
    functions = case.functions
    computing = functions.where(_COMPUTES, ~pl.col("function").is_in(list(case.taken)))
    equal = computing & functions.called_equally
    pace = slowdown(functions.base, functions.new, equal)
    if only_swapped(functions):
        return
    for name in functions.table["family"].drop_nulls().unique().sort():
        which = computing & ~equal & functions.where(pl.col("family") == name)
        if not which.any():
            continue
        base = functions.base[:, which].sum(axis=1) * pace
        new = functions.new[:, which].sum(axis=1)
        rise, interval = change(base, new)
        if abs(rise) >= _PART_OF_LEAST * case.least_ns and is_certain(interval):
            yield FamilyChange(name, which, base, new, rise)


def only_swapped(functions: CaseFunctions) -> bool:
    """Whether the device got slower or faster, and libraries chose other kernels for it.

    They measure which kernel is the fastest: on a device that others use, another one is.  Then as
    many are launched in all, and those that stayed changed their pace too.
    """
    kernels = functions.where(_COMPUTES)
    pace = slowdown(functions.base, functions.new, kernels & functions.called_equally)
    base, new = (float(calls[kernels].sum()) for calls in functions.calls)
    as_many = abs(new - base) <= _SAME_TOTAL * max(base, new)
    return as_many and not 1 / _STEADY <= pace <= _STEADY


def kernel_change(case: DiagnosisCase) -> Iterator[Claim]:
    """Families whose kernels run more or less often, or were replaced, and take other time.

    What all kernels gained or lost alike is no part of it, and nor is a choice of other tiles that
    takes the same time.
    """
    if is_other_work(case, work_ratios(case)) or more_of_all(case.functions) is not None:
        return  # other sizes choose other kernels
    families = list(_changed_families(case))
    if not families:
        return
    host = _launching_of(case, families)
    around = host.sides
    base = np.sum([each.base for each in families], axis=0) + around[0]
    new = np.sum([each.new for each in families], axis=0) + around[1]
    _, interval = change(base, new)
    ordered = sorted(families, key=lambda each: -abs(each.rise_ns))
    others = [each.name for each in ordered[1:]]
    also = f" Kernels of {listed(others, _SHOWN)} changed as well." if others else ""
    shown = [by_change(case.functions, each.which)[:_SHOWN] for each in ordered[:_SHOWN]]
    yield case.claim(
        "kernel_change",
        f"{_family_told(case, ordered[0])}{also}{_along_told(case, host)}",
        (
            *(
                Demand(each.rise_ns, (f"device_compute/{each.name}",), structural=True)
                for each in families
            ),
            *host.demands(),
        ),
        interval,
        case.evidence([column for each in shown for column in each], new),
        advice="full_precision" if _is_wider(case.functions) else "advice",
        functions=host.functions,
    )


def _launching_of(case: DiagnosisCase, families: list[FamilyChange]) -> Launching:
    """What the host does more or less with these kernels.

    Slower kernels that are fewer, or faster ones that are more, are two changes: in one sum the
    one would hide the other.
    """
    host = launching(case, [each.which for each in families])
    rise_ns = sum(each.rise_ns for each in families)
    host_ns = change(*host.sides)[0]
    is_apart = rise_ns * host_ns < 0 and abs(rise_ns) >= _WORTH_ITSELF * abs(host_ns)
    return Launching(case, np.zeros_like(host.which), None) if is_apart else host


def _along_told(case: DiagnosisCase, host: Launching) -> str:
    """Which operators run more or less often with the kernels, and what that takes."""
    functions = case.functions
    operators = host.which & functions.where(pl.col("function_class") == "cpu_operator")
    if not operators.any():
        return ""
    names = case.names(by_change(functions, operators))
    calls = functions.calls[1][operators].sum() - functions.calls[0][operators].sum()
    often = f"{'more' if calls > 0 else 'less'} often too"
    if host.ratio is not None:
        often = f"{host.ratio:.2f} times as often, as most of the kernels do"
    return f" {listed(names, _SHOWN)} run {often}: {case.took(host.which)} on the host per cycle."


def _family_told(case: DiagnosisCase, family: FamilyChange) -> str:
    """How many more launches there are, and which kernels came and which went."""
    functions = case.functions
    calls = [float(side[family.which].sum()) for side in functions.calls]
    rise = calls[1] - calls[0]
    number = amounts.per_cycle(abs(rise))
    more = ("more" if rise > 0 else "fewer") if not case.backwards else "other"
    launches = f"{number} {more} {family.name} launch{'es' * (number != '1')} per cycle"
    if abs(rise) <= _SAME_LAUNCHES:
        launches = f"The {family.name} family runs other kernels"
    base, new = functions.times
    order = by_change(functions, family.which)
    names = functions.table["function"]
    came = [names[each] for each in order if new[each] > base[each]]
    went = [names[each] for each in order if new[each] <= base[each]]
    instead = "instead of" if came else "without"
    told = f", {_kernels(came)}" if came else ""
    without = f", {instead} {_kernels(went)}" if went else ""
    return f"{launches}: {case.took(family.which)} per cycle{told}{without}."


def _kernels(names: list[str]) -> str:
    formats = sorted({found for name in names if (found := precision(name))})
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{told_name(names[0])}{more}{f' ({listed(formats)})' if formats else ''}"


def _is_wider(functions: CaseFunctions) -> bool:
    """Whether kernels in full precision grew more than the others."""
    kernels = functions.where(_COMPUTES)
    full = kernels & np.array([precision(name) in _FULL for name in functions.table["function"]])
    wide = [float(side[full].sum()) for side in functions.times]
    others = [float(side[kernels & ~full].sum()) for side in functions.times]
    return wide[1] > wide[0] and wide[1] * others[0] > _GREW_MORE * wide[0] * others[1]


# -- longer kernels --------------------------------------------------------------------------------


@both_ways
def longer_kernels(case: DiagnosisCase) -> Iterator[Claim]:
    """Kernels that stand out of the pace of all, in every cycle or over larger grids.

    On a device with an anomaly, that explains them: contention does not hit all kernels alike.
    """
    functions, ratios = case.functions, work_ratios(case)
    if is_other_work(case, ratios):
        return
    odd = {each.device for each in case.anomalies} - {HOST_DEVICE}
    kernels = functions.called_equally & functions.where(
        _COMPUTES, ~pl.col("device").is_in(list(odd))
    )
    found = excess(functions.base, functions.new, kernels)
    sure = np.nan_to_num(ratios, nan=1.0) > 1 + SAME_WORK
    if _is_steady(functions, kernels) and min(len(functions.base), len(functions.new)) >= _FEWEST:
        # Longer in every new cycle than they ever were.
        sure = sure | (functions.new.min(axis=0) > functions.base.max(axis=0))
    for column in by_change(functions, kernels & found.stands_out & sure):
        rise, interval = change(found.base[:, column], found.new[:, column])
        if rise < case.least_ns:
            continue
        function, family = functions.table.select("function", "family").row(column)
        ratio = float(ratios[column])
        given = f" over grids {amounts.digits(ratio)} times as large" if ratio > 1 else ""
        yield case.claim(
            "kernel_change",
            f"{told_name(function)} takes {case.took(column)} per cycle in as many launches{given},"
            " while the other kernels keep their pace.",
            [Demand(rise, (f"device_compute/{family}",))],
            interval,
            case.evidence([column], functions.new[:, column]),
            advice="longer",
        )


def _is_steady(functions: CaseFunctions, kernels: np.ndarray) -> bool:
    """Whether nearly all of the time of kernels is in ones that take what they took.

    Where they do not, the device is shared, and any kernel may be the one that is held up.
    """
    base, new = functions.times
    same = kernels & (np.abs(new - base) <= _SAME_TIME * base)
    return float(base[same].sum()) >= _NEARLY_ALL * float(base[kernels].sum())


# -- other work ------------------------------------------------------------------------------------


def workload_change(case: DiagnosisCase) -> Iterator[Claim]:
    """Nearly all functions run more or less often, or most kernels do so over other grids.

    Libraries choose other kernels for other sizes: what all families gained is then one thing.
    Without a device, operators are the work: see `causes_host.more_operators`.
    """
    functions = case.functions
    if computes_on_host(functions):
        return
    parts = ("device_compute", "copies")
    base, new = case.both(*parts)
    demands = [
        Demand(each.delta_ns, (each.name,)) for each in case.attribution if each.part in parts
    ]
    ratio = more_of_all(functions)
    if ratio is not None:
        kernels = functions.where(_COMPUTES)
        host = launching(case, [kernels])
        around = host.sides
        base, new = base + around[0], new + around[1]
        yield case.claim(
            "workload_change",
            f"Cycles hold other work: nearly all functions run {ratio:.2f} times as often, with "
            f"{case.often(kernels)} kernels per cycle. With their operators and launches they take "
            f"{case.took(host.which | kernels)} per cycle.",
            (*demands, *host.demands()),
            change(base, new)[1],
            case.evidence(by_change(functions, kernels)[:_SHOWN], new),
            functions=host.functions,
        )
    elif is_other_work(case, ratios := work_ratios(case)):
        kernels = functions.called_equally & functions.where(_COMPUTES)
        shown = by_change(functions, has_other_work(ratios))
        yield case.claim(
            "workload_change",
            f"Kernels are given other work: {len(shown)} of {int(kernels.sum())} that run as often "
            f"as before have grids {float(np.median(ratios[shown])):.2f} times as large, "
            f"{case.names(shown[:1])[0]} among them. All of these take {case.took(kernels)} "
            "per cycle.",
            demands,
            change(base, new)[1],
            tuple(_with_work(case.evidence(shown[:_SHOWN], new), ratios[shown[:_SHOWN]])),
        )


def _with_work(found: tuple[Evidence, ...], ratios: Floats) -> Iterator[Evidence]:
    """Kernels with the work they are given; the cycle after them is as it was."""
    for each, ratio in zip_longest(found, ratios):
        if ratio is None:
            yield each
        else:
            by = amounts.digits(float(ratio))
            yield replace(each, text=f"{each.text}, {by} times the work per launch")
