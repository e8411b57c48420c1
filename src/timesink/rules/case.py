"""What the rules about a change are asked about, and the evidence several of them give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.behaviour.functions import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.comparison.pair import Pair, Role
from timesink.analyses.comparison.recorded import unrecorded
from timesink.analyses.names import short_name
from timesink.model import units as amounts
from timesink.model.arrays import Floats
from timesink.model.diagnosis import Component
from timesink.model.findings import Evidence, Finding, Interval
from timesink.model.schema import HOST_DEVICE
from timesink.rules.case_functions import CaseFunctions, functions_of
from timesink.rules.ledger import Claim, Demand, mirrored, turned
from timesink.rules.registry import finding

LEAST_SHARE = 0.01
"""Part of a cycle below which nothing is worth a cause."""
_PYTHON = re.compile(r"\.py\(\d+\): |^<.*>$|^enumerate\(DataLoader\)")
"""Names of Python: `train.py(12): step`, `<built-in function sleep>`, data loaders of PyTorch."""


@dataclass(frozen=True, eq=False)
class CaseSide:
    """One side of a comparison."""

    role: Role
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
        return LEAST_SHARE * self.cycle_ns

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
                    interval_ns=turned(part.interval_ns),
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
        """Calls per cycle of both sides in words, in the order in which the runs were given."""
        told = amounts.per_cycle(base), amounts.per_cycle(new)
        return amounts.from_to(*(told[::-1] if self.backwards else told))

    def took(self, which: Any) -> str:
        """What functions take per cycle on both sides, in words."""
        return self.times(*(float(np.sum(side[which])) for side in self.functions.times))

    def often(self, which: Any) -> str:
        """How often functions run per cycle on both sides, in words."""
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
        found = [self._of_function(column, calls=calls) for column in columns]
        if len(values):
            # That of the new side at the median shows something as it usually is.
            number = self.new.cycles[median_place(values)]
            text = f"cycle {number} shows it as most do"
            found.append(Evidence("cycle", text, "new", number, *self.new.anatomy.span(number)))
        return tuple(found)

    def _of_function(self, column: int, *, calls: bool) -> Evidence:
        """How often a function runs per cycle on both sides, or also how long it takes."""
        row = self.functions.table.row(column, named=True)
        function, device = row["function"], row["device"]
        sides = self.functions.calls if calls else self.functions.times
        base, new = (float(side[column]) for side in sides)
        kind, unit = "calls", "calls per cycle"
        text = f"{told_name(function)}: {self.calls(base, new)} calls per cycle"
        if not calls:
            kind, unit = "function" if device == HOST_DEVICE else "kernel", "ns"
            where = "" if device == HOST_DEVICE else f" on {device}"
            text = f"{self.times(base, new)} in {self.often(column)} calls per cycle"
            text = f"{told_name(function)}{where}: {text}"
            if function == STEP_MARK:
                text = f"{STEP_MARK_TOLD}: {self.times(base, new)} per cycle"
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
        said = finding(
            "causes", cause, sentence, advice=advice, interval_ns=interval_ns, evidence=evidence
        )
        return Claim(said, tuple(demands), **more)


def case_of(
    pair: Pair,
    anatomies: tuple[Anatomy, Anatomy],
    attribution: tuple[Component, ...],
    anomalies: tuple[Finding, ...],
    relieved: tuple[Finding, ...] = (),
) -> DiagnosisCase:
    """The case of a pair."""
    functions = functions_of(pair.base.behaviour, pair.new.behaviour)
    lacking = unrecorded(*functions.ran)
    blurred = functions.table.filter(functions.where(lacking.call_these()))["function"]
    functions = functions.only(functions.where(~lacking.of_these()))
    lengths = pair.cycle_times.base_ns
    known = median(lengths) if lengths else float(functions.times[0].sum())
    return DiagnosisCase(
        CaseSide(pair.base, anatomies[0]),
        CaseSide(pair.new, anatomies[1]),
        functions,
        known or 1.0,
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
    return sorted(np.flatnonzero(which).tolist(), key=lambda each: -abs(new[each] - base[each]))


def both_ways(rule: Rule) -> Rule:
    """A rule about what is more on the new side, asked as well about what is less."""

    @wraps(rule)
    def asked(case: DiagnosisCase) -> Iterator[Claim]:
        yield from rule(case)
        yield from (mirrored(claim) for claim in rule(case.swapped()))

    return asked


Rule = Callable[[DiagnosisCase], Iterator[Claim]]
