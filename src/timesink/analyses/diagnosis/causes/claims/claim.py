"""What a rule says explains time, before it is known how much of it is left to explain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.analyses.statistics.drifting import mean_changes
from timesink.analyses.statistics.moments import Floats

Interval = tuple[float, float]
HOST_PARTS = ("idle", "host_cpu", "launch_gap", "run_queue")
"""Parts in which the host works, in the order in which a stall without a call shows in them."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Time to be found in the growth of components, in that of the first of them first."""

    ns: float
    components: tuple[str, ...]
    """Names of components; a part alone (`device_compute`) means all of its families."""
    structural: bool = False
    """Whether it is in more or other calls, or in one place: then what the rest of the component
    gained or lost does not limit it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One cause, and where the time it explains should be."""

    cause: str
    demands: tuple[Demand, ...]
    interval_ns: Interval | None
    """95 % interval of all that is demanded; None where too few cycles tell."""
    sentence: str
    advice: str
    evidence: tuple[Evidence, ...]
    device: str | None = None
    functions: tuple[str, ...] = ()
    """Functions of the host whose time it takes: no other rule takes them again."""
    columns: tuple[int, ...] = ()
    """Functions of the device, as columns of `Functions`, whose growth it takes as a whole."""
    inside: tuple[str | None, ...] = ()
    """The call in which the places lie whose time it takes, None for the cycle itself; empty where
    it is about no place."""

    @property
    def ns(self) -> float:
        """All that is demanded."""
        return sum(demand.ns for demand in self.demands)


def change(base: Floats, new: Floats) -> tuple[float, Interval | None]:
    """Change of the mean per cycle and its interval; None with too few cycles.

    >>> found = change(np.array([1.0, 1.1, 0.9]), np.array([3.0, 3.1, 2.9]))
    >>> round(found[0], 6), found[1][0] > 1
    (2.0, True)
    """
    found = mean_changes(base[:, None], new[:, None])
    low, high = float(found.low[0]), float(found.high[0])
    known = np.isfinite(low) and np.isfinite(high)
    return float(found.delta[0]), ((low, high) if known else None)


def is_certain(interval: Interval | None) -> bool:
    """Whether an interval says that there is a change."""
    return interval is not None and (interval[0] > 0 or interval[1] < 0)


def mirrored(claim: Claim) -> Claim:
    """A claim about changed-over sides as one about the sides as they were given."""
    interval = claim.interval_ns
    return replace(
        claim,
        demands=tuple(replace(each, ns=-each.ns) for each in claim.demands),
        interval_ns=None if interval is None else (-interval[1], -interval[0]),
        evidence=tuple(_mirrored(each) for each in claim.evidence),
    )


def _mirrored(evidence: Evidence) -> Evidence:
    sides = {"base": "new", "new": "base"}
    return replace(
        evidence,
        side=None if evidence.side is None else sides[evidence.side],
        base=evidence.new,
        new=evidence.base,
    )
