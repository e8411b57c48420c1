"""Causes in the work that the device is given: other kernels, longer ones, other work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.behaviour.classes import UNTRACED
from timesink.comparison.causes.case import (
    CaseFunctions,
    Claim,
    Demand,
    DiagnosisCase,
    added_calls,
    added_in_cycles,
    both_ways,
    by_change,
    change,
    companions,
    computes_on_host,
    excess,
    in_proportion,
    is_certain,
    more_of_all,
    slowdown,
    told_name,
)
from timesink.comparison.causes.conditions import (
    is_named,
    is_program,
    on_host,
    text_is,
    text_passes,
    waits,
)
from timesink.comparison.thresholds import DeviceLimits
from timesink.model import units as amounts
from timesink.model.intervals import Floats, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import join_names
from timesink.patterns import regex

_FORMATS = (
    ("fp8", r"e4m3|e5m2|fp8|float8|nvjet_(?:sm\d+_)?[oq][a-z]{2}_"),
    ("int8", r"(?<![a-z])(int8|s8_s8|i8i8|imma|igemm)(?![a-z0-9])"),
    ("bf16", r"bf16|bfloat16|nvjet_(?:sm\d+_)?t[a-z]{2}_"),
    ("tf32", r"tf32"),
    ("fp16", r"nvjet_(?:sm\d+_)?h[a-z]{2}_"),
    ("fp32", r"nvjet_(?:sm\d+_)?s[a-z]{2}_"),
    ("fp16", r"(?<![a-z])(half|hgemm|fp16|f16|h884|h1688|h16816|__half)(?![a-z0-9])|f16f16"),
    ("fp64", r"(?<![a-z])(double|dgemm|fp64|f64)(?![a-z0-9])|f64f64"),
    ("fp32", r"f32f32|(?<![a-z])(sgemm|fp32|float|f32)(?![a-z0-9])|simt_s"),
)
"""The first that is found counts: kernels of a narrow format often name a wide accumulator too."""
_RULES = tuple((name, regex(rule, re.IGNORECASE)) for name, rule in _FORMATS)
FULL_PRECISION = frozenset({"fp32", "fp64"})
_COMPUTES = text_is("part", "device_compute")
_MAX_LISTED = 3


def precision(kernel: str) -> str | None:
    """The narrowest number format a kernel's name speaks of; None where it does not."""
    return next((name for name, rule in _RULES if rule.search(kernel)), None)


# -- other kernels ---------------------------------------------------------------------------------


class FamilyChange(msgspec.Struct, frozen=True, eq=False):
    """Kernels of one family that run more or less often, or on one side only."""

    name: str
    which: np.ndarray
    base: Floats
    """Time per step, as it would be on the new side had only the pace of all kernels changed."""
    new: Floats
    rise_ns: float


def _changed_families(case: DiagnosisCase) -> Iterator[FamilyChange]:
    """Families whose time in kernels that came, went or run more or less often changed for sure."""
    functions = case.functions
    computing = functions.where(_COMPUTES, ~is_named(case.taken))
    equal = computing & functions.called_equally
    pace = slowdown(functions.base, functions.new, equal)
    if only_swapped(functions):
        return
    for name in functions.table["family"].drop_nulls().unique().sort():
        which = computing & ~equal & functions.where(text_is("family", name))
        if not which.any():
            continue
        base = functions.base[:, which].sum(axis=1) * pace
        new = functions.new[:, which].sum(axis=1)
        rise, interval = change(base, new)
        if abs(rise) >= DeviceLimits.min_part_of * case.least_ns and is_certain(interval):
            yield FamilyChange(name, which, base, new, rise)


