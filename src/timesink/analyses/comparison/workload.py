"""Whether two roles did the same work per cycle, before anything else is said about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.comparison.meeting import HOST, plain_texts
from timesink.analyses.comparison.normalised import normalised_name
from timesink.analyses.comparison.pair import Workload
from timesink.analyses.comparison.role import Role
from timesink.analyses.comparison.work import Work, work_per_cycle
from timesink.model.units import brief_ns

TOLERANCE = 1.25
"""Calls per cycle differ when they do so by more than this factor."""
_HOST_TOLERANCE = 3.0
"""The same for system calls and turns on a CPU, which depend on the load as well."""
_WORTH_A_REMARK = 1.1
_ROUNDING = 1e-9
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


_PREFILL = r"[pP]refill|forward_extend"
_DECODE = r"[dD]ecode(?:[^a-z]|$)"


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
    both sides have it.  Cycles that were recorded in part, or without their device work, and single
    functions that one side lacks do not matter.
    """
    base, new = (replace(role, behaviour=plain_texts(role.behaviour)) for role in (base, new))
    clash = _type_clash(base, new)
    if clash is not None:
        return Workload(comparable=False, reasons=(clash,), work_ratio=None)
    work = work_per_cycle(base.behaviour, new.behaviour)
    ratio = None if work is None else work_ratio(work)
    if work is None or ratio is None:
        return _uncounted(base, new)
    if not _same_program(work, ratio):
        return Workload(False, tuple(_other_program(base, new, work, ratio)), None)
    if not _near(ratio.value, 1.0, _tolerance(work)):
        return Workload(False, tuple(_other_amount(base, new, ratio)), _plain(ratio.value))
    remarks = _remarks(base, new, work, ratio)
    return Workload(comparable=True, reasons=tuple(remarks), work_ratio=_plain(ratio.value))


def work_ratio(work: Work) -> Ratio | None:
    """The ratio of calls per cycle on which most functions agree; None without a common function.

    Functions count by number and by the time they stand for on both sides, so neither many small
    ones nor a single large one decide.
    """
    if work.table.is_empty():
        return None
    weight = (pl.col("share_base") * pl.col("share_new")).sqrt().alias("weight")
    heaviest = work.table.with_columns(weight).top_k(_MOST_FUNCTIONS, by="weight")
    ratios, weights = heaviest["ratio"].to_numpy(), heaviest["weight"].to_numpy()
    weights = (
        weights / weights.sum() if weights.sum() > 0 else np.full(len(ratios), 1 / len(ratios))
    )
    distance = np.abs(np.log(ratios[:, None] / ratios[None, :]))
    near = distance <= np.log(_tolerance(work)) + heaviest["doubt"].to_numpy() + _ROUNDING
    support = (near.mean(axis=1) + near @ weights).round(9)
    best = np.lexsort((np.abs(np.log(ratios)), -support))[0]
    agreeing = near[best]
    value = _weighted_median(ratios[agreeing], weights[agreeing])
    return Ratio(value, int(agreeing.sum()), len(ratios), float(weights[agreeing].sum()))


