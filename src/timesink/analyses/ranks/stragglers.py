"""Which ranks make the others wait by their own doing, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.ranks.causes import Reason, Work, why
from timesink.analyses.ranks.links import slow_links
from timesink.analyses.ranks.panel import Floats, Ints, Panel
from timesink.analyses.ranks.replay import WhatIf
from timesink.analyses.ranks.stages import slow_stages
from timesink.analyses.ranks.summary import RankSummary

LEAST_SHARE = 0.025
"""What one of many ranks must cost of the run to be worth a word."""
_ENOUGH_RANKS = 8
_LEAST_SHARE_AT_ONCE = 0.1
"""The same for what happened in a single step."""
TIMES_NOISE = 2.5
"""How often what others cost a rank must cost."""
LEAST_STEPS = 2
_NOISE_FLOOR = 0.002
"""Of a step: what nobody needs to explain."""
_OUTLYING = 6.0
"""How many robust standard deviations a rank that is always slow is away from the others."""
_MOST = 0.5
"""More than this share of the ranks cannot be odd."""
_FEWEST_TO_PART = 4
"""Fewer ranks do not tell two sorts of them apart."""
_MOST_PLAYED = 16


@dataclass(frozen=True, slots=True)
class Straggler:
    """A rank that holds the others up."""

    rank: int
    cause: str
    cost_ns: float
    """How much longer the run takes than it would with nobody late, were this rank the only one."""
    share: float
    """The same as a part of the run."""
    steps: tuple[str, ...]
    """Steps in which it did."""
    evidence: tuple[str, ...]
    """Sentences with numbers, the rank beside its peers."""


def find_stragglers(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame, clocks: pl.DataFrame
) -> tuple[Straggler, ...]:
    """Ranks that cost the run more than noise does, the most costly first; none in most runs.

    `calls` are matched and blamed collectives, `panel` the same laid out.
    """
    if len(panel.ranks) < 2 or not panel.steps:
        return ()
    what_if = WhatIf(calls, clocks)
    late = late_ranks(panel, what_if)
    work = Work(ranks)
    places: Ints = np.flatnonzero(late)
    costs = _costs(panel, places, what_if)
    own = [
        _straggler(panel, place, why(panel, place, late, work), cost)
        for place, cost in zip(places.tolist(), costs.tolist(), strict=True)
    ]
    found = [
        *own,
        *(_of_reason(panel, reason) for reason in slow_stages(panel, work, what_if)),
        *(_of_reason(panel, reason) for reason in slow_links(ranks, panel, calls, what_if)),
    ]
    least = least_share(len(panel.ranks))
    worth = [each for each in _once_each(found) if each.share >= least]
    return tuple(sorted(worth, key=lambda each: (-each.cost_ns, each.rank)))


def _costs(panel: Panel, places: Ints, what_if: WhatIf) -> Floats:
    """What each rank costs by itself: the run is played with nobody late but this one."""
    held: Floats = panel.held[places].sum(axis=1)
    if not len(places) or what_if.score is None:
        return held
    # Many who are late are late for one reason: some tell what the others cost as well.
    played = places[np.argsort(-held, kind="stable")[:_MOST_PLAYED]]
    costs = what_if.score.costs_of(panel.ranks[played], late=panel.ranks[places])
    for row, place in enumerate(played.tolist()):
        if (panel.alike == panel.alike[place]).sum() == 1:
            # Stages make different calls: alone in its stage, a rank is compared as a whole.
            alone = what_if.score.cost_of_share(panel.ranks[[place]], panel.share_more(place))
            costs[row] = min(costs[row], alone)
    known = dict(zip(played.tolist(), costs.tolist(), strict=True))
    usual = float(np.median(costs))
    return np.array([known.get(place, usual) for place in places.tolist()])


def late_ranks(panel: Panel, what_if: WhatIf) -> NDArray[np.bool_]:
    """Which ranks hold others up, as a mask over the panel's rows."""
    late = _holding(panel)
    slow = always_slow(panel)
    if slow.any() and not late[slow].all():
        # Ranks that are slow together share the blame: who of them comes last is chance.
        together = float(panel.held[slow].sum())
        if what_if.score is not None:
            together = what_if.score.cost_together(panel.ranks[slow | late])
        others = panel.held[~slow].max(axis=0, initial=0.0).mean()
        noise = max(others, _NOISE_FLOOR * panel.step_ns) * len(panel.steps)
        if together >= max(least_share(len(slow)) * panel.run_ns, TIMES_NOISE * noise):
            late |= slow
    return late


