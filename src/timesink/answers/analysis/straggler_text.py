"""Stragglers in sentences; the headline of a set of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from timesink.answers.comparison.causes import cause_name
from timesink.model import units
from timesink.model.findings import Straggler
from timesink.model.units import the_ranks
from timesink.rules.communication import advice_on, odd_rank, why_late

if TYPE_CHECKING:
    from timesink.analyses.ranks.lateness import Panel
    from timesink.analyses.ranks.rank_set import RankSet

_TOGETHER = 3
"""More stragglers with one cause share one card."""
_MAX_EVIDENCE = 5


class StragglerGroup(msgspec.Struct, frozen=True):
    """Stragglers with one cause."""

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
        text = the_ranks(self.ranks)
        return f"{text[0].upper()}{text[1:]}"

    @property
    def advice(self) -> str:
        """What to try."""
        return advice_on(self.cause, the_ranks(self.ranks), several=len(self.ranks) > 1)


def straggler_groups(stragglers: Sequence[Straggler], panel: Panel) -> list[StragglerGroup]:
    """Stragglers, the costliest first; many with the same cause together."""
    by_cause: dict[str, list[Straggler]] = {}
    for finding in stragglers:
        by_cause.setdefault(finding.id, []).append(finding)
    groups = []
    for members in by_cause.values():
        together = len(members) > _TOGETHER
        groups += (
            [_straggler_group(members, panel)]
            if together
            else [_straggler_group([member], panel) for member in members]
        )
    return sorted(groups, key=lambda group: -group.cost_ns)


def _straggler_group(members: Sequence[Straggler], panel: Panel) -> StragglerGroup:
    from timesink.analyses.ranks.analysis import cost_together  # noqa: PLC0415 - most runs have one rank

    steps = {step for member in members for step in member.steps}
    # Nobody reads the same sentence about each of many ranks.
    other_ranks = [member.rank for member in members[1:]]
    likewise = [f"Likewise {the_ranks(other_ranks)}."] if other_ranks else []
    return StragglerGroup(
        members[0].id,
        tuple(sorted(member.rank for member in members)),
        *cost_together(members, panel),
        tuple(step for step in panel.steps if step in steps),
        (*members[0].proofs[:_MAX_EVIDENCE], *likewise),
    )


def cost_a_step(group: StragglerGroup, panel: Panel) -> float:
    """The one figure of a straggler: what it costs the run in a mean step, in ns."""
    return group.cost_ns / max(len(panel.steps), 1)


def straggler_sentence(group: StragglerGroup, panel: Panel) -> str:
    """Who delays the others, how often and how much."""
    verb = "delays" if len(group.ranks) == 1 else "delay"
    many, steps = len(group.steps), len(panel.steps)
    often = f"in {many} of {units.count_noun(steps, 'steps')}"
    if many == steps:
        often = "in every step" if many > 1 else "in the only step"
    mean = "" if steps == 1 else " per step"
    cost = f"{units.brief_ns(cost_a_step(group, panel))}{mean} ({units.share(group.share, 1)})"
    return f"{group.who} {verb} the others by {cost}, {often}."


def straggler_headline(ranks: RankSet) -> str:
    """Who delays the others, how much, why and what to do; empty where no rank does.

    A rank that computes most, at no certain cost, is named as well.
    """
    groups = straggler_groups(ranks.analysis.stragglers, ranks.analysis.panel)
    if not groups:
        return odd_rank(ranks)
    first = groups[0]
    is_one_rank = len(first.ranks) == 1
    why = why_late(first.cause, several=not is_one_rank)
    others = [rank for group in groups[1:] for rank in group.ranks]
    also = (
        f" {the_ranks(others).capitalize()} also {'delays' if len(others) == 1 else 'delay'} them."
    )
    return (
        f"{'Straggler' if is_one_rank else 'Stragglers'}: {first.who[0].lower()}{first.who[1:]} "
        f"{'delays' if is_one_rank else 'delay'} the others by "
        f"{units.brief_ns(cost_a_step(first, ranks.analysis.panel))} per step "
        f"({units.share(first.share, 1)}): {why}. {first.advice}{also if others else ''}"
    )
