"""The complete steps that rules take averages of, and what took longest in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import structs
from numpy.typing import ArrayLike, NDArray

from timesink.analyses.columns import event_ranges, memoize_per_trace
from timesink.analyses.steps import find_steps, step_breakdown
from timesink.model import intervals, units
from timesink.model.findings import Evidence, RunFinding
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace
from timesink.rules.register import make_finding
from timesink.rules.thresholds import StepsLimits


class Steps(msgspec.Struct, frozen=True, eq=False):
    """The complete steps of a trace as one whole."""

    windows: IntervalSet
    """When they ran; disjoint, in time order."""
    count: int
    length_ns: float
    """Of the average step."""
    marked: bool
    """Whether the recording marks steps; else all of it counts as one."""

    @property
    def large_gap_ns(self) -> float:
        """What a gap lasts at least that is large by itself."""
        return max(StepsLimits.min_gap_ns, StepsLimits.min_gap_share * self.length_ns)

    def per_step_ns(self, ranges: ArrayLike) -> float:
        """How much of an average step the ranges cover; what overlaps counts once."""
        return int(intervals.coverage_within(ranges, self.windows).sum()) / max(1, self.count)

    def time_of(self, events: pl.DataFrame) -> float:
        """How much of an average step events cover."""
        return self.per_step_ns(event_ranges(events))

    def hold(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these moments are inside a step."""
        inside: NDArray[np.bool_] = intervals.enclosing_interval(times, *self.windows.T.copy()) >= 0
        return inside

    def part(self, ns: float) -> str:
        """A time and what it is a part of: `2.00 ms of each 20.0 ms step (10.0 %)`."""
        share = units.share(ns, self.length_ns)
        return f"{units.brief_ns(ns)} of {self.step_phrase} ({share})"

    def graded(self, finding: RunFinding) -> RunFinding:
        """A finding whose severity follows what it saves, of a step and the time up to the next."""
        period = self.length_ns
        if finding.between_ns and self.count:
            period = float(self.windows[-1, 1] - self.windows[0, 0]) / self.count
        saving = finding.cost_ns + finding.between_ns or finding.most_ns
        return structs.replace(finding, saving_share=min(saving / period, 1.0) if period else 0.0)

    @property
    def step_phrase(self) -> str:
        """What a part is taken of, in words: a step, or what was recorded."""
        length = units.brief_ns(self.length_ns)
        if not self.marked:
            return f"the recorded {length}"
        return f"the {length} step" if self.count == 1 else f"each {length} step"

    @property
    def a_step(self) -> str:
        """Said after a number that is one of an average step; nothing where no step is marked."""
        return " a step" if self.marked else ""

    def loss_findings(
        self,
        rule: str,
        sentence: str,
        lost_ns: float,
        evidence: Iterable[Evidence],
        words: Mapping[str, str] | None = None,
        **more: Any,
    ) -> list[RunFinding]:
        """What a rule says that found time lost in a step, by default all to be gained."""
        share = lost_ns / self.length_ns if self.length_ns else 0.0
        parts = {"share": share, "cost_ns": lost_ns, **more}
        return [make_finding(rule, sentence, words, evidence=tuple(evidence), **parts)]


@memoize_per_trace
def complete_steps(trace: Trace) -> Steps:
    """The steps that averages are taken of; a length of 0 where nothing can be measured."""
    steps = find_steps(trace).filter("complete")
    bounds = steps.select("start_ns", "end_ns").to_numpy().reshape(-1, 2)
    total = int((bounds[:, 1] - bounds[:, 0]).sum())
    return Steps(
        windows=intervals.merge(bounds),
        count=len(bounds),
        length_ns=total / max(1, len(bounds)),
        marked=bool(steps["marked"].any()),
    )


def most_by_name(
    kind: str, events: pl.DataFrame, by: str, name: str = "name", **numbers: pl.Expr
) -> tuple[Evidence, ...]:
    """The names that have most of one of the numbers, with all of these."""
    rows = (
        events.group_by(name)
        .agg(**numbers)
        .with_columns(pl.col(name).cast(pl.String).fill_null(""))
        .sort(by, name, descending=[True, False])
        .head(3)
    )
    return tuple(Evidence(kind, row.pop(name), numbers=row) for row in rows.to_dicts())


def longest_by_name(kind: str, events: pl.DataFrame) -> tuple[Evidence, ...]:
    """The names that took most time, with calls and time."""
    total = pl.col("dur_ns").sum() / 1000
    return most_by_name(kind, events, "total_us", calls=pl.len(), total_us=total)


def worst_step(trace: Trace, part: str) -> Evidence:
    """The complete step with most of a part of the breakdown."""
    step = step_breakdown(trace).filter("complete").sort(f"{part}_ns").row(-1, named=True)
    numbers = {f"{part}_us": step[f"{part}_ns"] / 1000, "step_us": step["total_ns"] / 1000}
    return Evidence("step", step["name"], numbers=numbers)