def only_swapped(functions: CaseFunctions) -> bool:
    """Whether the device got slower or faster, and libraries chose other kernels for it.

    They measure which kernel is the fastest: on a device that others use, another one is.  Then as
    many are launched in all, and those that stayed changed their pace too.
    """
    kernels = functions.where(_COMPUTES)
    pace = slowdown(functions.base, functions.new, kernels & functions.called_equally)
    base, new = (float(calls[kernels].sum()) for calls in functions.calls)
    as_many = abs(new - base) <= DeviceLimits.same_total * max(base, new)
    return as_many and not 1 / DeviceLimits.steady <= pace <= DeviceLimits.steady


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
    host = find_launching(case, [family.which for family in families])
    rise_ns, host_ns = sum(family.rise_ns for family in families), change(*host.sides)[0]
    # Slower kernels that are fewer, or faster ones that are more, are two changes: in one sum the
    # one would hide the other.
    if rise_ns * host_ns < 0 and abs(rise_ns) >= DeviceLimits.worth_itself * abs(host_ns):
        host = Launching(case, np.zeros_like(host.which), None)
    around = host.sides
    base = np.sum([family.base for family in families], axis=0) + around[0]
    new = np.sum([family.new for family in families], axis=0) + around[1]
    _, interval = change(base, new)
    ordered = sorted(families, key=lambda family: -abs(family.rise_ns))
    other_names = [family.name for family in ordered[1:]]
    also = (
        f" Kernels of {join_names(other_names, _MAX_LISTED)} changed as well."
        if other_names
        else ""
    )
    columns_by_family = [
        by_change(case.functions, family.which)[:_MAX_LISTED] for family in ordered[:_MAX_LISTED]
    ]
    yield case.claim(
        "kernel_change",
        f"{_family_told(case, ordered[0])}{also}{_along_told(case, host)}",
        (
            *(
                Demand(family.rise_ns, (f"device_compute/{family.name}",), structural=True)
                for family in families
            ),
            *host.demands(),
        ),
        interval,
        case.evidence([column for columns in columns_by_family for column in columns], new),
        advice="full_precision" if _is_wider(case.functions) else "advice",
        functions=host.functions,
    )


def _along_told(case: DiagnosisCase, host: Launching) -> str:
    """Which operators run more or less often with the kernels, and what that takes."""
    functions = case.functions
    operators = host.which & functions.where(text_is("function_class", "cpu_operator"))
    if not operators.any():
        return ""
    names = case.names(by_change(functions, operators))
    calls = functions.calls[1][operators].sum() - functions.calls[0][operators].sum()
    often = f"{'more' if calls > 0 else 'less'} often too"
    if host.ratio is not None:
        often = f"{host.ratio:.2f} times as often, as most of the kernels do"
    return (
        f" {join_names(names, _MAX_LISTED)} run {often}: {case.took(host.which)} on the host "
        "per step."
    )


def _family_told(case: DiagnosisCase, family: FamilyChange) -> str:
    """How many more launches there are, and which kernels came and which went."""
    functions = case.functions
    calls = [float(side[family.which].sum()) for side in functions.calls]
    rise = calls[1] - calls[0]
    number = amounts.per_cycle(abs(rise))
    more = ("more" if rise > 0 else "fewer") if not case.backwards else "other"
    launches = f"{number} {more} {family.name} launch{'es' * (number != '1')} per step"
    if abs(rise) <= DeviceLimits.same_launches:
        launches = f"The {family.name} family runs different kernels"
    base, new = functions.times
    order = by_change(functions, family.which)
    names = functions.table["function"]
    came = [names[column] for column in order if new[column] > base[column]]
    went = [names[column] for column in order if new[column] <= base[column]]
    instead = "instead of" if came else "without"
    came_text = f", {_kernels(came)}" if came else ""
    without = f", {instead} {_kernels(went)}" if went else ""
    return f"{launches}: {case.took(family.which)} per step{came_text}{without}."


def _kernels(names: list[str]) -> str:
    formats = sorted({format_name for name in names if (format_name := precision(name))})
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{told_name(names[0])}{more}{f' ({join_names(formats)})' if formats else ''}"


def _is_wider(functions: CaseFunctions) -> bool:
    """Whether kernels in full precision grew more than the others."""
    kernels = functions.where(_COMPUTES)
    full = kernels & np.array(
        [precision(name) in FULL_PRECISION for name in functions.table["function"]]
    )
    wide = [float(side[full].sum()) for side in functions.times]
    narrow = [float(side[kernels & ~full].sum()) for side in functions.times]
    return wide[1] > wide[0] and wide[1] * narrow[0] > DeviceLimits.grew_more * wide[0] * narrow[1]


