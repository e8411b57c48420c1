"""Whether cycles take longer, of several processes read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt
from statistics import fmean

import numpy as np

from timesink.analyses.comparison.pair import SteadyTimes
from timesink.analyses.diagnosis.diagnosis import CycleTime
from timesink.analyses.diagnosis.merging import Member
from timesink.analyses.statistics.discovery import ALPHA, false_discovery
from timesink.model import amounts
from timesink.model.units import listed

_Z95 = 1.96


@dataclass(frozen=True, slots=True)
class JointJudgement:
    """What became of the cycle time of all processes."""

    verdict: str
    reason: str
    cycle_time: CycleTime
    """Means over the processes; p-value and interval are those of the verdict."""


def judge_together(members: Sequence[Member]) -> JointJudgement:
    """The verdict on several processes, of which each was tested for itself.

    With many of them one differs by chance, so what counts is what is left after Benjamini and
    Hochberg: if that got longer, it is a regression, however many of the others did not.
    """
    found = _Found.of(members)
    verdict, p = _verdict(found)
    interval = _interval(found, verdict)
    base, new = found.means
    change = 100 * (new - base) / base if base and found.any_change else None
    cycle_time = CycleTime(base, new, change, interval, p, _steady(found, verdict))
    return JointJudgement(verdict, _reason(found, verdict), cycle_time)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    members: Sequence[Member]
    times: Sequence[CycleTime]
    p: np.ndarray
    """Corrected for the number of processes; NaN where nothing was tested."""

    @classmethod
    def of(cls, members: Sequence[Member]) -> _Found:
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


def _verdict(found: _Found) -> tuple[str, float | None]:
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


def _by_mean(found: _Found) -> tuple[str, float | None]:
    """Where some got longer and others shorter, what the mean of all says."""
    ends = _ends(found, range(len(found.members)))
    base, new = found.means
    half = max(ends[1] - ends[0], 1e-9) / 2
    p = erfc(abs(new - base) / half * _Z95 / sqrt(2))
    if p >= ALPHA:
        return "no_change", p
    return ("regression" if new > base else "improvement"), p


# -- intervals -------------------------------------------------------------------------------------


def _interval(found: _Found, verdict: str) -> tuple[float, float] | None:
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


def _steady(found: _Found, verdict: str) -> SteadyTimes | None:
    """Means over processes of what was tested in each; of one that was not, of all its cycles."""
    if not any(each.steady is not None for each in found.times):
        return None
    tested = replace(found, times=[_tested(each) for each in found.times])
    base, new = tested.means
    bounds = _interval(tested, verdict)
    ends = None if bounds is None else (bounds[0] * base / 100, bounds[1] * base / 100)
    return SteadyTimes(base, new, ends)


def _tested(one: CycleTime) -> CycleTime:
    steady = one.steady
    if steady is None:
        return one
    return CycleTime(
        steady.base_ns, steady.new_ns, steady.change_pct, steady.interval_pct, one.p_value
    )


def _ends(found: _Found, uncertain: Sequence[int]) -> tuple[float, float]:
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


# -- words -----------------------------------------------------------------------------------------

_TOLD = {"regression": "longer", "improvement": "shorter"}


def _reason(found: _Found, verdict: str) -> str:
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


def _who(found: _Found, places: Sequence[int], word: str) -> str:
    many = len(found.members)
    if len(places) == many:
        return f"All {many} processes have {word} cycles"
    names = listed([found.members[place].process for place in places])
    have = "has" if len(places) == 1 else "have"
    return f"{len(places)} of {many} processes ({names}) {have} {word} cycles"
