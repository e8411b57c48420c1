"""What the rules about a change are asked about, and the evidence several of them give.

What they claim is settled in a ledger, by how much of the time is left: nothing is explained twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.behaviour.functions import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.names import short_name
from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.comparison.causes.case_functions import CaseFunctions, functions_of
from timesink.comparison.results import Pair, Process
from timesink.comparison.steps.recorded_events import find_unrecorded
from timesink.model import units as amounts
from timesink.model.diagnosis import Component
from timesink.model.findings import Evidence, Finding, Interval
from timesink.model.intervals import Floats
from timesink.model.schema import HOST_DEVICE
from timesink.rules.register import make_finding

HOST_PARTS = ("idle", "host_cpu", "launch_gap", "run_queue")
"""Parts in which the host works, in the order in which a stall without a call shows in them."""
_DEVICE = ("device_compute", "copies", "exposed_communication")
_ANY = float("inf")
_SHOWS = 0.1
"""Part of what is demanded that must be there: what hardly shows in the cycle is hidden."""


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

    finding: Finding
    """With the 95 % interval of all that is demanded; None where too few cycles tell."""
    demands: tuple[Demand, ...]
    functions: tuple[str, ...] = ()
    """Functions of the host whose time it takes: no other rule takes them again."""
    columns: tuple[int, ...] = ()
    """Functions of the device, as columns of `CaseFunctions`, whose growth it takes as a whole."""
    inside: tuple[str | None, ...] = ()
    """The call in which the places lie whose time it takes, None for the cycle itself; empty where
    it is about no place."""

    @property
    def ns(self) -> float:
        """All that is demanded."""
        return sum(demand.ns for demand in self.demands)


def change(base: Floats, new: Floats) -> tuple[float, Interval | None]:
    """Change of the mean per step and its interval; None with too few cycles."""
    changes = mean_changes(base[:, None], new[:, None])
    return float(changes.delta[0]), known_interval(changes.low[0], changes.high[0])


def known_interval(low: float, high: float) -> Interval | None:
    """The ends of an interval, where there is one."""
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else None


def is_certain(interval: Interval | None) -> bool:
    """Whether an interval says that there is a change."""
    return interval is not None and (interval[0] > 0 or interval[1] < 0)


def negate_interval(interval: Interval | None) -> Interval | None:
    """The interval of the opposite."""
    return None if interval is None else (-interval[1], -interval[0])


def opposite_claim(claim: Claim) -> Claim:
    """A claim about changed-over sides as one about the sides as they were given."""
    sides = {None: None, "base": "new", "new": "base"}
    finding = replace(
        claim.finding,
        interval_ns=negate_interval(claim.finding.interval_ns),
        evidence=tuple(
            replace(item, side=sides[item.side], base=item.new, new=item.base)
            for item in claim.finding.evidence
        ),
    )
    demands = tuple(replace(demand, ns=-demand.ns) for demand in claim.demands)
    return replace(claim, finding=finding, demands=demands)


@dataclass(frozen=True, slots=True)
class _Change:
    """What of the change of a component is not explained."""

    structural: float
    """In more, fewer or other kernels."""
    other: float

    @property
    def left(self) -> float:
        return self.structural + self.other

    def most(self, wanted: float, *, structural: bool) -> float:
        """What of an amount is there; what the others lost does not hide more kernels."""
        there = [self.left, self.structural] if structural else [self.left]
        if wanted > 0:
            return max(0.0, min(wanted, max(there)))
        return min(0.0, max(wanted, min(there)))

    def without(self, ns: float, *, structural: bool) -> _Change:
        """The rest; an amount comes out of its own sort first, and never more than there is."""
        preferred, spare = (self.structural, self.other)[:: 1 if structural else -1]
        first = relative_closeness(preferred, ns)
        second = ns - first
        preferred, spare = preferred - first, spare - second
        return _Change(preferred, spare) if structural else _Change(spare, preferred)


class Ledger:
    """The components of a change, and what was taken from them."""

    def __init__(
        self, components: Sequence[Component], local: tuple[float, float] = (-_ANY, _ANY)
    ) -> None:
        """`local` is what functions of the host lost and gained that shows in their parts."""
        self._changes: dict[str, _Change] = {}
        for component in components:
            same = component.same_launches_ns
            structural = 0.0 if same is None else float(component.delta_ns - same)
            self._changes[component.name] = _Change(
                structural, float(component.delta_ns) - structural
            )
        self._local = local
        # Part of a cycle in which the device does nothing: the host's time shows in full there.
        on_device = [component for component in components if component.part in _DEVICE]
        sides = [
            (
                sum(component.base_ns for component in some),
                sum(component.new_ns for component in some),
            )
            for some in (on_device, components)
        ]
        self._exposed = [
            max(0.0, 1 - device / total) if total > 0 else 1.0
            for device, total in zip(*sides, strict=True)
        ]

    @property
    def left(self) -> dict[str, float]:
        """What of the change of each component is not explained."""
        return {name: change.left for name, change in self._changes.items()}

    def take(self, demand: Demand) -> dict[str, float]:
        """What there is of a demand, from the components in its order; of its sign."""
        wanted, taken = demand.ns, dict[str, float]()
        for name in self._named(demand.components):
            change = self._changes[name]
            amount = change.most(wanted, structural=demand.structural)
            if amount:
                taken[name] = amount
                self._changes[name] = change.without(amount, structural=demand.structural)
                wanted -= amount
        if demand.structural:
            self._take_in_full(demand, taken)
        return taken

    def _take_in_full(self, demand: Demand, taken: dict[str, float]) -> None:
        """Add what the rest of the component hides by its own change.

        What the host did in one place or in added calls it did, however fast the rest of it was:
        as much of that counts as the device usually does not run beside, and of all such places
        together no more than the functions of the host gained.
        """
        name = next(iter(self._named(demand.components)), None)
        if name not in HOST_PARTS:
            return
        total = sum(taken.values())
        missing = self._exposed[demand.ns > 0] * demand.ns - total
        local = self._local[demand.ns > 0] - total
        if missing * demand.ns > 0 and local * demand.ns > 0:
            more = min(missing, local, key=abs)
            taken[name] = taken.get(name, 0.0) + more
            self._changes[name] = self._changes[name].without(more, structural=False)
        lost, gained, ns = *self._local, sum(taken.values())
        self._local = min(0.0, lost - min(0.0, ns)), max(0.0, gained - max(0.0, ns))

    def settle(self, claim: Claim, least_ns: float) -> Finding | None:
        """The cause that a claim comes to.

        None where it is not certain, where too little is left, or where what is left is the
        opposite of what the claim says.
        """
        interval = claim.finding.interval_ns
        if interval is None or not is_certain(interval):
            return None
        before = dict(self._changes), self._local
        taken: dict[str, float] = {}
        for demand in claim.demands:
            for name, ns in self.take(demand).items():
                taken[name] = taken.get(name, 0.0) + ns
        explained = sum(taken.values())
        if abs(explained) < max(least_ns, _SHOWS * abs(claim.ns)) or explained * claim.ns <= 0:
            self._changes, self._local = before
            return None
        # The interval of a part of what it was computed for.
        low, high = sorted(end * (explained / claim.ns) for end in interval)
        return replace(
            claim.finding,
            cost_ns=explained,
            interval_ns=(min(low, explained), max(high, explained)),
            claims=largest_first(taken),
        )

    def _named(self, components: Iterable[str]) -> Iterable[str]:
        for name in components:
            if name in self._changes:
                yield name
            else:
                yield from (
                    component for component in self._changes if component.startswith(f"{name}/")
                )


def relative_closeness(there: float, wanted: float) -> float:
    """What of an amount is there, of the same sign."""
    return min(there, wanted, key=abs) if there * wanted > 0 else 0.0


def largest_first(times: dict[str, float]) -> tuple[tuple[str, float], ...]:
    """Names and times that are not nothing, the largest first."""
    some = [(name, ns) for name, ns in times.items() if ns]
    return tuple(sorted(some, key=lambda item: -abs(item[1])))


MIN_SHARE = 0.01
"""Part of a cycle below which nothing is worth a cause."""
_PYTHON = re.compile(r"\.py\(\d+\): |^<.*>$|^enumerate\(DataLoader\)")
"""Names of Python: `train.py(12): step`, `<built-in function sleep>`, data loaders of PyTorch."""


@dataclass(frozen=True, eq=False)
class CaseSide:
    """One side of a comparison."""

    role: Process
    anatomy: Anatomy

    @cached_property
    def cycles(self) -> list[int]:
        """Numbers of its cycles, in the order of the rows of `CaseFunctions`."""
        return self.role.behaviour["cycle"].unique().sort().to_list()

    def times_of(self, *parts: str) -> Floats:
        """Time of parts of the cycle together in each of its cycles, in order; zero where none."""
        chosen = self.anatomy.parts.filter(pl.col("part").cast(pl.String).is_in(parts))
        summed = dict(chosen.group_by("cycle").agg(pl.col("dur_ns").sum()).iter_rows())
        return np.array([summed.get(cycle, 0.0) for cycle in self.cycles], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DiagnosisCase:
    """Two sides, where their time is, and what is odd about the environment of the second."""

    base: CaseSide
    new: CaseSide
    functions: CaseFunctions
    cycle_ns: float
    """Usual cycle of the run that is compared with, whichever side that is here."""
    attribution: tuple[Component, ...]
    anomalies: tuple[Finding, ...]
    blurred: frozenset[str] = frozenset()
    """Functions of the host whose own time holds calls that only one side recorded."""
    relieved: tuple[Finding, ...] = ()
    """What was odd about the environment of the first, as seen from the second."""
    backwards: bool = False
    """Whether the sides are changed over, to find what is gone."""
    settled: list[Claim] = field(default_factory=list)
    """Claims that came to a cause, in order; the same list for both directions."""

    @property
    def taken(self) -> frozenset[str]:
        """Functions of the host whose time is explained already."""
        return frozenset(name for claim in self.settled for name in claim.functions)

    @property
    def least_ns(self) -> float:
        """Time that is worth a cause."""
        return MIN_SHARE * self.cycle_ns

    def swapped(self) -> DiagnosisCase:
        """The case seen from the other side: what grew there is gone here."""
        return replace(
            self,
            base=self.new,
            new=self.base,
            functions=self.functions.swapped(),
            # What each component adds to the change back.
            attribution=tuple(
                replace(
                    part,
                    base_ns=part.new_ns,
                    new_ns=part.base_ns,
                    interval_ns=negate_interval(part.interval_ns),
                    same_launches_ns=None if same is None else -same,
                )
                for part in self.attribution
                for same in [part.same_launches_ns]
            ),
            anomalies=self.relieved,
            relieved=self.anomalies,
            backwards=not self.backwards,
        )

    def times(self, base_ns: float, new_ns: float) -> str:
        """Times of both sides in words, in the order in which the runs were given."""
        return amounts.times(*((new_ns, base_ns) if self.backwards else (base_ns, new_ns)))

    def calls(self, base: float, new: float) -> str:
        """Calls per step of both sides in words, in the order in which the runs were given."""
        counts = amounts.per_cycle(base), amounts.per_cycle(new)
        return amounts.from_to(*(counts[::-1] if self.backwards else counts))

    def took(self, which: Any) -> str:
        """What functions take per step on both sides, in words."""
        return self.times(*(float(np.sum(side[which])) for side in self.functions.times))

    def often(self, which: Any) -> str:
        """How often functions run per step on both sides, in words."""
        return self.calls(*(float(np.sum(side[which])) for side in self.functions.calls))

    def names(self, columns: Iterable[int]) -> list[str]:
        """Functions as people say them."""
        names = self.functions.table["function"]
        return [told_name(names[column]) for column in columns]

    def both(self, *parts: str) -> tuple[Floats, Floats]:
        """Time of parts of the cycle in each cycle of both sides."""
        return self.base.times_of(*parts), self.new.times_of(*parts)

    def evidence(
        self, columns: Iterable[int], values: Floats, *, calls: bool = False
    ) -> tuple[Evidence, ...]:
        """Functions, by their time or by their calls, and the cycle that shows `values` best."""
        entries = [self._of_function(column, calls=calls) for column in columns]
        if len(values):
            # That of the new side at the median shows something as it usually is.
            number = self.new.cycles[median_place(values)]
            text = f"for example in step {number}"
            entries.append(Evidence("cycle", text, "new", number, *self.new.anatomy.span(number)))
        return tuple(entries)

    def _of_function(self, column: int, *, calls: bool) -> Evidence:
        """How often a function runs per step on both sides, or also how long it takes."""
        row = self.functions.table.row(column, named=True)
        function, device = row["function"], row["device"]
        sides = self.functions.calls if calls else self.functions.times
        base, new = (float(side[column]) for side in sides)
        kind, unit = "calls", "calls per cycle"
        text = f"{told_name(function)}: {self.calls(base, new)} calls per step"
        if not calls:
            kind, unit = "function" if device == HOST_DEVICE else "kernel", "ns"
            where = "" if device == HOST_DEVICE else f" on {device}"
            text = f"{self.times(base, new)} in {self.often(column)} calls per step"
            text = f"{told_name(function)}{where}: {text}"
            if function == STEP_MARK:
                text = f"{STEP_MARK_TOLD}: {self.times(base, new)} per step"
        return Evidence(kind, text, function=function, device=device, unit=unit, base=base, new=new)

    def claim(
        self,
        cause: str,
        sentence: str,
        demands: Iterable[Demand],
        interval_ns: Interval | None,
        evidence: tuple[Evidence, ...],
        *,
        advice: str = "advice",
        **more: Any,
    ) -> Claim:
        """What a rule claims; `advice` names the row of the catalogue where it has several."""
        claim_finding = make_finding(
            "causes", cause, sentence, advice=advice, interval_ns=interval_ns, evidence=evidence
        )
        return Claim(claim_finding, tuple(demands), **more)


def case_of(
    pair: Pair,
    anatomies: tuple[Anatomy, Anatomy],
    attribution: tuple[Component, ...],
    anomalies: tuple[Finding, ...],
    relieved: tuple[Finding, ...] = (),
) -> DiagnosisCase:
    """The case of a pair."""
    functions = functions_of(pair.base.behaviour, pair.new.behaviour)
    missing = find_unrecorded(*functions.ran)
    blurred = functions.table.filter(functions.where(missing.call_these()))["function"]
    functions = functions.only(functions.where(~missing.of_these()))
    lengths = pair.cycle_times.base_ns
    typical_ns = median(lengths) if lengths else float(functions.times[0].sum())
    return DiagnosisCase(
        CaseSide(pair.base, anatomies[0]),
        CaseSide(pair.new, anatomies[1]),
        functions,
        typical_ns or 1.0,
        attribution,
        anomalies,
        blurred=frozenset(blurred),
        relieved=relieved,
    )


def median_place(values: Floats) -> int:
    """Where the cycle is that shows something as most do."""
    return int(np.argsort(values, kind="stable")[len(values) // 2])


def told_name(function: str) -> str:
    """A function as people say it."""
    return function if _PYTHON.search(function) else short_name(function) or function


def by_change(functions: CaseFunctions, which: np.ndarray) -> list[int]:
    """The chosen functions, largest change of time first."""
    base, new = functions.times
    return sorted(
        np.flatnonzero(which).tolist(), key=lambda column: -abs(new[column] - base[column])
    )


def both_ways(rule: Rule) -> Rule:
    """A rule about what is more on the new side, asked as well about what is less."""

    @wraps(rule)
    def claims_both_ways(case: DiagnosisCase) -> Iterator[Claim]:
        yield from rule(case)
        yield from (opposite_claim(claim) for claim in rule(case.swapped()))

    return claims_both_ways


Rule = Callable[[DiagnosisCase], Iterator[Claim]]