@both_ways
def longer_kernels(case: DiagnosisCase) -> Iterator[Claim]:
    """Kernels that stand out of the pace of all, in every cycle or over larger grids.

    On a device with an anomaly, that explains them: contention does not hit all kernels alike.
    """
    functions, ratios = case.functions, work_ratios(case)
    if is_other_work(case, ratios):
        return
    odd = {anomaly.device for anomaly in case.anomalies} - {HOST_DEVICE}
    kernels = functions.called_equally & functions.where(_COMPUTES, ~text_is("device", *odd))
    pace_excess = excess(functions.base, functions.new, kernels)
    sure = np.nan_to_num(ratios, nan=1.0) > 1 + DeviceLimits.same_work
    if (
        _is_steady(functions, kernels)
        and min(len(functions.base), len(functions.new)) >= DeviceLimits.min_steps_to_separate
    ):
        # Longer in every new cycle than they ever were.
        sure = sure | (functions.new.min(axis=0) > functions.base.max(axis=0))
    for column in by_change(functions, kernels & pace_excess.stands_out & sure):
        rise, interval = change(pace_excess.base[:, column], pace_excess.new[:, column])
        if rise < case.least_ns:
            continue
        function, family = functions.table.select("function", "family").row(column)
        ratio = float(ratios[column])
        grid_text = f" over grids {amounts.digits(ratio)} times as large" if ratio > 1 else ""
        yield case.claim(
            "kernel_change",
            f"{told_name(function)} takes {case.took(column)} per step in as many "
            f"launches{grid_text},"
            " while the other kernels take as long as before.",
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
    same = kernels & (np.abs(new - base) <= DeviceLimits.same_time * base)
    return float(base[same].sum()) >= DeviceLimits.nearly_all * float(base[kernels].sum())


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
        Demand(component.delta_ns, (component.name,))
        for component in case.attribution
        if component.part in parts
    ]
    ratio = more_of_all(functions)
    if ratio is not None:
        kernels = functions.where(_COMPUTES)
        host = find_launching(case, [kernels])
        around = host.sides
        base, new = base + around[0], new + around[1]
        yield case.claim(
            "workload_change",
            f"The workload differs: nearly all functions run {ratio:.2f} times as often, with "
            f"{case.often(kernels)} kernels per step. With their operators and launches they take "
            f"{case.took(host.which | kernels)} per step.",
            (*demands, *host.demands()),
            change(base, new)[1],
            case.evidence(by_change(functions, kernels)[:_MAX_LISTED], new),
            functions=host.functions,
        )
    elif is_other_work(case, ratios := work_ratios(case)):
        kernels = functions.called_equally & functions.where(_COMPUTES)
        columns = by_change(functions, has_other_work(ratios))
        yield case.claim(
            "workload_change",
            f"Kernels process different sizes: {len(columns)} of {int(kernels.sum())} that run as "
            "often "
            f"as before have grids {float(np.median(ratios[columns])):.2f} times as large, "
            f"{case.names(columns[:1])[0]} among them. All of these take {case.took(kernels)} "
            "per step.",
            demands,
            change(base, new)[1],
            # Kernels with the work they are given; the cycle after them is as it was.
            tuple(
                item
                if ratio is None
                else replace(
                    item,
                    text=f"{item.text}, {amounts.digits(float(ratio))} times the work per launch",
                )
                for item, ratio in zip_longest(
                    case.evidence(columns[:_MAX_LISTED], new), ratios[columns[:_MAX_LISTED]]
                )
            ),
        )


# -- what launches are given to do -----------------------------------------------------------------


def work_ratios(case: DiagnosisCase) -> Floats:
    """How many times as much work a launch of each function is given; NaN where not known.

    Known it is of functions launched equally often on both sides.
    """
    work_by_side = []
    for side in (case.base, case.new):
        # Blocks and bytes of a launch of each function.
        sums = side.anatomy.launches.group_by("function")
        rows = sums.agg(pl.col("calls", "blocks", "bytes").sum()).iter_rows()
        work_by_side.append(
            {name: (blocks / calls, size / calls) for name, calls, blocks, size in rows}
        )
    base, new = work_by_side
    is_comparable = case.functions.called_equally & case.functions.where(~on_host())
    ratios = np.full(len(is_comparable), np.nan)
    for column in np.flatnonzero(is_comparable).tolist():
        name = case.functions.table["function"][column]
        both = zip(base.get(name, ()), new.get(name, ()), strict=False)
        ratios[column] = next((now / ago for ago, now in both if ago > 0 and now > 0), np.nan)
    return ratios


def has_other_work(ratios: Floats) -> np.ndarray:
    """Which functions are given more or less per launch."""
    return np.asarray(np.abs(np.nan_to_num(ratios, nan=1.0) - 1) > DeviceLimits.same_work)


def is_other_work(case: DiagnosisCase, ratios: Floats) -> bool:
    """Whether most of the time of kernels launched equally often is in ones given other work."""
    kernels = case.functions.called_equally & case.functions.where(_COMPUTES)
    time = np.sum(case.functions.times, axis=0)
    total, other = time[kernels].sum(), time[kernels & has_other_work(ratios)].sum()
    return bool(total > 0 and other >= DeviceLimits.min_share_explained * total)


# -- what the host does more with kernels ----------------------------------------------------------


