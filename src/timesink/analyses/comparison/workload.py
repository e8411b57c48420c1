"""Whether two roles did the same work per cycle, before anything else is said about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log

import numpy as np
import polars as pl

from timesink.analyses.behaviour.functions import SIDE_WAIT, UNTRACED
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.comparison.pair import Role, Workload
from timesink.analyses.comparison.recorded import (
    KEY,
    CallsPerCycle,
    cautions,
    other_mix,
    ran,
    recorded_in_part,
    unrecorded,
    work_per_cycle,
)
from timesink.analyses.cycles.cycles import type_of_name
from timesink.model.arrays import Floats
from timesink.model.units import brief_ns

TOLERANCE = 1.25
"""Calls per cycle differ when they do so by more than this factor."""
_HOST_TOLERANCE = 3.0
"""The same for system calls and turns on a CPU, which depend on the load as well."""
_WORTH_A_REMARK = 1.1
_ROUNDING = 1e-9
_EXACT = 0.01
"""Calls that are off from a whole number of times by less than this are as many."""
_SAME_PROGRAM = 0.5
"""Share of the common functions that must agree on one ratio for both to be the same program."""
_MOST_FUNCTIONS = 1000
"""The ones that take longest are asked; a pair of each is looked at."""
_FEW_NAMES = 3
_LEAST_TIME = 0.15
_MOST_ALONE = 0.5
_OTHER_MIX = 0.5
"""Share of the cycles that are of another type on the other side."""
_UNRECORDED = 0.05
_TYPES = ("prefill", "decode")


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many cycles of NEW hold the work of one of BASE, and who says so."""

    value: float
    agreeing: int
    """Functions, by whatever name they meet, that run this many times as often."""
    functions: int
    time: float
    """Share of the time the agreeing ones stand for, 0 to 1."""

    @property
    def support(self) -> float:
        return self.agreeing / self.functions


def check_workload(base: Role, new: Role) -> Workload:
    """Whether the cycles of both roles hold the same work, and if not, how they relate.

    Work is counted in calls, which do not depend on how fast a machine is: of device work where
    both sides have it.  Cycles that were recorded in part, or without their device work, single
    functions that one side lacks, and sorts of events that it did not record do not matter.
    """
    base, new = (
        # Calls do not depend on metrics: one row of each function is enough.
        replace(role, behaviour=plain_texts(once_per_cycle(role.behaviour)))
        for role in (base, new)
    )
    lacking = unrecorded(ran(base.behaviour), ran(new.behaviour))
    found = _checked(base, new, ~lacking.of_these() & ~_is_untraced())
    return replace(found, reasons=(*found.reasons, *cautions(base, new, lacking)))


def _checked(base: Role, new: Role, counted: pl.Expr) -> Workload:
    """The check by the functions that count."""
    clash = _type_clash(base, new)
    if clash is not None:
        return Workload(comparable=False, reasons=(clash,), work_ratio=None)
    work = work_per_cycle(base.behaviour.filter(counted), new.behaviour.filter(counted))
    ratio = None if work is None else work_ratio(work)
    if work is None or work.table.is_empty():
        return _uncounted(base, new)
    if ratio is None:
        return Workload(False, tuple(_other_program(base, new, work, None)), None)
    named = work.table.filter(pl.col("level") != "family")["ratio"].to_numpy()
    near = [_near(each, ratio.value, _tolerance(work)) for each in named.tolist()]
    # Families alone may agree by chance: many programs run about as many GEMMs as softmaxes.
    by_name = len(near) < _FEW_NAMES or sum(near) >= _SAME_PROGRAM * len(near)
    known = min(work.alone_base, work.alone_new) <= _MOST_ALONE
    if not (ratio.support >= _SAME_PROGRAM and ratio.time >= _LEAST_TIME and known and by_name):
        return Workload(False, tuple(_other_program(base, new, work, ratio)), None)
    if not _near(ratio.value, 1.0, _tolerance(work)):
        return Workload(False, tuple(_other_amount(base, new, work, ratio)), _plain(ratio.value))
    remarks = _remarks(base, new, work, ratio)
    return Workload(comparable=True, reasons=tuple(remarks), work_ratio=_plain(ratio.value))


def _is_untraced() -> pl.Expr:
    """How often a thread was in no recorded call, or only waited, says nothing about its work."""
    return pl.col("function_class").is_in([UNTRACED, SIDE_WAIT]).fill_null(value=False)


