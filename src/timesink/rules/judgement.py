"""Whether cycles take longer on one side of a pair, or of several, and why one can say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt
from statistics import fmean

import numpy as np

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.verdict import cycle_change, judge_lengths
from timesink.analyses.statistics.ranks import ALPHA, false_discovery
from timesink.model import units
from timesink.model import units as amounts
from timesink.model.diagnosis import CycleJudgement, CycleTime, Diagnosis, SteadyTimes
from timesink.model.findings import Interval

FEWEST_PUT_TOGETHER = 3
"""Cycles a side needs for a verdict after cycles were put together: these are few, long ones whose
borders are a guess."""
_FEW = 4
_Z95 = 1.96
_TOLD = {"regression": "longer", "improvement": "shorter"}


def judge(pair: Pair) -> CycleJudgement:
    """The verdict on a pair; on equal work, where cycles as recorded do not hold the same."""
    if pair.workload.comparable:
        return _judged(pair)
    unequal = " ".join(["Cycles do not hold the same work.", *pair.workload.reasons[:1]])
    put_together = pair.equal_work
    if put_together is None and pair.cycle_times.one_run:
        found = _judged(pair)
        return replace(found, notes=(unequal, *found.notes))
    if put_together is None:
        as_recorded = CycleTime(*pair.cycle_times.means_ns, None, None, None)
        return CycleJudgement("incomparable", unequal, as_recorded)
    found, lengths = _judged(put_together), put_together.cycle_times
    if lengths.fewest < FEWEST_PUT_TOGETHER:
        sides = (put_together.base, lengths.base_ns), (put_together.new, lengths.new_ns)
        counts = " and ".join(f"{len(known)} of {role.label}" for role, known in sides)
        took = amounts.times(*lengths.means_ns)
        few = f"Put together to equal work there are too few cycles: {counts} ({took})."
        return CycleJudgement("incomparable", f"{unequal} {few}", found.cycle_time)
    note = f"{unequal} They were put together until they do."
    return replace(found, notes=(note, *found.notes))


def _judged(pair: Pair) -> CycleJudgement:
    """The verdict on cycles that hold the same work."""
    found = judge_lengths(pair.cycle_times)
    if found.verdict == "incomparable":
        return found
    return replace(found, notes=tuple(_notes(pair)))


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
    if lengths.fewest < _FEW:
        yield f"With {units.counted(lengths.fewest, 'cycles')} on a side only large changes show."


def _warm_up(label: str, known: tuple[int, ...], warm: int) -> str:
    which = "first cycle" if warm == 1 else f"first {warm} cycles"
    took, later = sum(known[:warm]) / warm, sum(known[warm:]) / (len(known) - warm)
    return (
        f"The {which} of {label} {'is' if warm == 1 else 'are'} warm-up"
        f" ({units.brief_ns(took)}, later ones {units.brief_ns(later)}): means hold"
        f" {'it' if warm == 1 else 'them'}, the test does not."
    )


# -- of several processes --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ProcessDiagnosis:
    """One process among those read together."""

    process: str
    diagnosis: Diagnosis
    host: str | None = None


def judge_together(members: Sequence[ProcessDiagnosis]) -> CycleJudgement:
    """The verdict on several processes, of which each was tested for itself.

    With many of them one differs by chance, so what counts is what is left after Benjamini and
    Hochberg: if that got longer, it is a regression, however many of the others did not.
    """
    found = _Processes.of(members)
    verdict, p = _verdict(found)
    interval = _interval(found, verdict)
    base, new = found.means
    change = 100 * (new - base) / base if base and found.any_change else None
    cycle_time = CycleTime(base, new, change, interval, p, _steady(found, verdict))
    return CycleJudgement(verdict, _reason(found, verdict), cycle_time)


@dataclass(frozen=True, slots=True, eq=False)
class _Processes:
    members: Sequence[ProcessDiagnosis]
    times: Sequence[CycleTime]
    p: np.ndarray
    """Corrected for the number of processes; NaN where nothing was tested."""

    @classmethod
    def of(cls, members: Sequence[ProcessDiagnosis]) -> _Processes:
        times = [each.diagnosis.cycle_time for each in members]
        chances = [each.p_value for each in times]
        known = np.array([np.nan if each is None else each for each in chances], dtype=np.float64)
        return cls(members, times, false_discovery(known))

    @property
    def means(self) -> tuple[float, float]:
        return fmean(each.base_ns for each in self.times), fmean(each.new_ns for each in self.times)

    @property
    def any_change(self) -> bool:
        return any(each.change_pct is not None for each in self.times)

    def changed(self, verdict: str) -> list[int]:
        """Which processes certainly got longer, or shorter."""
        return [
            place
            for place, each in enumerate(self.members)
            if each.diagnosis.verdict == verdict and not self.p[place] >= ALPHA
        ]


def _verdict(found: _Processes) -> tuple[str, float | None]:
    """The verdict, and how likely it is by chance."""
    verdicts = {each.diagnosis.verdict for each in found.members}
    if verdicts == {"incomparable"}:
        return "incomparable", _lowest(found.p)
    base, new = found.means
    longer, shorter = found.changed("regression"), found.changed("improvement")
    if longer and shorter:
        return _by_mean(found)
    if longer and new > base:
        return "regression", _lowest(found.p[longer])
    if shorter and new < base:
        return "improvement", _lowest(found.p[shorter])
    # Some changed, and the others by more in the other direction, which may be noise.
    return ("no_change", 1.0) if longer or shorter else ("no_change", _lowest(found.p))


def _lowest(p: np.ndarray) -> float | None:
    known = p[~np.isnan(p)]
    return float(known.min()) if len(known) else None


def _by_mean(found: _Processes) -> tuple[str, float | None]:
    """Where some got longer and others shorter, what the mean of all says."""
    ends = _ends(found, range(len(found.members)))
    base, new = found.means
    half = max(ends[1] - ends[0], 1e-9) / 2
    p = erfc(abs(new - base) / half * _Z95 / sqrt(2))
    return ("no_change" if p >= ALPHA else "regression" if new > base else "improvement"), p


# -- intervals -------------------------------------------------------------------------------------


def _interval(found: _Processes, verdict: str) -> Interval | None:
    """95 % interval of the change of the mean over processes, in percent.

    Processes that wait for each other measure the same thing: together they know no more than one.
    Where the verdict is that of some of them, the others count as they were measured.
    """
    base = found.means[0]
    if not base or not any(each.interval_pct is not None for each in found.times):
        return None
    decided = [*found.changed("regression"), *found.changed("improvement")]
    low, high = _ends(found, range(len(found.members)))
    if verdict in {"regression", "improvement"} and low <= 0 <= high:
        low, high = _ends(found, decided)
    change = found.means[1] - base
    low, high = min(low, change), max(high, change)
    if verdict == "no_change":
        low, high = min(low, 0.0), max(high, 0.0)
    return 100 * low / base, 100 * high / base


def _steady(found: _Processes, verdict: str) -> SteadyTimes | None:
    """Means over processes of what was tested in each; of one that was not, of all its cycles."""
    if not any(each.steady is not None for each in found.times):
        return None
    tested = replace(
        found,
        times=[
            one
            if (known := one.steady) is None
            else CycleTime(
                known.base_ns, known.new_ns, known.change_pct, known.interval_pct, one.p_value
            )
            for one in found.times
        ],
    )
    base, new = tested.means
    bounds = _interval(tested, verdict)
    ends = None if bounds is None else (bounds[0] * base / 100, bounds[1] * base / 100)
    return SteadyTimes(base, new, ends)


def _ends(found: _Processes, uncertain: Sequence[int]) -> tuple[float, float]:
    """Mean of the ends of the intervals, in ns; of all but `uncertain` ones the measured change."""
    ends = []
    for place, each in enumerate(found.times):
        change = each.new_ns - each.base_ns
        if each.interval_pct is None or place not in uncertain:
            ends.append((change, change))
        else:
            low, high = each.interval_pct
            ends.append((low * each.base_ns / 100, high * each.base_ns / 100))
    return fmean(low for low, _ in ends), fmean(high for _, high in ends)


def _reason(found: _Processes, verdict: str) -> str:
    if verdict == "incomparable":
        return found.members[0].diagnosis.reason
    base, new = found.means
    means = f"{amounts.times(base, new)} on average ({amounts.change(base, new)})"
    told = [
        _who(found, places, word) for kind, word in _TOLD.items() if (places := found.changed(kind))
    ]
    if not told:
        all_of_them = f"All {len(found.members)} processes"
        return f"{all_of_them} have cycles that are the same within noise: {means}."
    but = "; together that is no change" if verdict == "no_change" else ""
    return f"{' and '.join(told)}{but}: {means}."


def _who(found: _Processes, places: Sequence[int], word: str) -> str:
    many = len(found.members)
    if len(places) == many:
        return f"All {many} processes have {word} cycles"
    names = units.listed([found.members[place].process for place in places])
    have = "has" if len(places) == 1 else "have"
    return f"{len(places)} of {many} processes ({names}) {have} {word} cycles"
