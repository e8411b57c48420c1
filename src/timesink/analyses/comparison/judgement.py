"""Whether lengths of cycles or steps differ by more than noise, in words."""

from __future__ import annotations

from timesink.analyses.comparison.pair import CycleTimes
from timesink.analyses.comparison.verdict import cycle_change
from timesink.analyses.statistics.discovery import ALPHA
from timesink.model import units
from timesink.model.amounts import change, interval_pct, times
from timesink.model.diagnosis import CycleJudgement, CycleTime


def judge_lengths(lengths: CycleTimes, unit: str = "cycle") -> CycleJudgement:
    """The verdict on lengths of cycles, or what else the `unit` is called, without any notes."""
    cycle_time, name = _cycle_time(lengths), unit.capitalize()
    if not (lengths.base_ns and lengths.new_ns):
        return CycleJudgement(
            "incomparable", f"How long {unit}s take is not recorded on both sides.", cycle_time
        )
    if cycle_time.p_value is None:
        reason = f"One {unit} on a side cannot be told from noise: {_amounts(lengths)}."
        return CycleJudgement("incomparable", reason, cycle_time)
    is_longer = lengths.new_mean_ns > lengths.base_mean_ns
    verdict, reason = "no_change", _no_change(lengths, name)
    if cycle_time.p_value < ALPHA:
        verdict = "regression" if is_longer else "improvement"
        reason = f"{name}s take {'longer' if is_longer else 'less'}: {_amounts(lengths)}."
    return CycleJudgement(verdict, reason, cycle_time)


def _cycle_time(lengths: CycleTimes) -> CycleTime:
    same = bool(lengths.base_ns) and lengths.base_ns == lengths.new_ns
    # One cycle has no scatter, and yet a run does not differ from itself.
    p_value = 1.0 if same else lengths.p_value
    scale = lengths.base_mean_ns / 100
    interval = None
    if lengths.interval_ns is not None and scale:
        interval = (lengths.interval_ns[0] / scale, lengths.interval_ns[1] / scale)
    return CycleTime(*lengths.means_ns, lengths.change_pct, interval, p_value, lengths.steady)


def _no_change(lengths: CycleTimes, name: str) -> str:
    if lengths.base_ns == lengths.new_ns:
        return f"{name} time is the same: {units.brief_ns(lengths.new_mean_ns)}."
    if cycle_change(lengths) == "none":
        return f"{name} time is the same within noise: {_amounts(lengths)}."
    return f"{name}s are too uneven to tell a change: {_amounts(lengths)}."


def _amounts(lengths: CycleTimes) -> str:
    """Both means, their change, and between which bounds it probably is."""
    means = times(*lengths.means_ns)
    by = change(*lengths.means_ns)
    if lengths.interval_ns is None or not lengths.base_mean_ns:
        return f"{means} ({by})"
    bounds = interval_pct(*(100 * end / lengths.base_mean_ns for end in lengths.interval_ns))
    return f"{means} ({by}, 95 % interval {bounds})"
