"""What is said of ranks that hold the others up, and of how that was judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from timesink.analyses.ranks.lateness import TIMES_NOISE, least_share
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.ranks.panel import Panel
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.telling import set_notes
from timesink.analyses.ranks.together import cost_together, share_together
from timesink.model import units
from timesink.model.findings import Finding
from timesink.render.diagnosis.words import cause_name
from timesink.rules.communication import advice_on, why_late

MOST_CARDS = 8
_TOGETHER = 3
"""More stragglers with one cause are told in one card."""
_MOST_EVIDENCE = 5
_MOST_RANGES = 8


@dataclass(frozen=True, slots=True)
class Held:
    """Ranks that hold the others up for one cause."""

    cause: str
    ranks: tuple[int, ...]
    cost_ns: float
    share: float
    steps: tuple[str, ...]
    evidence: tuple[str, ...]

    @property
    def title(self) -> str:
        """The cause and who it is: `Host code in rank 3`."""
        return f"{cause_name(self.cause)} in {the_ranks(self.ranks)}"

    @property
    def who(self) -> str:
        """The ranks at the beginning of a sentence."""
        told = the_ranks(self.ranks)
        return f"{told[0].upper()}{told[1:]}"


def held_up(stragglers: Sequence[Finding], panel: Panel) -> list[Held]:
    """Stragglers, the costliest first; many with the same cause together."""
    by_cause: dict[str, list[Finding]] = {}
    for one in stragglers:
        by_cause.setdefault(one.cause, []).append(one)
    found = []
    for members in by_cause.values():
        together = len(members) > _TOGETHER
        found += [_held(members, panel)] if together else [_held([one], panel) for one in members]
    return sorted(found, key=lambda one: -one.cost_ns)


def _held(members: Sequence[Finding], panel: Panel) -> Held:
    steps = {step for one in members for step in one.steps}
    return Held(
        members[0].cause,
        tuple(sorted(one.rank for one in members)),
        cost_together(members, panel),
        share_together(members, panel),
        tuple(step for step in panel.steps if step in steps),
        (*members[0].proofs[:_MOST_EVIDENCE], *_likewise(members)),
    )


def _likewise(members: Sequence[Finding]) -> Iterator[str]:
    """Nobody reads the same sentence about each of many ranks."""
    if len(members) > 1:
        yield f"Likewise {the_ranks([one.rank for one in members[1:]])}."


def held_sentence(one: Held, panel: Panel) -> str:
    """Who holds the others up, how often and how much.

    >>> import numpy as np
    >>> none = np.zeros((2, 4))
    >>> panel = Panel(np.arange(2), tuple("1234"), none, none, none, {}, none, np.zeros(2))
    >>> held_sentence(Held("host_code", (3,), 6e6, 0.12, ("1", "2", "4"), ()), panel)
    'Rank 3 holds the others up in 3 of 4 steps: 6.00 ms (12.0 % of the run), 2.00 ms in each.'
    """
    verb = "holds" if len(one.ranks) == 1 else "hold"
    many = len(one.steps)
    often = f"in {many} of {units.counted(len(panel.steps), 'steps')}"
    if many == len(panel.steps):
        often = "in every step" if many > 1 else "in the one step there is"
    each = f", {units.brief_ns(one.cost_ns / many)} in each" if many > 1 else ""
    cost = f"{units.brief_ns(one.cost_ns)} ({units.share(one.share, 1)} of the run)"
    return f"{one.who} {verb} the others up {often}: {cost}{each}."


def straggler_headline(ranks: RankSet) -> str:
    """Who holds the others up, why and how much, in a sentence; empty where nobody does."""
    held = held_up(ranks.analysis.stragglers, ranks.analysis.panel)
    if not held:
        return ""
    first = held[0]
    one = len(first.ranks) == 1
    why = why_late(first.cause, several=not one)
    also = f"; {the_ranks([r for one in held[1:] for r in one.ranks])} too" if held[1:] else ""
    return (
        f"{first.who} {'makes' if one else 'make'} the others wait, "
        f"{units.brief_ns(first.cost_ns / max(len(ranks.analysis.panel.steps), 1))} a step "
        f"({units.share(first.share, 1)}): {why}{also}."
    )


def advice(one: Held) -> str:
    """What to try.

    >>> advice(Held("slow_link", (3,), 0.0, 0.0, (), ()))
    'Check the links of rank 3: NIC, cable, PCIe width, NVLink state.'
    """
    return advice_on(one.cause, the_ranks(one.ranks), several=len(one.ranks) > 1)


def is_judged(ranks: RankSet) -> bool:
    """Whether there is enough to tell who holds whom up: several ranks with steps in common."""
    panel = ranks.analysis.panel
    return len(panel.ranks) > 1 and bool(panel.steps)


def nobody_sentence(ranks: RankSet) -> str:
    """That no rank holds the others up, and how that was judged."""
    panel = ranks.analysis.panel
    if len(panel.ranks) < 2:
        return "Only one rank could be read: whether it holds others up cannot be told."
    judged = f"{units.counted(len(panel.ranks), 'ranks')} over "
    judged += f"{units.counted(len(panel.steps), 'steps')} were judged"
    if not panel.steps:
        return "No step is on most of the ranks: whether one holds the others up cannot be told."
    return (
        f"No rank holds the others up. {judged}; what a rank lets others wait counts from "
        f"{100 * least_share(len(panel.ranks)):.1f} % of the run on, if it is {TIMES_NOISE} times "
        f"what chance gives the other ranks.{_most(panel)}{_unknown(ranks)}"
    )


def _unknown(ranks: RankSet) -> str:
    """Those of whom nothing can be said: everybody may be waiting for them."""
    known = (*ranks.missing, *(each.rank for each in ranks.damaged if each.rank is not None))
    return f" Of {the_ranks(known)} nothing is known." if known else ""


def _most(panel: Panel) -> str:
    """Who causes most, and who comes next: that they are near is why neither is blamed."""
    cost = panel.held.sum(axis=1)
    if not panel.run_ns or not cost.any():
        return ""
    first, second = np.argsort(-cost, kind="stable")[:2].tolist()
    told = [
        f"rank {panel.ranks[place]} ({units.share(cost[place], panel.run_ns)} of the run)"
        for place in (first, second)
    ]
    return f" Most is caused by {told[0]}, then by {told[1]}."


def the_ranks(ranks: Collection[int]) -> str:
    """Ranks by their numbers.

    >>> the_ranks([3]), the_ranks([8, 9])
    ('rank 3', 'ranks 8-9')
    """
    return f"rank{'' if len(ranks) == 1 else 's'} {ranges_of(ranks, _MOST_RANGES)}"


def grave_notes(ranks: RankSet) -> list[str]:
    """Who is missing and who could not be read, as sentences: less can be said without them."""
    grave = bool(ranks.missing) + bool(ranks.damaged)
    return _sentences(ranks)[:grave]


def other_notes(ranks: RankSet) -> list[str]:
    """What else is to be known about the set, as sentences."""
    return _sentences(ranks)[len(grave_notes(ranks)) :]


def _sentences(ranks: RankSet) -> list[str]:
    return [f"{note[0].upper()}{note[1:]}." for note in set_notes(ranks)]
