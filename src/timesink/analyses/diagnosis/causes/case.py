"""What the rules are asked about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.pair import Pair
from timesink.analyses.comparison.recorded import unrecorded
from timesink.analyses.comparison.role import Role
from timesink.analyses.diagnosis.causes.calls.functions import Functions, functions_of
from timesink.analyses.diagnosis.causes.claims.claim import Claim
from timesink.analyses.diagnosis.diagnosis import Anomaly, Component
from timesink.analyses.statistics.moments import Floats
from timesink.model import amounts

LEAST_SHARE = 0.01
"""Part of a cycle below which nothing is worth a cause."""


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison."""

    role: Role
    anatomy: Anatomy

    @cached_property
    def cycles(self) -> list[int]:
        """Numbers of its cycles, in the order of the rows of `Functions`."""
        return self.role.behaviour["cycle"].unique().sort().to_list()

    def times_of(self, *parts: str) -> Floats:
        """Time of parts of the cycle together in each of its cycles, in order; zero where none."""
        chosen = self.anatomy.parts.filter(pl.col("part").cast(pl.String).is_in(parts))
        summed = dict(chosen.group_by("cycle").agg(pl.col("dur_ns").sum()).iter_rows())
        return np.array([summed.get(cycle, 0.0) for cycle in self.cycles], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Two sides, where their time is, and what is odd about the environment of the second."""

    base: Side
    new: Side
    functions: Functions
    cycle_ns: float
    """Usual cycle of the run that is compared with, whichever side that is here."""
    attribution: tuple[Component, ...]
    anomalies: tuple[Anomaly, ...]
    blurred: frozenset[str] = frozenset()
    """Functions of the host whose own time holds calls that only one side recorded."""
    relieved: tuple[Anomaly, ...] = ()
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
        return LEAST_SHARE * self.cycle_ns

    def swapped(self) -> Case:
        """The case seen from the other side: what grew there is gone here."""
        return replace(
            self,
            base=self.new,
            new=self.base,
            functions=self.functions.swapped(),
            attribution=tuple(_swapped(part) for part in self.attribution),
            anomalies=self.relieved,
            relieved=self.anomalies,
            backwards=not self.backwards,
        )

    def times(self, base_ns: float, new_ns: float) -> str:
        """Times of both sides in words, in the order in which the runs were given."""
        return amounts.times(*((new_ns, base_ns) if self.backwards else (base_ns, new_ns)))

    def calls(self, base: float, new: float) -> str:
        """Calls per cycle of both sides in words, in the order in which the runs were given."""
        told = amounts.per_cycle(base), amounts.per_cycle(new)
        return amounts.from_to(*(told[::-1] if self.backwards else told))

    @property
    def more(self) -> str:
        """What the second run has of what is found here: `more` or `fewer`."""
        return "fewer" if self.backwards else "more"


def _swapped(part: Component) -> Component:
    """What a component adds to the change back."""
    interval, same = part.interval_ns, part.same_launches_ns
    return replace(
        part,
        base_ns=part.new_ns,
        new_ns=part.base_ns,
        interval_ns=None if interval is None else (-interval[1], -interval[0]),
        same_launches_ns=None if same is None else -same,
    )


def case_of(
    pair: Pair,
    anatomies: tuple[Anatomy, Anatomy],
    attribution: tuple[Component, ...],
    anomalies: tuple[Anomaly, ...],
    relieved: tuple[Anomaly, ...] = (),
) -> Case:
    """The case of a pair."""
    functions = functions_of(pair.base.behaviour, pair.new.behaviour)
    lacking = unrecorded(*functions.ran)
    blurred = functions.table.filter(functions.where(lacking.call_these()))["function"]
    functions = functions.only(functions.where(~lacking.of_these()))
    lengths = pair.cycle_times.base_ns
    known = median(lengths) if lengths else float(functions.times[0].sum())
    return Case(
        Side(pair.base, anatomies[0]),
        Side(pair.new, anatomies[1]),
        functions,
        known or 1.0,
        attribution,
        anomalies,
        blurred=frozenset(blurred),
        relieved=relieved,
    )