def _weighted_median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The value in the middle; between two, their geometric mean, as ratios have no direction."""
    middle = []
    for order in (np.argsort(values), np.argsort(-values)):
        below = np.cumsum(weights[order])
        middle.append(values[order][np.searchsorted(below, below[-1] / 2 * (1 - _ROUNDING))])
    return float(np.sqrt(middle[0] * middle[1]))


def _tolerance(work: Work) -> float:
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


def _same_program(work: Work, ratio: Ratio) -> bool:
    named = work.table.filter(pl.col("level") != "family")["ratio"].to_numpy()
    near = [_near(each, ratio.value, _tolerance(work)) for each in named.tolist()]
    # Families alone may agree by chance: many programs run about as many GEMMs as softmaxes.
    by_name = len(near) < _FEW_NAMES or sum(near) >= _SAME_PROGRAM * len(near)
    known = min(work.alone_base, work.alone_new) <= _MOST_ALONE
    return ratio.support >= _SAME_PROGRAM and ratio.time >= _LEAST_TIME and known and by_name


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
    by_name = (
        pl.when(pl.col("anchor").cast(pl.String).str.contains(_PREFILL)).then(pl.lit("prefill"))
        .when(pl.col("anchor").cast(pl.String).str.contains(_DECODE)).then(pl.lit("decode"))
    )  # fmt: skip
    recorded = pl.col("cycle_type").cast(pl.String)
    known = pl.when(recorded.is_in(["prefill", "decode"])).then(recorded).otherwise(by_name)
    cycles = table.unique("cycle").select(known.alias("cycle_type"))
    typed = cycles["cycle_type"].drop_nulls()
    counts = typed.value_counts(sort=True)
    return {kind: many / typed.len() for kind, many in counts.iter_rows()}


def _uncounted(base: Role, new: Role) -> Workload:
    anchors = _anchors(base, new)
    if base.behaviour.is_empty() or new.behaviour.is_empty():
        empty = base if base.behaviour.is_empty() else new
        return Workload(False, (f"{empty.label} has no cycles.",), None)
    nothing = "No function runs on both sides, so their work per cycle cannot be compared."
    reasons = (nothing,) if anchors is None else (nothing, anchors)
    return Workload(comparable=False, reasons=reasons, work_ratio=None)


def _anchors(base: Role, new: Role) -> str | None:
    """What marks the cycles, where it is not the same on both sides."""
    marks = [_anchor(role.behaviour) for role in (base, new)]
    if None in marks or normalised_name(marks[0] or "") == normalised_name(marks[1] or ""):
        return None
    return f"Cycles are marked by `{marks[0]}` in {base.label} and by `{marks[1]}` in {new.label}."


def _anchor(table: pl.DataFrame) -> str | None:
    """What marks most of the cycles."""
    anchors = table.unique("cycle")["anchor"].drop_nulls().cast(pl.String)
    if anchors.is_empty():
        return None
    counts = anchors.value_counts().sort("count", "anchor", descending=[True, False])
    return str(counts["anchor"][0])


def _other_program(base: Role, new: Role, work: Work, ratio: Ratio) -> Iterator[str]:
    yield (
        f"{base.label} and {new.label} do not run the same program: of {ratio.functions} functions "
        f"or families both have, {ratio.agreeing} agree on how the work per cycle relates."
    )
    for role, alone in ((base, work.alone_base), (new, work.alone_new)):
        if alone >= _UNRECORDED:
            yield (
                f"{alone:.0%} of the counted time of {role.label} is in functions "
                "that the other side has nothing like."
            )
    anchors = _anchors(base, new)
    if anchors is not None:
        yield anchors


def _other_amount(base: Role, new: Role, ratio: Ratio) -> Iterator[str]:
    many = _plain(max(ratio.value, 1 / ratio.value))
    whole, part = (base, new) if ratio.value > 1 else (new, base)
    count = f"{many:.0f}" if many == int(many) else f"{many:.2f}"
    yield (
        f"One cycle of {whole.label} holds the work of {count} cycles of {part.label}: "
        f"{ratio.agreeing} of {ratio.functions} functions run that many times as often per cycle."
    )
    anchors = _anchors(base, new)
    if anchors is not None:
        yield anchors
    yield _at_equal_work(base, new, ratio.value)


def _at_equal_work(base: Role, new: Role, ratio: float) -> str:
    """What the mean lengths of the cycles come to for the same work."""
    before, after = (_mean_length(role.behaviour) for role in (base, new))
    times = _plain(ratio)
    lengths = (before, after * times) if ratio > 1 else (before / times, after)
    change = lengths[1] / lengths[0] if lengths[0] else float("nan")
    return (
        f"For the same work that is about {brief_ns(lengths[0])} in {base.label} and "
        f"{brief_ns(lengths[1])} in {new.label}, {change:.2g} times as long, "
        f"not {brief_ns(before)} and {brief_ns(after)}."
    )


def _mean_length(table: pl.DataFrame) -> float:
    lengths = table.unique("cycle")["cycle_dur_ns"].cast(pl.Float64).to_numpy()
    return float(lengths.mean()) if len(lengths) else 0.0


def _remarks(base: Role, new: Role, work: Work, ratio: Ratio) -> Iterator[str]:
    """What to keep in mind although both did the same work."""
    anchors = _anchors(base, new)
    if anchors is not None:
        yield f"{anchors} Both hold the same work."
    if work.sort != "other" and not _near(ratio.value, 1.0, _WORTH_A_REMARK):
        more, less = (base, new) if ratio.value > 1 else (new, base)
        often = max(ratio.value, 1 / ratio.value)
        yield f"A cycle of {more.label} makes {often:.2f} times the calls of one of {less.label}."
    for role, alone in ((base, work.alone_base), (new, work.alone_new)):
        if alone >= _UNRECORDED:
            yield (
                f"{alone:.0%} of the counted time of {role.label} is in functions "
                "that the other side does not run."
            )
    yield from _unrecorded(base, new)
    yield from _unrecorded(new, base)


def _unrecorded(role: Role, other: Role) -> Iterator[str]:
    """Cycles without device work, where others have some: it was not recorded."""
    cycles = role.behaviour["cycle"].n_unique()
    having = role.behaviour.filter(pl.col("device") != HOST)["cycle"].n_unique()
    if not having and (other.behaviour["device"] != HOST).any():
        yield f"{role.label} holds no device work; {other.label} does."
    elif having and cycles - having >= _UNRECORDED * cycles:
        yield (
            f"{cycles - having} of {cycles} cycles of {role.label} hold no device work; "
            "it was probably not recorded there."
        )
