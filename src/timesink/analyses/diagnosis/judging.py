"""Whether cycles take longer on one side of a pair, and why one can or cannot say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from timesink.analyses.comparison.pair import CycleTimes, Pair
from timesink.analyses.comparison.verdict import cycle_change
from timesink.analyses.diagnosis.diagnosis import CycleTime
from timesink.analyses.statistics.discovery import ALPHA
from timesink.model import units
from timesink.model.amounts import change, interval_pct, times

FEWEST_PUT_TOGETHER = 3
"""Cycles a side needs for a verdict after cycles were put together: these are few, long ones whose
borders are a guess."""
_FEW = 4


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of cycle time."""

    verdict: str
    """One of `diagnosis.VERDICTS`."""
    reason: str
    """Why this verdict, in a sentence or two."""
    cycle_time: CycleTime
    notes: tuple[str, ...] = ()
    """Warm-up, drift, and what could not be tested."""


def judge(pair: Pair) -> Judgement:
    """The verdict on a pair; on equal work, where cycles as recorded do not hold the same.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> judge(same.pair).verdict
    'no_change'
    """
    if pair.workload.comparable:
        return _judged(pair)
    put_together = pair.equal_work
    if put_together is None and pair.cycle_times.one_run:
        found = _judged(pair)
        notes = (_unequal(pair), *found.notes)
        return Judgement(found.verdict, found.reason, found.cycle_time, notes)
    if put_together is None:
        lengths = pair.cycle_times
        return _incomparable(_unequal(pair), CycleTime(*_means(lengths), None, None, None))
    found = _judged(put_together)
    if _fewest(put_together.cycle_times) < FEWEST_PUT_TOGETHER:
        few = f"Put together to equal work there are too few cycles: {_few(put_together)}."
        return _incomparable(f"{_unequal(pair)} {few}", found.cycle_time)
    note = f"{_unequal(pair)} They were put together until they do."
    return Judgement(found.verdict, found.reason, found.cycle_time, (note, *found.notes))


def _judged(pair: Pair) -> Judgement:
    """The verdict on cycles that hold the same work."""
    found = judge_lengths(pair.cycle_times)
    if found.verdict == "incomparable":
        return found
    return replace(found, notes=tuple(_notes(pair)))


def judge_lengths(lengths: CycleTimes, unit: str = "cycle") -> Judgement:
    """The verdict on lengths of cycles, or what else the `unit` is called, without any notes."""
    cycle_time, name = _cycle_time(lengths), unit.capitalize()
    if not (lengths.base_ns and lengths.new_ns):
        return _incomparable(f"How long {unit}s take is not recorded on both sides.", cycle_time)
    if cycle_time.p_value is None:
        reason = f"One {unit} on a side cannot be told from noise: {_amounts(lengths)}."
        return _incomparable(reason, cycle_time)
    is_longer = lengths.new_mean_ns > lengths.base_mean_ns
    verdict, reason = "no_change", _no_change(lengths, name)
    if cycle_time.p_value < ALPHA:
        verdict = "regression" if is_longer else "improvement"
        reason = f"{name}s take {'longer' if is_longer else 'less'}: {_amounts(lengths)}."
    return Judgement(verdict, reason, cycle_time)


def _incomparable(reason: str, cycle_time: CycleTime) -> Judgement:
    return Judgement("incomparable", reason, cycle_time)


def _cycle_time(lengths: CycleTimes) -> CycleTime:
    same = bool(lengths.base_ns) and lengths.base_ns == lengths.new_ns
    # One cycle has no scatter, and yet a run does not differ from itself.
    p_value = 1.0 if same else lengths.p_value
    scale = lengths.base_mean_ns / 100
    interval = None
    if lengths.interval_ns is not None and scale:
        interval = (lengths.interval_ns[0] / scale, lengths.interval_ns[1] / scale)
    return CycleTime(*_means(lengths), lengths.change_pct, interval, p_value, lengths.steady)


def _means(lengths: CycleTimes) -> tuple[float, float]:
    return lengths.base_mean_ns, lengths.new_mean_ns


def _fewest(lengths: CycleTimes) -> int:
    return min(len(lengths.base_ns), len(lengths.new_ns))


# -- words -----------------------------------------------------------------------------------------


def _unequal(pair: Pair) -> str:
    return " ".join(["Cycles do not hold the same work.", *pair.workload.reasons[:1]])


def _few(pair: Pair) -> str:
    lengths = pair.cycle_times
    sides = ((pair.base.label, lengths.base_ns), (pair.new.label, lengths.new_ns))
    counts = " and ".join(f"{len(known)} of {label}" for label, known in sides)
    return f"{counts} ({times(*_means(lengths))})"


def _no_change(lengths: CycleTimes, name: str) -> str:
    if lengths.base_ns == lengths.new_ns:
        return f"{name} time is the same: {units.brief_ns(lengths.new_mean_ns)}."
    if cycle_change(lengths) == "none":
        return f"{name} time is the same within noise: {_amounts(lengths)}."
    return f"{name}s are too uneven to tell a change: {_amounts(lengths)}."


def _amounts(lengths: CycleTimes) -> str:
    """Both means, their change, and between which bounds it probably is."""
    means = times(*_means(lengths))
    by = change(*_means(lengths))
    if lengths.interval_ns is None or not lengths.base_mean_ns:
        return f"{means} ({by})"
    bounds = interval_pct(*(100 * end / lengths.base_mean_ns for end in lengths.interval_ns))
    return f"{means} ({by}, 95 % interval {bounds})"


def _notes(pair: Pair) -> Iterator[str]:
    lengths = pair.cycle_times
    sides = (
        (pair.base.label, lengths.base_ns, lengths.warm_up[0], lengths.levels_ns[0]),
        (pair.new.label, lengths.new_ns, lengths.warm_up[1], lengths.levels_ns[1]),
    )
    for label, known, warm, levels in sides:
        if warm:
            yield _warm_up(label, known, warm)
        if levels:
            low, high = (units.brief_ns(end(levels)) for end in (min, max))
            yield (
                f"Cycle time of {label} drifts: it goes through {len(levels)} levels,"
                f" from {low} to {high}."
            )
    if lengths.one_run and (cycle_change(lengths) != "none" or any(lengths.levels_ns)):
        yield "Both sides are parts of one run: another level within it is drift, not a change."
    if _fewest(lengths) < _FEW:
        yield f"With {units.counted(_fewest(lengths), 'cycles')} on a side only large changes show."


def _warm_up(label: str, known: tuple[int, ...], warm: int) -> str:
    which = "first cycle" if warm == 1 else f"first {warm} cycles"
    took, later = sum(known[:warm]) / warm, sum(known[warm:]) / (len(known) - warm)
    return (
        f"The {which} of {label} {'is' if warm == 1 else 'are'} warm-up"
        f" ({units.brief_ns(took)}, later ones {units.brief_ns(later)}): means hold"
        f" {'it' if warm == 1 else 'them'}, the test does not."
    )
