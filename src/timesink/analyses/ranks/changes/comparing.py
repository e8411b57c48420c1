"""What changed between two runs of many ranks: steps, where their time went, who is late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from timesink.analyses.comparison.cycle_times import cycle_times
from timesink.analyses.comparison.judgement import judge_lengths
from timesink.analyses.comparison.pair import CycleTimes
from timesink.analyses.ranks.changes.collectives import collective_changes
from timesink.analyses.ranks.changes.layouts import Layout, layout_of
from timesink.analyses.ranks.changes.ranks import rank_changes
from timesink.analyses.ranks.changes.step_parts import PARTS, StepParts, step_parts
from timesink.analyses.ranks.changes.stragglers import StragglerChange, straggler_changes
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.statistics.drifting import mean_changes
from timesink.model.amounts import times
from timesink.model.diagnosis import CycleJudgement, CycleTime

__all__ = ["PartChange", "RankChanges", "compare_ranks"]


@dataclass(frozen=True, slots=True)
class PartChange:
    """A part of the mean step on both sides; changes of all parts add up to that of the step."""

    part: str
    """One of `step_parts.PARTS`."""
    base_ns: float
    new_ns: float
    interval_ns: tuple[float, float] | None
    """95 % interval of the change; None with fewer than two steps on a side."""
    p_value: float | None

    @property
    def delta_ns(self) -> float:
        """What it adds to the change."""
        return self.new_ns - self.base_ns


@dataclass(frozen=True, eq=False, repr=False)
class RankChanges:
    """Two runs of many ranks beside each other."""

    base: RankSet
    new: RankSet
    layouts: tuple[Layout, Layout]
    verdict: str
    """One of `diagnosis.VERDICTS`, on the steps of the run."""
    reason: str
    step_time: CycleTime
    """How long the steps of the run are, in the mean over its ranks."""
    attribution: tuple[PartChange, ...]
    """Largest change first."""
    stragglers: tuple[StragglerChange, ...]
    """New ones first."""
    collectives: pl.DataFrame
    """Rows of `COLLECTIVE_CHANGE_SCHEMA`."""
    ranks: pl.DataFrame
    """Rows of `RANK_CHANGE_SCHEMA`; none where ranks of one run are not those of the other."""
    notes: tuple[str, ...]
    """What to know first: other layouts, ranks that are missing or damaged."""

    @property
    def common(self) -> list[int]:
        """Ranks that both sides have."""
        return sorted(self.base.ranks.keys() & self.new.ranks.keys())

    @property
    def changed_ranks(self) -> pl.DataFrame:
        """Ranks that changed beyond what their peers did."""
        return self.ranks.filter("changed")


def compare_ranks(base: RankSet, new: RankSet) -> RankChanges:
    """Compare two runs as a whole, and each rank with the same rank before."""
    layouts = layout_of(base), layout_of(new)
    same = layouts[0] == layouts[1]
    common = sorted(base.ranks.keys() & new.ranks.keys())
    whose = (common, common) if same else (list(base.ranks), list(new.ranks))
    parts = [
        step_parts(each.ranks, each.analysis, ranks)
        for each, ranks in zip((base, new), whose, strict=True)
    ]
    lengths = _lengths(*parts)
    judged = _judged(lengths, layouts)
    late = straggler_changes(base, new, matched=same)
    moved = {each.rank for each in late if each.state in {"new", "worse", "gone"}}
    return RankChanges(
        base=base,
        new=new,
        layouts=layouts,
        verdict=judged.verdict,
        reason=judged.reason,
        step_time=judged.cycle_time,
        attribution=_attribution(*parts),
        stragglers=late,
        collectives=collective_changes(base, new),
        ranks=rank_changes(base, new, common if same else [], moved),
        notes=tuple(_notes(base, new, layouts)),
    )


# -- steps -----------------------------------------------------------------------------------------


def _lengths(base: StepParts, new: StepParts) -> CycleTimes:
    tables = [
        pl.DataFrame(
            {"cycle": range(len(each.lengths)), "cycle_dur_ns": each.lengths.round()},
            schema={"cycle": pl.Int64, "cycle_dur_ns": pl.Int64},
        )
        for each in (base, new)
    ]
    return cycle_times(*tables)


def _judged(lengths: CycleTimes, layouts: tuple[Layout, Layout]) -> CycleJudgement:
    found = judge_lengths(lengths, "step")
    before, now = (each.world for each in layouts)
    if before == now or found.verdict == "incomparable":
        return found
    took = times(lengths.base_mean_ns, lengths.new_mean_ns)
    reason = (
        f"{before} ranks before and {now} now do not share the work of a step alike. As recorded "
        f"steps take {took}, which says nothing about speed."
    )
    return CycleJudgement("incomparable", reason, found.cycle_time)


def _attribution(base: StepParts, new: StepParts) -> tuple[PartChange, ...]:
    if not (len(base.values) and len(new.values)):
        return ()
    change = mean_changes(base.values, new.values)
    tested = min(len(base.values), len(new.values)) > 1
    found = [
        PartChange(
            part,
            float(base.values[:, place].mean()),
            float(new.values[:, place].mean()),
            (float(change.low[place]), float(change.high[place])) if tested else None,
            float(change.p[place]) if tested else None,
        )
        for place, part in enumerate(PARTS)
    ]
    return tuple(sorted(found, key=lambda part: (-abs(part.delta_ns), part.part)))


# -- what to know ----------------------------------------------------------------------------------


def _notes(base: RankSet, new: RankSet, layouts: tuple[Layout, Layout]) -> Iterator[str]:
    before, now = layouts
    if before != now:
        yield (
            f"the layout is another one: {before.words} before, {now.words} now; runs are "
            "compared as a whole, not rank by rank"
        )
    for name, ours, others in (("base", base, new), ("new run", new, base)):
        if ours.missing:
            yield f"without a recording in the {name}: ranks {ranges_of(ours.missing, most=8)}"
        alone = sorted(ours.ranks.keys() - others.ranks.keys()) if before == now else []
        if alone:
            yield f"only in the {name}, and not compared: ranks {ranges_of(alone, most=8)}"
        for each in ours.damaged:
            yield f"left out of the {name}: {each.worker}: {each.reason}"
        yield from (f"{name}: {note}" for note in ours.notes)
