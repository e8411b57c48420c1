"""Cycles of a run that take longer than its typical ones, and what they spend their time on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.behaviour.anatomy import only_cycles
from timesink.analyses.statistics.change_points import Segment, segments, warm_up
from timesink.analyses.statistics.robust import scaled_mad, without_outliers
from timesink.comparison.results import Process
from timesink.comparison.thresholds import SlowStepsLimits
from timesink.model.intervals import Flags


@dataclass(frozen=True, slots=True)
class CycleLevel:
    """Cycles that follow each other and take about the same time."""

    first: int
    """Number of the first cycle."""
    last: int
    cycles: int
    mean_ns: float


class CycleSplit(msgspec.Struct, frozen=True):
    """Which cycles of a run are typical; all by their numbers, in order."""

    typical: tuple[int, ...]
    slow: tuple[int, ...]
    fast: tuple[int, ...]
    """Shorter than typical ones; neither these nor slow ones."""
    warm_up: tuple[int, ...]
    """First ones that take longer while things settle; not among `slow`."""
    levels: tuple[CycleLevel, ...]
    """Where the run stays at a length for a while; one where it always does."""
    typical_ns: float
    """Median of typical cycles."""
    period: int = 0
    """A slow one comes after so many cycles, again and again; 0 where they come otherwise."""
    slow_share: float = 0.0
    """Part of the time of all cycles that the slow ones take."""

    @property
    def cycle_count(self) -> int:
        """Cycles whose length is known."""
        return sum(map(len, (self.typical, self.slow, self.fast, self.warm_up)))

    @property
    def has_levels(self) -> bool:
        """Whether slow cycles are no exceptions: half of all cycles or more are."""
        return bool(self.slow) and 2 * len(self.slow) >= self.cycle_count

    @property
    def can_tell(self) -> bool:
        """Whether there are enough typical cycles to set slow ones against."""
        return len(self.typical) >= SlowStepsLimits.min_typical


def split_cycles(role: Process) -> CycleSplit:
    """Typical cycles of a role and those that take longer, by median and median deviation.

    Where a run goes through levels, the lowest that holds a quarter of the cycles is typical.
    """
    # Numbers and lengths of all cycles whose length is known, in order.
    cycle_rows = (
        role.behaviour.lazy().select("cycle", "cycle_dur_ns").filter(pl.col("cycle_dur_ns") > 0)
    )
    cycles = cycle_rows.group_by("cycle").agg(pl.col("cycle_dur_ns").max()).sort("cycle").collect()
    numbers, lengths = (
        cycles["cycle"].to_numpy(),
        cycles["cycle_dur_ns"].to_numpy().astype(np.float64),
    )
    if not len(lengths):
        return CycleSplit((), (), (), (), (), 0.0)
    warm = warm_up(lengths)
    (calm,) = without_outliers(lengths[warm:, None])
    level_segments = segments(calm[:, 0])
    steady = lengths[warm:][_at_typical_level(level_segments, len(lengths) - warm)]
    middle = float(np.median(steady))
    spread = scaled_mad(steady, middle)
    reach = max(SlowStepsLimits.min_excess * middle, SlowStepsLimits.spreads * spread)
    slow, fast = lengths > middle + reach, lengths < middle - reach
    typical = ~slow & ~fast
    warming = (np.arange(len(lengths)) < warm) & slow
    slow &= ~warming
    period = _period(slow, warming)
    if period:
        # What comes and goes with a period is no level that the run stays at.
        level_segments = [Segment(0, len(lengths) - warm, middle)]
    return CycleSplit(
        typical=tuple(numbers[typical].tolist()),
        slow=tuple(numbers[slow].tolist()),
        fast=tuple(numbers[fast].tolist()),
        warm_up=tuple(numbers[warming].tolist()),
        levels=tuple(
            CycleLevel(
                int(numbers[warm:][segment.start]),
                int(numbers[warm:][segment.end - 1]),
                segment.length,
                middle if period else float(lengths[warm:][segment.start : segment.end].mean()),
            )
            for segment in level_segments
        ),
        typical_ns=middle,
        period=period,
        slow_share=float(lengths[slow].sum() / lengths.sum()),
    )


def _period(slow: Flags, warming: Flags) -> int:
    """After how many cycles a slow one follows; 0 where that varies or was seen too seldom."""
    places = np.flatnonzero(slow)
    apart = np.unique(np.diff(places))
    if len(places) < SlowStepsLimits.min_typical or len(apart) != 1 or apart[0] < 2:
        return 0
    period = int(apart[0])
    before, after = places[0] - period, places[-1] + period
    return period if after >= len(slow) and (before < 0 or warming[before]) else 0


def typical_and_outliers(role: Process, split: CycleSplit) -> tuple[Process, Process] | None:
    """The typical cycles of a role and the ones that take longer, as roles of their own.

    None where no cycle does, or where there are too few typical ones to tell.
    """
    if not split.slow or not split.can_tell:
        return None
    return (
        replace(only_cycles_of(role, split.typical), label="typical"),
        replace(only_cycles_of(role, split.slow), label="slow"),
    )


def only_cycles_of(role: Process, cycles: tuple[int, ...]) -> Process:
    """A role with some of its cycles."""
    anatomy = None if role.anatomy is None else only_cycles(role.anatomy, cycles)
    rows = role.behaviour.filter(pl.col("cycle").is_in(cycles))
    return replace(role, behaviour=rows, anatomy=anatomy)


def _at_typical_level(level_segments: list[Segment], number: int) -> list[int]:
    """Places of the cycles at the lowest level that holds enough of them, or else of all."""
    order = sorted(level_segments, key=lambda segment: segment.level)
    for lowest in order:
        near_lowest = [
            segment
            for segment in order
            if lowest.level <= segment.level <= (1 + SlowStepsLimits.min_excess) * lowest.level
        ]
        if sum(segment.length for segment in near_lowest) >= max(
            SlowStepsLimits.min_share * number, SlowStepsLimits.min_typical
        ):
            return [place for segment in near_lowest for place in range(segment.start, segment.end)]
    return list(range(number))


@dataclass(frozen=True, slots=True)
class SlowCycle:
    """A function that takes longer in one cycle than in any typical one."""

    cycle: int
    longer_ns: float
    """How much longer the cycle takes than typical ones."""
    function: str
    device: str
    time_ns: float
    typical_most_ns: float
    """The most it takes in a typical cycle."""


def excesses(role: Process, split: CycleSplit) -> list[SlowCycle]:
    """Slow cycles that one function explains, in their order; each is looked at for itself."""
    key, rows = ["cycle", "function", "device"], role.behaviour
    if "anchor" in rows.columns:
        # That the mark of a slow cycle is long explains nothing.
        anchor = pl.col("anchor").cast(pl.String)
        rows = rows.filter(pl.col("function").cast(pl.String).ne_missing(anchor))
    spent = rows.select(*key, "dur_ns", "cycle_dur_ns").with_columns(
        pl.col("function", "device").cast(pl.String), pl.col("dur_ns").cast(pl.Float64)
    )
    spent = spent.group_by(key).agg(pl.col("dur_ns").max(), pl.col("cycle_dur_ns").max())
    is_typical = pl.col("cycle").is_in(split.typical)
    usual = spent.filter(is_typical).group_by("function", "device").agg(most=pl.col("dur_ns").max())
    slow = (
        spent.filter(pl.col("cycle").is_in(split.slow))
        .join(usual, ["function", "device"], "left")
        .with_columns(
            pl.col("most").fill_null(0.0), longer=pl.col("cycle_dur_ns") - split.typical_ns
        )
    )
    beyond = pl.col("dur_ns") - pl.col("most")
    slow = slow.filter(
        beyond >= SlowStepsLimits.min_explained * pl.col("longer"),
        pl.col("dur_ns") >= SlowStepsLimits.min_times * pl.col("most"),
    )
    slow = slow.sort("cycle", beyond, "function", descending=[False, True, False])
    first = slow.unique("cycle", keep="first", maintain_order=True)
    columns = ("cycle", "longer", "function", "device", "dur_ns", "most")
    return [SlowCycle(*row) for row in first.select(columns).iter_rows()]
