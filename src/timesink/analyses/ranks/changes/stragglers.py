"""Which stragglers of a run are new, gone or worse than they were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesink.analyses.ranks.analysis import RanksAnalysis
from timesink.analyses.ranks.lateness import LEAST_SHARE
from timesink.analyses.ranks.rank_set import RankSet
from timesink.model.findings import Finding

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