def least_share(ranks: int) -> float:
    """What a rank must cost of the run to be worth a word: fewer ranks tell less what is usual.

    >>> least_share(64), least_share(2)
    (0.025, 0.05)
    """
    return LEAST_SHARE * min(max(_ENOUGH_RANKS / ranks, 1.0), 2.0)


def _holding(panel: Panel) -> NDArray[np.bool_]:
    """Those who held up more, in several steps, than anybody who held up less than they did."""
    cost = panel.held.sum(axis=1)
    order = np.argsort(-cost, kind="stable")
    floor = _NOISE_FLOOR * panel.step_ns
    most = max(1, int(_MOST * len(order)))
    passed = 0
    for place, rank in enumerate(order[:most]):
        below = panel.held[order[place + 1 :]].max(axis=0, initial=0.0)
        late = panel.held[rank] > TIMES_NOISE * max(float(np.median(below)), floor)
        noise = TIMES_NOISE * max(float(below.mean()), floor) * int(late.sum())
        share = float(panel.held[rank][late].sum()) / panel.run_ns
        needed = least_share(len(panel.ranks))
        if late.sum() < min(LEAST_STEPS, len(panel.steps)):
            needed = max(needed, _LEAST_SHARE_AT_ONCE)
        if share >= needed and share * panel.run_ns >= noise:
            passed = place + 1
    found = np.zeros(len(order), dtype=np.bool_)
    found[order[:passed]] = True
    return found


def always_slow(panel: Panel) -> NDArray[np.bool_]:
    """Ranks whose own work takes longer than that of their peers in most of the steps."""
    usual = np.median(panel.excess, axis=1)
    wobble = 1.4826 * np.median(np.abs(panel.excess - usual[:, None]), axis=1)
    chance = float(np.median(wobble)) / np.sqrt(max(len(panel.steps), 1))
    for middle, spread in _sides(usual):
        noise = max(spread, chance)
        apart = usual - middle > max(_OUTLYING * noise, LEAST_SHARE * panel.step_ns)
        if apart.any() and apart.sum() <= _MOST * len(apart):
            found: NDArray[np.bool_] = apart
            return found
    return np.zeros(len(usual), dtype=np.bool_)


def _sides(usual: Floats) -> Iterator[tuple[float, float]]:
    """Middle and spread of all ranks, and of those below the widest gap between any two.

    With half of the ranks slow, the middle of all is where nobody is.
    """
    yield _middle_and_spread(usual)
    ordered = np.sort(usual)
    least = int(np.ceil(len(ordered) * (1 - _MOST)))
    if len(ordered) >= _FEWEST_TO_PART:
        widest = least - 1 + int(np.argmax(np.diff(ordered[least - 1 :])))
        yield _middle_and_spread(ordered[: widest + 1])


def _middle_and_spread(values: Floats) -> tuple[float, float]:
    middle = float(np.median(values))
    return middle, 1.4826 * float(np.median(np.abs(values - middle)))


def _straggler(panel: Panel, place: int, reason: Reason, cost: float) -> Straggler:
    held = panel.held[place]
    steps = affected(held, panel.step_ns)
    if not steps.any():
        steps = affected(panel.excess[place], panel.step_ns)
    return Straggler(
        rank=int(panel.ranks[place]),
        cause=reason.cause,
        cost_ns=cost,
        share=cost / panel.run_ns,
        steps=tuple(name for name, is_late in zip(panel.steps, steps, strict=True) if is_late),
        evidence=reason.evidence,
    )


def affected(held: Floats, step_ns: float) -> NDArray[np.bool_]:
    """In which steps a rank was late: beyond what needs no word, and much of its worst.

    >>> affected(np.array([0.0, 8.0, 10.0, 1.0]), step_ns=100.0).tolist()
    [False, True, True, False]
    """
    late: NDArray[np.bool_] = held > max(0.005 * step_ns, 0.25 * float(held.max(initial=0.0)))
    return late


def _of_reason(panel: Panel, reason: Reason) -> Straggler:
    return Straggler(
        rank=reason.rank,
        cause=reason.cause,
        cost_ns=reason.cost_ns,
        share=reason.cost_ns / panel.run_ns,
        steps=reason.steps or panel.steps,
        evidence=reason.evidence,
    )


def _once_each(found: list[Straggler]) -> list[Straggler]:
    """The costliest reason of each rank."""
    best: dict[int, Straggler] = {}
    for each in sorted(found, key=lambda one: -one.cost_ns):
        best.setdefault(each.rank, each)
    return list(best.values())
