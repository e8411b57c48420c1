"""What changed between two runs of many ranks: steps, where their time went, who is late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.comparison.pair import CycleTimes
from timesink.analyses.comparison.times import cycle_times
from timesink.analyses.comparison.verdict import judge_lengths
from timesink.analyses.ranks.analysis import RanksAnalysis
from timesink.analyses.ranks.change_parts import (
    PARTS,
    StepParts,
    collective_changes,
    rank_changes,
    step_parts,
)
from timesink.analyses.ranks.lateness import LEAST_SHARE
from timesink.analyses.ranks.own_time import ranges_of
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.statistics.drift import mean_changes
from timesink.model.diagnosis import CycleJudgement, CycleTime
from timesink.model.findings import Finding
from timesink.model.units import counted, times

# Which stragglers of a run are new, gone or worse than they were.

STATES = ("new", "worse", "same", "better", "gone")

_WORSE = 1.25
_THERE = 0.5
"""Who cost this part of what it costs on the other side was a straggler there as well."""


@dataclass(frozen=True, slots=True)
class StragglerChange:
    """A rank that holds others up in one of two runs, or in both."""

    state: str
    """One of `STATES`."""
    rank: int
    cause: str
    """In the new run, where it is one there."""
    base_ns: float
    """How long others wait for it in a step of the base, and of the new run."""
    new_ns: float
    base_rank: int | None
    """Which rank it was in the base, where another one of its role is named there."""
    steps: tuple[str, ...]
    evidence: tuple[str, ...]


def straggler_changes(base: RankSet, new: RankSet, *, matched: bool) -> tuple[StragglerChange, ...]:
    """Stragglers of both runs; `matched` says that a rank is the same in both of them."""
    before = {each.rank: each for each in base.analysis.stragglers} if matched else {}
    found: list[StragglerChange] = []
    taken: set[int] = set()
    for each in new.analysis.stragglers:
        own = before.get(each.rank) or _of_same_role(base, new, each, before)
        if own is not None:
            taken.add(own.rank)
        found.append(_now(base, new, each, own, matched=matched))
    gone = [each for each in base.analysis.stragglers if each.rank not in taken]
    found += [_before(base, new, each, matched=matched) for each in gone]
    found.sort(key=lambda one: (STATES.index(one.state), -max(one.base_ns, one.new_ns), one.rank))
    return tuple(found)


def _now(
    base: RankSet, new: RankSet, each: Finding, own: Finding | None, *, matched: bool
) -> StragglerChange:
    new_ns = _per_step(each, new.analysis)
    base_ns = _per_step(own, base.analysis) if own else 0.0
    if own is None and matched:
        base_ns = _unnamed(base.analysis, each.rank)
    is_known = own is not None or base_ns >= _THERE * new_ns
    least = LEAST_SHARE * new.analysis.panel.step_ns
    return StragglerChange(
        state=_state(base_ns, new_ns, least) if is_known else "new",
        rank=each.rank,
        cause=each.cause,
        base_ns=base_ns,
        new_ns=new_ns,
        base_rank=None if own is None or own.rank == each.rank else own.rank,
        steps=each.steps,
        evidence=each.proofs,
    )


def _before(base: RankSet, new: RankSet, each: Finding, *, matched: bool) -> StragglerChange:
    base_ns = _per_step(each, base.analysis)
    new_ns = _unnamed(new.analysis, each.rank) if matched else 0.0
    state = "better" if new_ns >= _THERE * base_ns else "gone"
    return StragglerChange(
        state, each.rank, each.cause, base_ns, new_ns, None, each.steps, each.proofs
    )


def _state(base_ns: float, new_ns: float, least_ns: float) -> str:
    if new_ns > max(_WORSE * base_ns, base_ns + least_ns):
        return "worse"
    return "better" if base_ns > max(_WORSE * new_ns, new_ns + least_ns) else "same"


def _per_step(each: Finding, found: RanksAnalysis) -> float:
    return each.cost_ns / max(len(found.panel.steps), 1)


def _unnamed(found: RanksAnalysis, rank: int) -> float:
    """What a rank costs, or takes more than its peers, in a run that does not name it."""
    panel = found.panel
    place = np.flatnonzero(panel.ranks == rank)
    if not len(place) or not panel.steps:
        return 0.0
    held, excess = panel.held[place[0]].mean(), np.median(panel.excess[place[0]])
    return max(float(held), float(excess), 0.0)


def _of_same_role(
    base: RankSet, new: RankSet, each: Finding, before: dict[int, Finding]
) -> Finding | None:
    """A straggler of the base for the same reason in the same role.

    Which rank of a slow stage is named is chance.
    """
    if each.rank in _odd(new):
        return None
    panel = base.analysis.panel
    role = dict(zip(panel.ranks.tolist(), panel.alike.tolist(), strict=True))
    named = {one.rank for one in new.analysis.stragglers}
    for own in before.values():
        alike = role.get(own.rank) == role.get(each.rank, -2)
        if alike and own.cause == each.cause and own.rank not in named | _odd(base):
            return own
    return None


def _odd(ranks: RankSet) -> set[int]:
    return {rank for group in ranks.groups if group.odd for rank in group.ranks}


# How the ranks of a run are arranged, and whether two runs are arranged alike.

_ORDER = ("pp", "tp", "cp", "ep", "mp", "dp")


@dataclass(frozen=True, slots=True)
class RankLayout:
    """How many ranks a run has, and the sizes of its process groups."""

    world: int
    groups: tuple[tuple[str, int], ...]
    """Kinds and sizes, each once."""

    @property
    def words(self) -> str:
        """The same to read."""
        inner = ", ".join(f"{kind} {size}" for kind, size in self.groups)
        return f"{counted(self.world, 'ranks')}{f' ({inner})' if inner else ''}"


def layout_of(ranks: RankSet) -> RankLayout:
    """What the collectives of a run tell of its layout."""
    told = [each.about.world_size or 0 for each in ranks.ranks.values()]
    world = max([*told, *(rank + 1 for rank in ranks.ranks)], default=0)
    groups = ranks.analysis.groups.filter(pl.col("kind").is_in(_ORDER)).select("kind", "size")
    found = sorted(groups.unique().rows(), key=lambda row: (_ORDER.index(row[0]), row[1]))
    return RankLayout(world, tuple(found))


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
    layouts: tuple[RankLayout, RankLayout]
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


def _judged(lengths: CycleTimes, layouts: tuple[RankLayout, RankLayout]) -> CycleJudgement:
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


def _notes(base: RankSet, new: RankSet, layouts: tuple[RankLayout, RankLayout]) -> Iterator[str]:
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
