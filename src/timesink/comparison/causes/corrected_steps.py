"""Step times of a comparison without profiler overhead, where step times as recorded mislead.

A profiler slows the host, and by how much varies from one recording to the next: two recordings of
one program may differ by a third where the host decides the recorded step and the device the real
one.  What both recordings say without that overhead shows whether the program changed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from timesink.analyses.replay.own_clock import StepTime
from timesink.comparison.results import WITHIN, Pair, Process
from timesink.comparison.steps.verdict import longer_by
from timesink.comparison.thresholds import CorrectedStepsLimits
from timesink.model import units
from timesink.model.diagnosis import ProgramChange, SteadyTimes, StepTimeTest


def _why_as_recorded(pair: Pair) -> tuple[str, ...]:
    """Why step times are as recorded, in a sentence; none where they are not, or that is known."""
    if pair.kind == WITHIN or pair.plain is not None or pair.equal_work is not None:
        return ()
    labels: dict[str, list[str]] = {}
    for role in (pair.base, pair.new):
        times = None if role.step_time is None else role.step_time()
        if times is not None and times.why:
            labels.setdefault(times.why, []).append(role.label)
    reasons = (f"{' and '.join(named)}: {why}" for why, named in labels.items())
    reasons_text = "; ".join(reasons)
    if not reasons_text:
        return ()
    return (
        (
            "Step times are as recorded, with profiler overhead. The overhead is not known: "
            f"{reasons_text}."
        ),
    )


def corrected_change(pair: Pair) -> SteadyTimes | None:
    """Mean steps of both sides without profiler overhead; None where a side cannot tell.

    The interval holds the doubt of both estimates, as if their errors were independent and as bad
    as they can be.
    """
    if pair.kind == WITHIN or pair.plain is not None or pair.equal_work is not None:
        return None
    # Both clocks are found at once: they are arrays and compiled code.
    with ThreadPoolExecutor(2) as threads:
        base, new = threads.map(_corrected_step, (pair.base, pair.new))
    if base is None or new is None:
        return None
    low = new.interval_ns[0] - base.interval_ns[1]  # type: ignore[index]
    high = new.interval_ns[1] - base.interval_ns[0]  # type: ignore[index]
    return SteadyTimes(base.corrected_ns or 0.0, new.corrected_ns or 0.0, (low, high))


def _corrected_step(role: Process) -> StepTime | None:
    """The corrected step of the recording of a process, where its steps are those compared."""
    times = None if role.step_time is None else role.step_time()
    if times is None or not times.corrected_ns or times.interval_ns is None:
        return None
    is_same = (
        abs(times.recorded_ns - role.mean_cycle_ns)
        <= CorrectedStepsLimits.same_steps * role.mean_cycle_ns
    )
    return times if is_same else None


def judged_without_overhead(
    judged: StepTimeTest, pair: Pair, program: ProgramChange | None
) -> StepTimeTest:
    """The verdict, held against what both recordings say without profiler overhead.

    A change of the host alone that is not there without overhead is none of the program; a change
    that device time shows for certain, and step time without overhead as well, is one, however
    uneven the recorded steps are, and whichever way they went.
    """
    recorded = judged.cycle_time
    if judged.verdict == "incomparable" or program is None or not recorded.base_ns:
        return judged
    may_turn = judged.verdict != "no_change" or program.device_verdict != "same"
    corrected = corrected_change(pair) if may_turn else None
    if corrected is None or corrected.interval_ns is None:
        reasons = _why_as_recorded(pair) if may_turn else ()
        return replace(judged, notes=(*judged.notes, *reasons))
    delta_ns = recorded.new_ns - recorded.base_ns
    low, high = corrected.interval_ns
    took = units.times(corrected.base_ns, corrected.new_ns)
    as_recorded = units.times(recorded.base_ns, recorded.new_ns)
    judged = replace(judged, corrected=corrected)
    interval = units.interval_pct(*(corrected.interval_pct or (0.0, 0.0)))
    estimate = f"estimated, 95 % interval {interval}"
    beyond = high if delta_ns > 0 else -low
    is_hosts = program.same and program.device_verdict == "same"
    is_changed = judged.verdict != "no_change"
    if (
        is_changed
        and is_hosts
        and low <= 0 <= high
        and beyond < CorrectedStepsLimits.hardly_shown * abs(delta_ns)
    ):
        more = "more" if delta_ns > 0 else "less"
        reason = (
            f"No change in step time without profiler overhead: {took} ({estimate}). "
            f"As recorded: {as_recorded}; the profiler cost the host {more} in new."
        )
        return replace(judged, verdict="no_change", reason=reason, is_without_overhead=True)
    by = units.change(corrected.base_ns, corrected.new_ns)
    certain = {"longer": low > 0, "shorter": high < 0}.get(program.device_verdict, False)
    corrected_ns = corrected.new_ns - corrected.base_ns
    is_opposite = is_changed and corrected_ns * delta_ns < 0
    verdict = reason = ""
    if certain and (is_opposite or not is_changed):
        verdict = "regression" if low > 0 else "improvement"
        much = longer_by(corrected.base_ns, corrected.new_ns)
        reason = (
            f"Steps take {much} without profiler overhead, {took} ({estimate}). "
            f"As recorded: {as_recorded}."
        )
    elif is_opposite and beyond < CorrectedStepsLimits.hardly_shown * abs(delta_ns):
        # Two clocks that disagree on the direction decide nothing.
        verdict = "no_change"
        reason = (
            f"Both clocks disagree on step time: {took} without profiler overhead ({by}, "
            f"{estimate}), {as_recorded} as recorded."
        )
    if verdict:
        return replace(judged, verdict=verdict, reason=reason, is_without_overhead=True)
    gap = abs(corrected_ns - delta_ns)
    if gap <= CorrectedStepsLimits.worth_telling * recorded.base_ns:
        return replace(judged, corrected=None)
    note = f"Without profiler overhead: {took} ({by}, estimated)."
    return replace(judged, reason=f"{judged.reason} {note}")
