"""What entries match in pairs of roles, and by how much it is beyond a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.statistics.discovery import ALPHA, false_discovery
from timesink.analyses.statistics.drifting import mean_changes
from timesink.reports.budgets.budgets import TIMES, Budget, Increase
from timesink.reports.budgets.measuring import MeasuredRun, has_device_work, lacking, measured
from timesink.reports.comparison.naming import processes
from timesink.reports.comparison.report import Compared
from timesink.reports.comparison.told import Told

_DEVICE, _HOST = TIMES


@dataclass(frozen=True, slots=True, eq=False)
class FoundAmounts:
    """What an entry matches in one pair."""

    where: str
    """Which processes: `rank 3`."""
    of: str
    """The sort of time."""
    new: MeasuredRun
    """The new side as recorded."""
    sides: tuple[MeasuredRun, MeasuredRun]
    """Both with cycles that hold the same work."""
    warm_up: tuple[int, int]
    """Of both with the same work; of the new side as recorded, see `new_warm_up`."""
    new_warm_up: int
    incomparable: str | None
    """Why nothing can be said about a change."""
    lacking: tuple[str | None, str | None]
    """What of this kind the base, and the new side, do not tell of; None where they do."""

    @property
    def names(self) -> set[str]:
        return self.new.names | self.sides[0].names | self.sides[1].names


@dataclass(frozen=True, slots=True)
class Amount:
    """Time per cycle of one name in one pair, and what it is against."""

    name: str
    where: str
    of: str
    base_ns: float
    new_ns: float
    is_beyond: bool
    """Whether the amount alone is."""
    is_certain: bool | None = None
    """Whether an increase is more than noise; None where it cannot be tested."""
    interval_ns: tuple[float, float] | None = None

    @property
    def delta_ns(self) -> float:
        return self.new_ns - self.base_ns


def found_in(compared: Compared, budget: Budget) -> FoundAmounts:
    """What an entry matches in a pair."""
    whole = compared.whole or compared.pair
    equal = Told(whole).pair
    of = budget.of or _usual_time(whole, budget.kind)
    new = measured(whole.new, budget, of)
    sides = measured(equal.base, budget, of), measured(equal.new, budget, of)
    return FoundAmounts(
        where=processes(whole),
        of=of,
        new=new,
        sides=sides,
        warm_up=equal.cycle_times.warm_up,
        new_warm_up=whole.cycle_times.warm_up[1],
        incomparable=_incomparable(whole),
        lacking=(lacking(whole.base, budget.kind, of), lacking(whole.new, budget.kind, of)),
    )


def _usual_time(pair: Pair, kind: str) -> str:
    if kind == "kernels" or has_device_work(pair.new) or has_device_work(pair.base):
        return _DEVICE
    return _HOST


def _incomparable(pair: Pair) -> str | None:
    if pair.workload.comparable or pair.equal_work is not None:
        return None
    return " ".join(["Cycles do not hold the same work.", *pair.workload.reasons[:1]])


def beyond_max(budget: Budget, found: Sequence[FoundAmounts]) -> list[Amount]:
    """Mean time per cycle of every name on the new side, longest first."""
    amounts = []
    for one in found:
        names = sorted(one.names)
        values = one.new.matrix(names, one.new_warm_up)
        means = values.mean(axis=0) if len(values) else np.zeros(len(names))
        amounts += [
            Amount(name, one.where, one.of, 0.0, mean, mean > (budget.max_ns or 0))
            for name, mean in zip(names, means.tolist(), strict=True)
        ]
    return sorted(amounts, key=lambda one: (-one.new_ns, one.name))


def beyond_increase(budget: Budget, found: Sequence[FoundAmounts]) -> list[Amount]:
    """Change of the mean time per cycle of every name, those beyond the limit and longest first.

    Many names differ by chance somewhere: what is certain is what is left after Benjamini and
    Hochberg, where the interval of the change lies above 0 as well.
    """
    amounts = [amount for one in found for amount in _changes(one)]
    chances = false_discovery(np.array([p for _, p in amounts]))
    judged = [
        _judged(budget, amount, q) for (amount, _), q in zip(amounts, chances.tolist(), strict=True)
    ]
    return sorted(judged, key=lambda one: (not one.is_beyond, -one.delta_ns, one.name))


def _changes(found: FoundAmounts) -> list[tuple[Amount, float]]:
    """Every name with both means, the interval, and the chance that it is noise."""
    names = sorted(found.names)
    base, new = (
        side.matrix(names, warm) for side, warm in zip(found.sides, found.warm_up, strict=True)
    )
    changes = mean_changes(base, new)
    means = [side.mean(axis=0) if len(side) else np.zeros(len(names)) for side in (base, new)]
    return [
        (
            Amount(
                name,
                found.where,
                found.of,
                float(means[0][place]),
                float(means[1][place]),
                is_beyond=False,
                interval_ns=_interval(changes.low[place], changes.high[place]),
            ),
            float(changes.p[place]),
        )
        for place, name in enumerate(names)
    ]


def _interval(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else None


def _judged(budget: Budget, amount: Amount, chance: float) -> Amount:
    allowed = budget.max_increase or Increase(pct=0.0)
    delta = amount.delta_ns
    is_large = allowed.is_below(delta, amount.base_ns) and delta >= budget.ignore_below_ns
    certain = None
    if amount.interval_ns is not None:
        certain = amount.interval_ns[0] > 0 and chance < ALPHA
    return replace(amount, is_beyond=is_large, is_certain=certain)