class Launching(msgspec.Struct, frozen=True, eq=False):
    """Functions of the host that run more or less often with kernels, and the code around them."""

    case: DiagnosisCase
    which: np.ndarray
    ratio: float | None
    """How many times as often most kernels and operators run, where that is one number."""

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of all of them."""
        return tuple(self.case.functions.table["function"].filter(pl.Series(self.which)))

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """What was added in each cycle of both sides, with the code around the calls."""
        columns, around = self._around()
        which = np.concatenate([np.flatnonzero(self.which), columns])
        added = np.concatenate([added_calls(self.case.functions, self.which), around])
        return added_in_cycles(self.case.functions, which, added)

    def demands(self) -> Iterator[Demand]:
        """What was added in each part; the code around the calls only as far as it is there."""
        parts = self.case.functions.table["part"].to_numpy()
        added = added_calls(self.case.functions, self.which)
        for part in np.unique(parts[self.which]):
            ns = float(added[parts[self.which] == part].sum())
            yield Demand(ns, (str(part),), structural=True)
        for column, ns in zip(*self._around(), strict=True):
            yield Demand(float(ns), (str(parts[column]), "host_cpu", "idle"))

    def _around(self) -> tuple[Ints, Floats]:
        """Marks and time in no call, and what they gained by lying around more calls."""
        functions = self.case.functions
        marks = functions.where(
            on_host(),
            text_is("function_class", "cpu_annotation", UNTRACED),
            ~text_is("part", "data_loading"),
            ~is_named([*self.case.taken, *self.case.blurred]),
        )
        called = functions.where(on_host()) & ~marks
        often = [float(side[called].sum()) for side in functions.calls]
        share = (often[1] - often[0]) / max(*often, 1.0) if self.ratio is not None else 0.0
        before, after = functions.times
        most, gained = share * np.maximum(before, after), after - before
        some = np.flatnonzero(marks & ~self.which & (most * gained > 0))
        return some, np.where(gained > 0, np.minimum(most, gained), np.maximum(most, gained))[some]


def find_launching(case: DiagnosisCase, kernels: list[np.ndarray]) -> Launching:
    """What comes with kernels that run more or less often; `kernels` are these, by family."""
    functions = case.functions
    changed = np.any(kernels, axis=0)
    ratio = common_ratio(functions, changed)
    mask = np.zeros(functions.table.height, dtype=bool)
    base, new = functions.calls
    total = float((new - base)[changed].sum())
    rises = {float((new - base)[which].sum()) for which in kernels}
    if abs(total) >= 1:
        rises |= {float(rise) for rise in (new - base)[changed] if abs(rise) >= DeviceLimits.some}
    for rise in rises:
        if abs(rise) >= 1:
            mask |= companions(functions if rise > 0 else functions.swapped(), abs(rise))
    # Which functions take what others take per call: what takes far longer does other things.
    calls, times = np.sum(functions.calls, axis=0), np.sum(functions.times, axis=0)
    per_call = times / np.where(calls > 0, calls, np.inf)
    usual = per_call[functions.where(is_program()) & (per_call > 0)]
    mask &= np.asarray(
        per_call <= DeviceLimits.far_longer * np.median(usual) if len(usual) else per_call <= 0
    )
    if ratio is not None:
        mask |= in_proportion(functions, ratio)
    mask |= _launches(functions, total)
    is_candidate = functions.where(on_host(), ~waits(), ~is_named(case.taken))
    return Launching(case, np.asarray(mask & is_candidate), ratio)


def common_ratio(functions: CaseFunctions, changed: np.ndarray) -> float | None:
    """How many times as often most of the changed kernels run; None where they do not agree."""
    base, new = functions.calls
    both = changed & (base > 0) & (new > 0)
    if not both.any():
        return None
    total = np.sum(functions.times, axis=0)
    ratios, times = (new / np.where(base > 0, base, 1.0))[both], total[both]
    order = np.argsort(ratios)
    middle = np.searchsorted(np.cumsum(times[order]), times.sum() / 2)
    ratio = float(ratios[order][min(int(middle), len(order) - 1)])
    if abs(ratio - 1) < DeviceLimits.min_more:
        return None
    agree = changed & in_proportion(functions, ratio)
    return (
        ratio
        if total[agree].sum() >= DeviceLimits.min_share_explained * total[changed].sum()
        else None
    )


def _launches(functions: CaseFunctions, rise: float) -> np.ndarray:
    """Calls that launch kernels, where there are more of them by as many as there are kernels."""
    base, new = functions.calls
    mask = functions.where(
        text_is("function_class", "cpu_launch"),
        text_passes("function", lambda name: "Launch" in name),
    )
    mask &= ~functions.called_equally
    agrees = abs(float((new - base)[mask].sum()) - rise) <= DeviceLimits.as_many * abs(rise)
    return np.asarray(mask & (agrees and abs(rise) >= 1))