def work_ratio(work: CallsPerCycle) -> Ratio | None:
    """The ratio of calls per cycle on which most functions agree; None where there is none.

    Functions count by number and by the time they stand for on both sides, so neither many small
    ones nor a single large one decide.  Where as much speaks for another ratio, none is known.
    """
    if work.table.is_empty():
        return None
    weight = (pl.col("share_base") * pl.col("share_new")).sqrt().alias("weight")
    ordered = work.table.with_columns(weight).sort(
        "weight", *KEY, descending=[True, False, False, False]
    )
    heaviest = ordered.head(_MOST_FUNCTIONS)
    ratios, weights = heaviest["ratio"].to_numpy(), heaviest["weight"].to_numpy()
    weights = (
        weights / weights.sum() if weights.sum() > 0 else np.full(len(ratios), 1 / len(ratios))
    )
    distance = np.abs(np.log(ratios[:, None] / ratios[None, :]))
    near = distance <= np.log(_tolerance(work)) + heaviest["doubt"].to_numpy() + _ROUNDING
    support = (near.mean(axis=1) + near @ weights).round(9)
    best = np.lexsort((np.abs(np.log(ratios)), -support))[0]
    agreeing = near[best]
    if (~agreeing & ~near[:, best] & (support == support[best])).any():
        return None
    value = _weighted_median(ratios[agreeing], weights[agreeing])
    return Ratio(value, int(agreeing.sum()), len(ratios), float(weights[agreeing].sum()))


def _weighted_median(values: Floats, weights: Floats) -> float:
    """The value in the middle; between two, their geometric mean, as ratios have no direction."""
    middle = []
    for order in (np.argsort(values), np.argsort(-values)):
        below = np.cumsum(weights[order])
        middle.append(values[order][np.searchsorted(below, below[-1] / 2 * (1 - _ROUNDING))])
    return float(np.sqrt(middle[0] * middle[1]))


def _tolerance(work: CallsPerCycle) -> float:
    return _HOST_TOLERANCE if work.sort == "other" else TOLERANCE


def _near(value: float, other: float, tolerance: float) -> bool:
    return abs(log(value / other)) <= log(tolerance) + _ROUNDING


def _plain(value: float) -> float:
    """A ratio, or its inverse, without the noise of counting: 64 rather than 63.9."""
    large = max(value, 1 / value)
    whole = round(large)
    if abs(large - whole) <= 0.03 * whole + _ROUNDING:
        large = float(whole)
    return large if value >= 1 else 1 / large


def _type_clash(base: Role, new: Role) -> str | None:
    """A sentence where one side is prefill and the other decode, for most of the cycles."""
    mixes = [_type_mix(role.behaviour) for role in (base, new)]
    if not all(mixes):
        return None
    types = {*mixes[0], *mixes[1]}
    moved = sum(abs(mixes[0].get(each, 0.0) - mixes[1].get(each, 0.0)) for each in types) / 2
    if moved <= _OTHER_MIX:
        return None
    words = (
        f"{role.label} has {' and '.join(f'{share:.0%} {kind}' for kind, share in mix.items())}"
        for role, mix in zip((base, new), mixes, strict=True)
    )
    return f"Prefill and decode cycles are different work: of the cycles {' and '.join(words)}."


def _type_mix(table: pl.DataFrame) -> dict[str, float]:
    """Shares of prefill and decode among the cycles that are known to be either."""
    anchors = table["anchor"].drop_nulls().cast(pl.String).unique().to_list()
    by_name = (
        pl.col("anchor")
        .cast(pl.String)
        .replace_strict(
            anchors, [type_of_name(name) for name in anchors], default=None, return_dtype=pl.String
        )
    )
    recorded = pl.col("cycle_type").cast(pl.String)
    known = pl.when(recorded.is_in(_TYPES)).then(recorded).otherwise(by_name)
    cycles = table.unique("cycle", keep="first", maintain_order=True)
    typed = cycles.select(pl.when(known.is_in(_TYPES)).then(known).alias("type"))["type"]
    typed = typed.drop_nulls()
    counts = typed.value_counts().sort("count", "type", descending=[True, False])
    return {kind: many / typed.len() for kind, many in counts.iter_rows()}


def _uncounted(base: Role, new: Role) -> Workload:
    anchors = _anchors(base, new)
    if base.behaviour.is_empty() or new.behaviour.is_empty():
        empty = base if base.behaviour.is_empty() else new
        return Workload(False, (f"{empty.label} has no cycles.",), None)
    silent = [role.label for role in (base, new) if not (role.behaviour["calls"] > 0).any()]
    told = "No function runs on both sides"
    if silent:
        told = f"Calls are not recorded in {' and '.join(silent)}"
    reasons = [
        f"{told}, so their work per cycle cannot be compared.",
        *([anchors] if anchors else []),
    ]
    # Nothing speaks against the same work where both spend their time in the same functions.
    comparable = bool(silent) and anchors is None and _same_functions(base, new)
    return Workload(comparable=comparable, reasons=tuple(reasons), work_ratio=None)


