"""Stragglers that came, went or became worse, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.analyses.ranks.changes.comparing import RankChanges
from timesink.analyses.ranks.changes.stragglers import StragglerChange
from timesink.analyses.ranks.numbers import ranges_of
from timesink.model.units import brief_ns
from timesink.rules.communication import why_late

_TOLD = ("new", "worse", "gone")


def straggler_sentences(found: RankChanges) -> Iterator[str]:
    """Stragglers that came, went or became worse; those that one thing sets apart together."""
    for together in late_together(found):
        if together[0].state in _TOLD:
            yield straggler_sentence(together)


def late_together(found: RankChanges) -> list[list[StragglerChange]]:
    """Stragglers in one state and for one reason, by the groups of ranks they are in."""
    groups = {
        (side, rank): group.group
        for side, ranks in (("new", found.new), ("base", found.base))
        for group in ranks.groups
        for rank in group.ranks
    }
    parts: dict[tuple[str, str, str], list[StragglerChange]] = {}
    for each in found.stragglers:
        group = groups.get(("base" if each.state == "gone" else "new", each.rank), "")
        parts.setdefault((each.state, each.cause, group), []).append(each)
    return list(parts.values())


def whose(together: Sequence[StragglerChange]) -> str:
    """The ranks in words."""
    if len(together) == 1:
        return f"rank {together[0].rank}"
    return f"ranks {ranges_of(one.rank for one in together)}"


def straggler_sentence(together: Sequence[StragglerChange]) -> str:
    """Who is late, why, and what it costs."""
    first, several = together[0], len(together) > 1
    who = whose(together).capitalize()
    are = "are" if several else "is"
    costs = max(together, key=lambda one: max(one.new_ns, one.base_ns))
    why = f"{first.cause}, {why_late(first.cause, several=several)}"
    if first.state == "gone":
        cost = brief_ns(costs.base_ns)
        return f"{who} {are} no straggler{'s' * several} any more ({first.cause}, {cost} per step)."
    state = "new straggler" if first.state == "new" else "worse straggler"
    article = "" if several else "a "
    before = f" ({brief_ns(costs.base_ns)} before)" if first.state == "worse" else ""
    upto = "up to " if several else ""
    return (
        f"{who} {are} {article}{state}{'s' * several}: {why}; others wait {upto}"
        f"{brief_ns(costs.new_ns)} per step{before}."
    )


def cost_sentence(together: Sequence[StragglerChange]) -> str:
    """What stragglers cost now, and why, where it is said already that they are late."""
    several = len(together) > 1
    costs = max(together, key=lambda one: one.new_ns)
    before = f" ({brief_ns(costs.base_ns)} before)" if costs.state == "worse" else ""
    make = ("now " if costs.state == "new" else "") + ("make" if several else "makes")
    return (
        f"{whose(together).capitalize()} {make} the others wait {'up to ' * several}"
        f"{brief_ns(costs.new_ns)} per step{before}: {why_late(costs.cause, several=several)}."
    )
