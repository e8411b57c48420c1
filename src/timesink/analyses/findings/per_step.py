"""What a rule measures against: the complete steps, and how much of them something takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timesink.analyses.once import once_per_trace
from timesink.analyses.steps import find_steps
from timesink.model import intervals, units
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace


@dataclass(frozen=True, eq=False)
class Steps:
    """The complete steps of a trace as one whole."""

    windows: IntervalSet
    """When they ran; disjoint, in time order."""
    count: int
    length_ns: float
    """Of the average step."""
    marked: bool
    """Whether the recording marks steps; else all of it counts as one."""

    def per_step_ns(self, ranges: ArrayLike) -> float:
        """How much of an average step the ranges cover; what overlaps counts once.

        >>> steps = Steps(np.array([[0, 100], [200, 300]]), 2, 100.0, marked=True)
        >>> steps.per_step_ns([[50, 150], [60, 90], [290, 400]])
        30.0
        """
        return int(intervals.coverage_within(ranges, self.windows).sum()) / max(1, self.count)

    def hold(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these moments are inside a step.

        >>> steps = Steps(np.array([[0, 100], [200, 300]]), 2, 100.0, marked=True)
        >>> steps.hold(np.array([50, 150, 200, 300])).tolist()
        [True, False, True, False]
        """
        if not len(self.windows):
            return np.zeros(len(times), dtype=np.bool_)
        place = np.searchsorted(self.windows[:, 0].copy(), times, side="right") - 1
        inside: NDArray[np.bool_] = (place >= 0) & (times < self.windows[place, 1])
        return inside

    @property
    def each(self) -> str:
        """What a part is taken of, in words: a step, or what was recorded.

        >>> Steps(np.zeros((0, 2), int), 1, 2e6, marked=False).each
        'the recorded 2.00 ms'
        """
        length = units.duration_ns(self.length_ns)
        return f"each {length} step" if self.marked else f"the recorded {length}"

    @property
    def a_step(self) -> str:
        """Said after a number that is one of an average step; nothing where no step is marked."""
        return " a step" if self.marked else ""


@once_per_trace
def complete_steps(trace: Trace) -> Steps:
    """The steps that averages are taken of; a length of 0 where nothing can be measured.

    >>> import timesink
    >>> complete_steps(timesink.open(timesink.sample())).marked
    True
    """
    steps = find_steps(trace).filter("complete")
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    total = int((bounds[:, 1] - bounds[:, 0]).sum())
    return Steps(
        windows=intervals.merge(bounds),
        count=len(bounds),
        length_ns=total / max(1, len(bounds)),
        marked=bool(steps["marked"].any()),
    )
