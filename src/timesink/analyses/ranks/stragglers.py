"""Which ranks make the others wait by their own doing, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.ranks.causes import Reason, Work, why
from timesink.analyses.ranks.links import slow_links
from timesink.analyses.ranks.panel import Floats, Panel
from timesink.analyses.ranks.stages import slow_stages
from timesink.analyses.ranks.summary import RankSummary

LEAST_SHARE = 0.015
"""What a rank must cost of the run to be worth a word."""
TIMES_NOISE = 2.5
"""How often what others cost a rank must cost."""
LEAST_STEPS = 2
_NOISE_FLOOR = 0.002
"""Of a step: what nobody needs to explain."""
_OUTLYING = 6.0
"""How many robust standard deviations a rank that is always slow is away from the others."""
_MOST = 0.5
"""More than this share of the ranks cannot be odd."""


@dataclass(frozen=True, slots=True)
class Straggler:
    """A rank that holds the others up."""

    rank: int
    cause: str
    cost_ns: float
    """How much of the run others waited for it."""
    share: float
    """The same as a part of the run."""
    steps: tuple[str, ...]
    """Steps in which it did."""
    evidence: tuple[str, ...]
    """Sentences with numbers, the rank beside its peers."""


def find_stragglers(
    ranks: Mapping[int, RankSummary], panel: Panel, calls: pl.DataFrame
) -> tuple[Straggler, ...]:
    """Ranks that cost the run more than noise does, the most costly first; none in most runs.

    `calls` are matched and blamed collectives, `panel` the same laid out.
    """
    if len(panel.ranks) < 2 or not panel.steps:
        return ()
    late = late_ranks(panel)
    work = Work(ranks)
    places: list[int] = np.flatnonzero(late).tolist()
    own = [_straggler(panel, place, why(panel, place, late, work)) for place in places]
    found = [
        *own,
        *(_of_reason(panel, reason) for reason in slow_stages(panel, work)),
        *(_of_reason(panel, reason) for reason in slow_links(ranks, panel, calls)),
    ]
    return tuple(sorted(_once_each(found), key=lambda each: (-each.cost_ns, each.rank)))


def late_ranks(panel: Panel) -> NDArray[np.bool_]:
    """Which ranks hold others up, as a mask over the panel's rows."""
    late = _holding(panel)
    slow = always_slow(panel)
    if slow.any():
        # Ranks that are slow together share the blame: who of them comes last is chance.
        together = panel.held[slow].sum()
        others = panel.held[~slow].max(axis=0, initial=0.0).mean()
        noise = max(others, _NOISE_FLOOR * panel.step_ns) * len(panel.steps)
        if together >= max(LEAST_SHARE * panel.run_ns, TIMES_NOISE * noise):
            late |= slow
    return late


def _holding(panel: Panel) -> NDArray[np.bool_]:
    """Those who held up more, in several steps, than anybody who held up less than they did."""
    cost = panel.held.sum(axis=1)
    order = np.argsort(-cost, kind="stable")
    floor = _NOISE_FLOOR * panel.step_ns
    most = max(1, int(_MOST * len(order)))
    passed = 0
    for place, rank in enumerate(order[:most]):
        below = panel.held[order[place + 1 :]].max(axis=0, initial=0.0)
        noise = max(float(below.mean()), floor)
        steps = int((panel.held[rank] > TIMES_NOISE * max(float(np.median(below)), floor)).sum())
        needed = max(LEAST_SHARE * panel.run_ns, TIMES_NOISE * noise * len(panel.steps))
        if cost[rank] >= needed and steps >= min(LEAST_STEPS, len(panel.steps)):
            passed = place + 1
    late = np.zeros(len(order), dtype=np.bool_)
    late[order[:passed]] = True
    return late


def always_slow(panel: Panel) -> NDArray[np.bool_]:
    """Ranks whose own work takes longer than that of their peers in most of the steps."""
    usual = np.median(panel.excess, axis=1)
    spread = 1.4826 * np.median(np.abs(usual - np.median(usual)))
    wobble = 1.4826 * np.median(np.abs(panel.excess - usual[:, None]), axis=1)
    noise = np.maximum(spread, np.median(wobble) / np.sqrt(max(len(panel.steps), 1)))
    slow: NDArray[np.bool_] = usual > np.maximum(_OUTLYING * noise, LEAST_SHARE * panel.step_ns)
    too_many = slow.sum() > _MOST * len(slow)
    return np.zeros_like(slow) if too_many else slow


def _straggler(panel: Panel, place: int, reason: Reason) -> Straggler:
    held = panel.held[place]
    steps = affected(held, panel.step_ns)
    cost = float(held.sum())
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