def _same_functions(base: Role, new: Role) -> bool:
    """Whether each side spends most of its time in functions that the other has."""
    tables = [once_per_cycle(role.behaviour) for role in (base, new)]
    for table, other in (tables, tables[::-1]):
        shared = table.join(other, ["function", "device"], "semi")
        if int(shared["dur_ns"].sum()) <= _SAME_PROGRAM * int(table["dur_ns"].sum()):
            return False
    return True


def _alone(base: Role, new: Role, work: CallsPerCycle, other_side: str) -> Iterator[str]:
    for role, alone in ((base, work.alone_base), (new, work.alone_new)):
        if alone >= _UNRECORDED:
            yield (
                f"{alone:.0%} of the counted time of {role.label} is in functions "
                f"that the other side {other_side}."
            )


def _anchors(base: Role, new: Role) -> str | None:
    """What marks the cycles, where it is not the same on both sides."""
    marks = [role.anchor for role in (base, new)]
    if None in marks or marks[0] == marks[1]:
        return None
    # Most runs have the same mark, and do not wait for the rules of names.
    from timesink.analyses.kernels.families import normalised_name  # noqa: PLC0415

    if normalised_name(marks[0] or "") == normalised_name(marks[1] or ""):
        return None
    return f"Cycles are marked by `{marks[0]}` in {base.label} and by `{marks[1]}` in {new.label}."


def _other_program(
    base: Role, new: Role, work: CallsPerCycle, ratio: Ratio | None
) -> Iterator[str]:
    agree = f"the {work.table.height} functions or families both have do not"
    if ratio is not None:
        agree = f"of {ratio.functions} functions or families both have, {ratio.agreeing}"
    yield (
        f"{base.label} and {new.label} do not run the same program: {agree} agree on how the work "
        "per cycle relates."
    )
    yield from _alone(base, new, work, "has nothing like")
    yield from filter(None, [_anchors(base, new)])


def _other_amount(base: Role, new: Role, work: CallsPerCycle, ratio: Ratio) -> Iterator[str]:
    many = _plain(max(ratio.value, 1 / ratio.value))
    whole, part = (base, new) if ratio.value > 1 else (new, base)
    count = f"{many:.0f}" if many == int(many) else f"{many:.2f}"
    yield (
        f"One cycle of {whole.label} holds the work of {count} cycles of {part.label}: "
        f"{ratio.agreeing} of {ratio.functions} functions run that many times as often per cycle."
    )
    yield from filter(None, [_anchors(base, new), other_mix(base, new)])
    # By which part functions that agree are off from the ratio, at most; a change of name is none.
    # Functions that are in few cycles are not known well enough.
    sure = work.table.filter(pl.col("level") == "exact", pl.col("doubt") == 0)["ratio"].to_list()
    agreeing = [each for each in sure if _near(each, ratio.value, _tolerance(work))]
    off = max((abs(each / _plain(ratio.value) - 1) for each in agreeing), default=0.0)
    if off > _EXACT:
        yield (
            f"Calls are off from that by up to {off:.0%}: the work is about, not exactly, equal."
        )
    # What the mean lengths of the cycles come to for the same work.
    before, after = (role.mean_cycle_ns for role in (base, new))
    times = _plain(ratio.value)
    lengths = (before, after * times) if ratio.value > 1 else (before / times, after)
    change = lengths[1] / lengths[0] if lengths[0] else float("nan")
    yield (
        f"For the same work that is about {brief_ns(lengths[0])} in {base.label} and "
        f"{brief_ns(lengths[1])} in {new.label}, {change:.2g} times as long, by the mean of all "
        f"cycles, which are {brief_ns(before)} and {brief_ns(after)} as recorded."
    )


def _remarks(base: Role, new: Role, work: CallsPerCycle, ratio: Ratio) -> Iterator[str]:
    """What to keep in mind although both did the same work."""
    anchors = _anchors(base, new)
    mix = other_mix(base, new)
    if anchors is not None:
        yield anchors if mix else f"{anchors} Both hold the same work."
    if mix:
        yield mix
    if work.sort != "other" and not _near(ratio.value, 1.0, _WORTH_A_REMARK):
        more, less = (base, new) if ratio.value > 1 else (new, base)
        often = max(ratio.value, 1 / ratio.value)
        yield f"A cycle of {more.label} makes {often:.2f} times the calls of one of {less.label}."
    yield from _alone(base, new, work, "does not run")
    yield from recorded_in_part(base)
    yield from recorded_in_part(new)
