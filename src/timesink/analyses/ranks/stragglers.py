"""Ranks that make the others wait: what they cost the run, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.ranks.causes import RankWork, slow_links, slow_stages, why
from timesink.analyses.ranks.lateness import Panel, affected, late_ranks, least_share
from timesink.analyses.ranks.replay import WhatIf
from timesink.analyses.ranks.summary import RankSummary
from timesink.model.arrays import Floats, Ints
from timesink.model.findings import Finding

_MOST_PLAYED, _MOST_CALLS_PLAYED = 16, 300_000
"""Of ranks that are late, one by one, and of calls in all of these runs."""


def find_stragglers(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame, clocks: pl.DataFrame
) -> tuple[Finding, ...]:
    """Ranks that cost the run more than noise does, the most costly first; none in most runs.

    `calls` are matched and blamed collectives, `panel` the same laid out.
    """
    if len(panel.ranks) < 2 or not panel.steps:
        return ()
    what_if = WhatIf(calls, clocks)
    late = late_ranks(panel, what_if)
    work = RankWork(ranks)
    places: Ints = np.flatnonzero(late)
    costs = _costs(panel, places, what_if)
    alone = len(places) == 1
    found = [
        _own(panel, place, replace(reason, cost_ns=cost), alone=alone)
        for place, cost in zip(places.tolist(), costs.tolist(), strict=True)
        if (reason := why(panel, place, late, work)) is not None
    ]
    of_many = (*slow_stages(panel, work, what_if), *slow_links(ranks, panel, calls, what_if))
    found += [replace(one, steps=panel.steps) for one in of_many]
    least = least_share(len(panel.ranks))
    # The costliest reason of each rank.
    best: dict[int, Finding] = {}
    for one in sorted(found, key=lambda each: -each.cost_ns):
        best.setdefault(one.rank, replace(one, share=one.cost_ns / panel.run_ns))
    worth = [one for one in best.values() if one.share >= least]
    return tuple(sorted(worth, key=lambda one: (-one.cost_ns, one.rank)))


def _costs(panel: Panel, places: Ints, what_if: WhatIf) -> Floats:
    """What each rank costs by itself: the run is played with nobody late but this one."""
    held: Floats = panel.held[places].sum(axis=1)
    if not len(places) or what_if.score is None:
        return held
    # Many who are late are late for one reason: some tell what the others cost as well.
    many = max(2, min(_MOST_PLAYED, _MOST_CALLS_PLAYED // what_if.score.calls.height))
    played = places[np.argsort(-held, kind="stable")[:many]]
    costs = what_if.score.costs_of(panel.ranks[played], late=panel.ranks[places])
    for row, place in enumerate(played.tolist()):
        if (panel.alike == panel.alike[place]).sum() == 1:
            # Stages make different calls: alone in its stage, a rank is compared as a whole.
            alone = what_if.score.cost_of_share(panel.ranks[[place]], panel.share_more(place))
            costs[row] = min(costs[row], alone)
    known = dict(zip(played.tolist(), costs.tolist(), strict=True))
    usual = float(np.median(costs))
    return np.array([known.get(place, usual) for place in places.tolist()])


def _own(panel: Panel, place: int, reason: Finding, *, alone: bool) -> Finding:
    """A rank that is late by itself, with the steps in which it is."""
    held, excess = panel.held[place], panel.excess[place]
    # Of ranks that are late together one comes last, and who that is in a step is chance.
    steps = affected(held if alone and held.any() else np.maximum(held, excess), panel.step_ns)
    names = tuple(name for name, is_late in zip(panel.steps, steps, strict=True) if is_late)
    return replace(reason, steps=names)


# What several stragglers cost as one: they are late side by side, not one after the other.


def cost_together(late: Sequence[Finding], panel: Panel) -> float:
    """How much longer the run takes because of all of them, in nanoseconds.

    Each costs what it would alone, so only what they cost in different steps adds up: of those who
    are late in the same step the latest counts.
    """
    return float(np.max([_by_step(each, panel) for each in late], axis=0).sum())


def share_together(late: Sequence[Finding], panel: Panel) -> float:
    """The same as a part of the run."""
    return min(cost_together(late, panel) / max(panel.run_ns, 1.0), 1.0)


def _by_step(late: Finding, panel: Panel) -> Floats:
    """The cost of a rank over the steps, by what it takes more than its peers in each."""
    more = np.maximum(panel.excess[panel.ranks == late.rank].sum(axis=0), 0.0)
    if not more.any():
        # Its link is slow, or its peers are as slow: nothing tells one step from another.
        more = np.ones(len(panel.steps))
    return np.asarray(late.cost_ns * more / more.sum())
