"""Whether two roles did the same work per step, before anything else is said about them.

Where a cycle of one side is several of the other, cycles are put together until both are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import log

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.behaviour.classes import SIDE_WAIT, UNTRACED
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.columns import among
from timesink.analyses.cycles.marks import type_of_name
from timesink.analyses.kernels.families import normalised_name
from timesink.comparison.results import Process, Workload
from timesink.comparison.steps.recorded_events import (
    KEY,
    CallsPerCycle,
    calls_by_cycle,
    cautions,
    find_unrecorded,
    other_mix,
    ran,
    recorded_cycles,
    recorded_in_part,
    work_per_cycle,
)
from timesink.comparison.thresholds import RecordedEventsLimits, WorkloadLimits
from timesink.model.intervals import Flags, Ints
from timesink.model.schema import BEHAVIOUR, HOST_DEVICE
from timesink.model.units import brief_ns, brief_share, count_noun

_ROUNDING = 1e-9
_TYPES = ("prefill", "decode")


class Ratio(msgspec.Struct, frozen=True):
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


def check_workload(base: Process, new: Process) -> Workload:
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
    missing = find_unrecorded(ran(base.behaviour), ran(new.behaviour))
    # How often a thread was in no recorded call, or only waited, says nothing about its work.
    sides = (base.behaviour, new.behaviour)
    if missing.any:
        sides = (sides[0].filter(~missing.of_these()), sides[1].filter(~missing.of_these()))
    counted = [side.filter(~among(side["function_class"], {UNTRACED, SIDE_WAIT})) for side in sides]
    workload = _check_functions(base, new, counted)
    return replace(workload, reasons=(*workload.reasons, *cautions(base, new, missing)))


def _check_functions(base: Process, new: Process, counted: Sequence[pl.DataFrame]) -> Workload:
    """The check by the functions that count, of which these are the rows."""
    clash = _type_clash(base, new)
    if clash is not None:
        return Workload(comparable=False, reasons=(clash,), work_ratio=None)
    work = work_per_cycle(*counted)
    ratio = None if work is None else work_ratio(work)
    if work is None or work.table.is_empty():
        return _uncounted_workload(base, new)
    if ratio is None:
        return Workload(False, tuple(_other_program(base, new, work, None)), None)
    named = work.table.filter(pl.col("level") != "family")["ratio"].to_numpy()
    near = [_near(value, ratio.value, _tolerance(work)) for value in named.tolist()]
    # Families alone may agree by chance: many programs run about as many GEMMs as softmaxes.
    by_name = len(near) < WorkloadLimits.few_names or sum(
        near
    ) >= WorkloadLimits.same_program * len(near)
    is_matched = min(work.alone_base, work.alone_new) <= WorkloadLimits.max_share_unpaired
    if not (
        ratio.support >= WorkloadLimits.same_program
        and ratio.time >= WorkloadLimits.min_time
        and is_matched
        and by_name
    ):
        return Workload(False, tuple(_other_program(base, new, work, ratio)), None)
    if not _near(ratio.value, 1.0, _tolerance(work)):
        return Workload(False, tuple(_other_amount(base, new, work, ratio)), _plain(ratio.value))
    remarks = _remarks(base, new, work, ratio)
    return Workload(comparable=True, reasons=tuple(remarks), work_ratio=_plain(ratio.value))


def work_ratio(work: CallsPerCycle) -> Ratio | None:
    """The ratio of calls per step on which most functions agree; None where there is none.

    Functions count by number and by the time they stand for on both sides, so neither many small
    ones nor a single large one decide.  Where as much speaks for another ratio, none is known.
    """
    if work.table.is_empty():
        return None
    weight = (pl.col("share_base") * pl.col("share_new")).sqrt().alias("weight")
    ordered = work.table.with_columns(weight).sort(
        "weight", *KEY, descending=[True, False, False, False]
    )
    heaviest = ordered.head(WorkloadLimits.max_functions)
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
    values, part = ratios[agreeing], weights[agreeing]
    # The value in the middle; between two, their geometric mean, as ratios have no direction.
    middle = []
    for order in (np.argsort(values), np.argsort(-values)):
        below = np.cumsum(part[order])
        middle.append(values[order][np.searchsorted(below, below[-1] / 2 * (1 - _ROUNDING))])
    value = float(np.sqrt(middle[0] * middle[1]))
    return Ratio(value, int(agreeing.sum()), len(ratios), float(weights[agreeing].sum()))


def _tolerance(work: CallsPerCycle) -> float:
    return WorkloadLimits.host_tolerance if work.sort == "other" else WorkloadLimits.tolerance


def _near(value: float, other: float, tolerance: float) -> bool:
    return abs(log(value / other)) <= log(tolerance) + _ROUNDING


def _plain(value: float) -> float:
    """A ratio, or its inverse, without the noise of counting: 64 rather than 63.9."""
    large = max(value, 1 / value)
    rounded = round(large)
    if abs(large - rounded) <= 0.03 * rounded + _ROUNDING:
        large = float(rounded)
    return large if value >= 1 else 1 / large


def _type_clash(base: Process, new: Process) -> str | None:
    """A sentence where one side is prefill and the other decode, for most of the cycles."""
    mixes = []
    for role in (base, new):
        first = np.unique(role.behaviour["cycle"].to_numpy(), return_index=True)[1]
        columns = (
            role.behaviour[name][first].cast(pl.String).to_list()
            for name in ("cycle_type", "anchor")
        )
        types = [
            recorded if recorded in _TYPES else type_of_name(anchor) if anchor else None
            for recorded, anchor in zip(*columns, strict=True)
        ]
        # Shares among the cycles that are known to be either; the larger one first.
        many = Counter(sorted(cycle_type for cycle_type in types if cycle_type in _TYPES))
        mixes.append({kind: count / many.total() for kind, count in many.most_common()})
    if not all(mixes):
        return None
    moved = (
        sum(
            abs(mixes[0].get(cycle_type, 0.0) - mixes[1].get(cycle_type, 0.0))
            for cycle_type in _TYPES
        )
        / 2
    )
    if moved <= WorkloadLimits.other_mix:
        return None
    words = (
        f"{role.label} has {' and '.join(f'{share:.0%} {kind}' for kind, share in mix.items())}"
        for role, mix in zip((base, new), mixes, strict=True)
    )
    return f"Prefill and decode steps are different work: {' and '.join(words)}."


_PLAIN = (
    "Not both runs have a timeline: equal work is assumed, and no cause of a change can be named."
)


def _uncounted_workload(base: Process, new: Process) -> Workload:
    anchors = _anchors(base, new)
    if base.behaviour.is_empty() or new.behaviour.is_empty():
        empty = base if base.behaviour.is_empty() else new
        return Workload(False, (f"{empty.label} has no steps.",), None)
    silent = [role.label for role in (base, new) if not (role.behaviour["calls"] > 0).any()]
    if silent and base.plain and new.plain:
        return Workload(True, (_PLAIN,), None)
    reason = "No function runs on both sides"
    if silent:
        reason = f"Calls are not recorded in {' and '.join(silent)}"
    reasons = [
        f"{reason}, so their work per step cannot be compared.",
        *([anchors] if anchors else []),
    ]
    # Nothing speaks against the same work where both spend their time in the same functions.
    tables = [once_per_cycle(role.behaviour) for role in (base, new)]
    total = [int(table["dur_ns"].sum()) for table in tables]
    shared = [
        int(table.join(other, ["function", "device"], "semi")["dur_ns"].sum())
        for table, other in (tables, tables[::-1])
    ]
    same = all(
        part > WorkloadLimits.same_program * amount
        for part, amount in zip(shared, total, strict=True)
    )
    return Workload(bool(silent) and anchors is None and same, tuple(reasons), None)


def _unmatched_remarks(
    base: Process, new: Process, work: CallsPerCycle, other_side: str
) -> Iterator[str]:
    for role, share in ((base, work.alone_base), (new, work.alone_new)):
        if share >= WorkloadLimits.unrecorded:
            yield (
                f"{brief_share(share, 1)} of the counted time of {role.label} is in functions "
                f"that the other side {other_side}."
            )


def _anchors(base: Process, new: Process) -> str | None:
    """What marks the cycles, where it is not the same on both sides."""
    marks = [role.anchor for role in (base, new)]
    if None in marks or marks[0] == marks[1]:
        return None
    if normalised_name(marks[0] or "") == normalised_name(marks[1] or ""):
        return None
    return f"Steps are marked by `{marks[0]}` in {base.label} and by `{marks[1]}` in {new.label}."


def _other_program(
    base: Process, new: Process, work: CallsPerCycle, ratio: Ratio | None
) -> Iterator[str]:
    common = f"the {work.table.height} functions in both runs do different amounts of work per step"
    if ratio is not None:
        common = (
            f"only {ratio.agreeing} of the {ratio.functions} functions in both runs have the same "
            "ratio of calls per step"
        )
    yield f"{base.label} and {new.label} run different programs: {common}."
    yield from _unmatched_remarks(base, new, work, "has nothing like")
    yield from filter(None, [_anchors(base, new)])


def _other_amount(base: Process, new: Process, work: CallsPerCycle, ratio: Ratio) -> Iterator[str]:
    many = _plain(max(ratio.value, 1 / ratio.value))
    larger, part = (base, new) if ratio.value > 1 else (new, base)
    count = f"{many:.0f}" if many == int(many) else f"{many:.2f}"
    yield (
        f"One step of {larger.label} does the work of {count} steps of {part.label}: "
        f"{ratio.agreeing} of {ratio.functions} functions run that many times as often."
    )
    yield from filter(None, [_anchors(base, new), other_mix(base, new)])
    # By which part functions that agree are off from the ratio, at most; a change of name is none.
    # Functions that are in few cycles are not known well enough.
    sure = work.table.filter(pl.col("level") == "exact", pl.col("doubt") == 0)["ratio"].to_list()
    agreeing = [value for value in sure if _near(value, ratio.value, _tolerance(work))]
    off = max((abs(value / _plain(ratio.value) - 1) for value in agreeing), default=0.0)
    if off > WorkloadLimits.exact:
        yield (f"Call counts differ from that by up to {off:.0%}: the work is only about equal.")
    # What the mean lengths of the cycles come to for the same work.
    before, after = (role.mean_cycle_ns for role in (base, new))
    times = _plain(ratio.value)
    lengths = (before, after * times) if ratio.value > 1 else (before / times, after)
    change = lengths[1] / lengths[0] if lengths[0] else float("nan")
    yield (
        f"The same work takes about {brief_ns(lengths[0])} in {base.label} and "
        f"{brief_ns(lengths[1])} in {new.label}, {change:.2g} times as long; the mean steps "
        f"as recorded take {brief_ns(before)} and {brief_ns(after)}."
    )


def _remarks(base: Process, new: Process, work: CallsPerCycle, ratio: Ratio) -> Iterator[str]:
    """What to keep in mind although both did the same work."""
    anchors = _anchors(base, new)
    mix = other_mix(base, new)
    if anchors is not None:
        yield anchors if mix else f"{anchors} Both do the same work."
    if mix:
        yield mix
    if work.sort != "other" and not _near(ratio.value, 1.0, WorkloadLimits.worth_a_remark):
        more, less = (base, new) if ratio.value > 1 else (new, base)
        often = max(ratio.value, 1 / ratio.value)
        yield f"A step of {more.label} makes {often:.2f} times the calls of a step of {less.label}."
    yield from _unmatched_remarks(base, new, work, "does not run")
    yield from recorded_in_part(base)
    yield from recorded_in_part(new)


_FUNCTION = ("function", "function_class", "device")


def with_equal_work(
    base: Process, new: Process, workload: Workload
) -> tuple[Process, Process] | None:
    """Both roles, with cycles of the finer one put together; None where that is not possible.

    Groups start where functions run that the other side has once per step, so that they are the
    same unit; without such functions any whole number of consecutive cycles is as good.  Durations
    and calls are summed, counters averaged by time, and only whole groups are kept.
    """
    ratio = workload.work_ratio
    if workload.comparable or ratio is None:
        return None
    # Not where, say, one model has twice the layers: its loss still runs once per step.
    work = work_per_cycle(plain_texts(base.behaviour), plain_texts(new.behaviour))
    agreed = None if work is None else work_ratio(work)
    if agreed is None or agreed.support < WorkloadLimits.agreeing:
        return None
    times = round(max(ratio, 1 / ratio), 6)
    many = round(times)
    if many < 2 or abs(times - many) > WorkloadLimits.group_slack * many + 1e-6:
        return None
    fine, coarse = (new, base) if ratio > 1 else (base, new)
    grouped = _group_cycles(fine, coarse, many)
    if grouped is None:
        return None
    return (base, grouped) if ratio > 1 else (grouped, new)


def _group_cycles(fine: Process, coarse: Process, many: int) -> Process | None:
    table = plain_texts(fine.behaviour)
    # Every cycle in order, with its start and length.
    first = table.group_by("cycle").agg(pl.col("cycle_ts_ns", "cycle_dur_ns").first())
    cycles = first.sort("cycle")
    starts = _group_starts(table, plain_texts(coarse.behaviour), cycles, many)
    if starts is None:
        groups, how = _consecutive_groups(table, cycles, many), "from the first recorded step on"
    else:
        groups = _between(starts, cycles, many)
        how = f"from where {coarse.label} starts a step"
    if groups is None:
        return None
    in_groups = int((groups >= 0).sum())
    number = int(groups.max()) + 1
    note = (
        f"{count_noun(number, 'groups')} of {in_groups / number:.3g} steps each "
        f"{'stands' if number == 1 else 'stand'} for the steps of {fine.label}, {how}; "
        f"{len(groups) - in_groups} of {len(groups)} steps are in no complete group."
    )
    numbers = pl.DataFrame({"cycle": cycles["cycle"], "group": groups}).filter(pl.col("group") >= 0)
    together = _put_together(table, numbers).cast(fine.behaviour.schema)
    return replace(fine, behaviour=together, notes=(*fine.notes, note))


def _group_starts(
    fine: pl.DataFrame, coarse: pl.DataFrame, cycles: pl.DataFrame, many: int
) -> NDArray[np.intp] | None:
    """Places of the cycles that hold what the other side has once per step; None without any."""
    rare = _presence(fine).filter(pl.col("often") * many <= WorkloadLimits.once)
    usual = _presence(coarse).filter(
        (pl.col("often") >= RecordedEventsLimits.often) & (pl.col("calls") <= 2)
    )
    marks = rare.join(usual, ["function", "device"], "semi").select("function", "device")
    if marks.is_empty():
        return None
    marked_calls = calls_by_cycle(fine).join(marks, ["function", "device"], "semi")
    counts = marked_calls.group_by("cycle").len()
    most = counts.filter(pl.col("len") * 2 >= pl.col("len").max())["cycle"]
    starts = np.flatnonzero(cycles["cycle"].is_in(most.implode()).to_numpy())
    return starts if len(starts) > 1 else None


def _presence(table: pl.DataFrame) -> pl.DataFrame:
    """In which share of the cycles that can have it each function runs, and how often there."""
    cycles = table["cycle"].unique()
    parts = []
    for counted in (pl.col("device") == HOST_DEVICE, pl.col("device") != HOST_DEVICE):
        calls = calls_by_cycle(table, counted)
        if calls.height:
            share = pl.len() / recorded_cycles(calls, cycles)
            often = calls.group_by("function", "device").agg(
                share.alias("often"), pl.col("calls").median()
            )
            parts.append(often)
    return pl.concat(parts)


def _between(starts: NDArray[np.intp], cycles: pl.DataFrame, many: int) -> Ints | None:
    """The group of each cycle from one mark to the next, if that is about as many as it needs."""
    groups = np.full(cycles.height, -1)
    paused = np.cumsum(_after_pause(cycles))
    number = 0
    for start, end in pairwise(starts.tolist()):
        is_complete = abs(end - start - many) <= max(1, WorkloadLimits.group_slack * many)
        if is_complete and paused[start] == paused[end - 1]:
            groups[start:end] = number
            number += 1
    return groups if number else None


def _consecutive_groups(table: pl.DataFrame, cycles: pl.DataFrame, many: int) -> Ints | None:
    """Groups of so many consecutive cycles, from the first with device work on."""
    device = table.filter(pl.col("device") != HOST_DEVICE)["cycle"].unique()
    recorded = np.flatnonzero(cycles["cycle"].is_in(device.implode()).to_numpy())
    first = int(recorded[0]) if len(recorded) else 0
    groups = np.full(cycles.height, -1)
    pauses = np.flatnonzero(_after_pause(cycles))
    ends = np.append(pauses[pauses > first], cycles.height)
    number, place = 0, first
    for end in ends.tolist():
        full_groups = (end - place) // many
        groups[place : place + full_groups * many] = number + np.arange(full_groups * many) // many
        number, place = number + full_groups, end
    return groups if number else None


def _after_pause(cycles: pl.DataFrame) -> Flags:
    """Which cycles start long after the one before them ended."""
    ended = pl.col("cycle_ts_ns").shift(1) + pl.col("cycle_dur_ns").shift(1)
    late = pl.col("cycle_ts_ns") - ended > WorkloadLimits.long_gap * pl.col("cycle_dur_ns").median()
    return np.asarray(cycles.select(late.fill_null(value=False))[:, 0].to_numpy())


def _put_together(table: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """A behaviour table with a cycle per group."""
    rows = table.join(numbers, "cycle")
    cycles = rows.unique("cycle", maintain_order=True).sort("cycle")
    end = pl.col("cycle_ts_ns") + pl.col("cycle_dur_ns")
    span = end.max() - pl.col("cycle_ts_ns").min()
    mark = pl.format("{} x {}", pl.len(), pl.col("anchor").first())
    groups = cycles.group_by("group").agg(
        pl.coalesce(span, pl.col("cycle_dur_ns").sum()).alias("cycle_dur_ns"),
        pl.col("cycle_ts_ns").min(),
        mark.alias("anchor"),
        pl.col("cycle_type", "pid", "host").first(),
    )
    # Time and calls of each function in each group; several metrics do not count it twice.
    once = once_per_cycle(rows)
    times = once.group_by("group", *_FUNCTION, maintain_order=True).agg(
        pl.col("dur_ns", "calls").sum(), pl.col("short_name").first()
    )
    counters = _counters(rows)
    grouped_rows = times.join(groups, "group").join(
        counters, ["group", *_FUNCTION], "left", nulls_equal=True
    )
    beta = 100 * pl.col("dur_ns") / pl.col("cycle_dur_ns")
    return grouped_rows.with_columns(
        (pl.col("group") + 1).alias("cycle"),
        pl.when(pl.col("cycle_dur_ns") > 0).then(beta).otherwise(0.0).alias("beta_pct"),
        pl.col("interpolated").fill_null("none"),
    ).select(column.name for column in BEHAVIOUR.columns).sort(
        "cycle", "beta_pct", "function", "device", "metric",
        descending=[False, True, False, False, False],
    )  # fmt: skip


def _counters(rows: pl.DataFrame) -> pl.DataFrame:
    """Counters while a function ran: mean weighted by its time, spread pooled in the same way."""
    counter_rows = rows.filter(pl.col("metric").is_not_null()).sort("cycle")
    read = pl.col("mu").is_finite().fill_null(value=False)
    mu, sigma, time = (pl.col(name).filter(read) for name in ("mu", "sigma", "dur_ns"))
    # From the first value on, so that a counter that never changes stays exactly what it was.
    first = mu.first()
    weight = pl.when(time.sum() > 0).then(time).otherwise(1)
    mean = first + ((mu - first) * weight).sum() / weight.sum()
    spread = pl.when(read.any()).then(((sigma**2 * weight).sum() / weight.sum()).sqrt())
    marks = pl.col("interpolated").n_unique() == 1
    state = pl.when(marks).then(pl.col("interpolated").first()).otherwise(pl.lit("some"))
    return counter_rows.group_by("group", *_FUNCTION, "metric", maintain_order=True).agg(
        mean.alias("mu"),
        spread.alias("sigma"),
        pl.col("unit").first(),
        state.cast(rows["interpolated"].dtype).alias("interpolated"),
    )
