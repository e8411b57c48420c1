"""Two sides that are runs of many ranks: compared as a whole, and what that comes to in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from timesink.analyses.ranks.changes import RankChanges, StragglerChange, compare_ranks
from timesink.analyses.ranks.own_time import ranges_of, the_ranks
from timesink.analyses.ranks.rank_set import RankSet
from timesink.answers.comparison.pairing import Compared
from timesink.answers.comparison.sentences import headline
from timesink.answers.comparison.sides import RunSide
from timesink.errors import UnreadableError
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import CAUSES, Evidence, Finding
from timesink.model.units import brief_ns, counted
from timesink.rules.communication import advice_on, why_late

ALL_PAIRS = 16
"""Ranks of a side up to which every rank is compared with itself in full ..."""
MOST_PAIRS = 8
"""... and of how many that stand for the others of a larger run."""


def may_be_sets(base: RunSide, new: RunSide) -> bool:
    """Whether both sides are several recordings of one run, none of which is open or a table."""
    return all(
        len(side.sources) > 1
        and len({one.recording.run for one in side.sources}) == 1
        and not any(one.is_table or one.is_export or one.trace for one in side.sources)
        for side in (base, new)
    )


def compared_sets(read: Callable[[], Iterable[RankSet]]) -> tuple[RankChanges | None, list[str]]:
    """What changed between two runs; None, and why, where they are not two runs of ranks.

    That the engine cannot work is an error: what it was asked for is not to be done without it.
    """
    try:
        base, new = read()
    except UnreadableError as error:
        return None, [f"ranks are not compared as a whole: {error.message}"]
    if not all(len(each.ranks) > 1 and each.communicates for each in (base, new)):
        return None, []
    return compare_ranks(base, new), []


# -- those that stand for the others ---------------------------------------------------------------


def representatives(found: RankChanges) -> list[int]:
    """Ranks to be compared in full: stragglers and odd ones of both sides, then usual ones."""
    groups = [group for side in (found.new, found.base) for group in side.groups]
    usual = [group.representative for group in groups if not group.odd]
    by_interest = [
        # A usual one of the new run is always there: what is odd shows beside it.
        *usual[:1],
        # Of those who are late for one reason together, one is enough.
        *(together[0].rank for together in late_together(found)),
        *(group.representative for group in groups if group.odd),
        *usual,
    ]
    common = set(found.common)
    return sorted([rank for rank in dict.fromkeys(by_interest) if rank in common][:MOST_PAIRS])


def only_ranks(side: RunSide, ranks: RankSet, chosen: Sequence[int]) -> RunSide:
    """The recordings of some ranks."""
    places = {ranks.ranks[rank].about.source for rank in chosen}
    kept = (
        source
        for source in side.sources
        if places & {str(source.recording.path), source.recording.source}
    )
    return replace(side, sources=tuple(kept))


def chosen_note(found: RankChanges, chosen: Sequence[int]) -> str:
    """That a few ranks stand for all of them."""
    many = counted(len(found.common), "ranks")
    return (
        f"of {many}, ranks {ranges_of(chosen)} are compared in full, which stand for the others: "
        "late and odd ones first; --rank N compares another one"
    )


# -- new stragglers among the causes of a change, so that a gate, a comment or a page shows them ---

_EXPLAINED = 0.5
"""A straggler is known already where causes of its process explain this part of its cost."""
_MOST = 3
_STATES = ("new", "worse")
_TOLD = (*_STATES, "gone")
_MOST_TOLD = 2


def with_stragglers(diagnosis: Diagnosis, found: RankChanges, *, of_all: bool) -> Diagnosis:
    """A diagnosis of pairs with the stragglers that came or became worse.

    `of_all` says that every rank was compared in full; otherwise the verdict is that of the steps
    of all ranks, not of those that stand for them.
    """
    judged = diagnosis
    if not of_all:
        judged = replace(
            diagnosis, verdict=found.verdict, reason=found.reason, cycle_time=found.step_time
        )
    change = judged.cycle_time.new_ns - judged.cycle_time.base_ns
    late = [each for each in late_together(found) if each[0].state in _STATES]
    named = {f"rank {one.rank}" for each in late for one in each}
    # That somebody is late is all that pairs know of it.
    known = [
        each for each in judged.causes if each.cause != "straggler" or each.process not in named
    ]
    left = change - sum(each.explained_ns for each in known)
    new: list[Finding] = []
    for together in late[:_MOST]:
        first = max(together, key=lambda one: one.new_ns)
        names = {f"rank {one.rank}" for one in together}
        own = sum(one.explained_ns for one in known if one.process in names)
        more = first.new_ns - first.base_ns
        if own >= _EXPLAINED * more:
            continue
        explained = max(min(more, left), 0.0)
        left -= explained
        who = whose(together)
        new.append(
            Finding(
                first.cause if first.cause in CAUSES else "straggler",
                cost_sentence(together),
                advice_on(first.cause, who, several=len(together) > 1),
                cost_ns=explained,
                evidence=tuple(Evidence("cycle", text, side="new") for text in first.evidence),
                claims=(("exposed_communication", explained),) if explained else (),
                process=who,
            )
        )
    if not new:
        return replace(judged, causes=tuple(known))
    causes = sorted([*known, *new], key=lambda each: -abs(each.explained_ns))
    explained = sum(each.explained_ns for each in causes)
    return replace(judged, causes=tuple(causes), unexplained_ns=change - explained)


# -- in words --------------------------------------------------------------------------------------


def rank_headline(pairs: Sequence[Compared], found: RankChanges, *, has_all_ranks: bool) -> str:
    """What became of steps, and which stragglers came, went or became worse."""
    said = headline(pairs, None) if has_all_ranks else steps_sentence(found)
    return " ".join([said, *list(straggler_sentences(found))[:_MOST_TOLD]])


def steps_sentence(found: RankChanges) -> str:
    """What became of steps; how many ranks that is about, where it is as many on both sides."""
    before, now = (each.world for each in found.layouts)
    if before != now:
        return found.reason
    ranks = counted(len(found.common) or len(found.new.ranks), "ranks")
    return f"{ranks}: {found.reason[:1].lower()}{found.reason[1:]}"


def straggler_sentences(found: RankChanges) -> Iterator[str]:
    """Stragglers that came, went or became worse; those that one thing sets apart together."""
    for together in late_together(found):
        if together[0].state in _TOLD:
            yield _straggler_sentence(together)


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
    return the_ranks([one.rank for one in together], most=None)


def _straggler_sentence(together: Sequence[StragglerChange]) -> str:
    """Who is late, why, and what it costs."""
    first, several = together[0], len(together) > 1
    who = f"{whose(together).capitalize()} {'are' if several else 'is'}"
    costs = max(together, key=lambda one: max(one.new_ns, one.base_ns))
    if first.state == "gone":
        cost = brief_ns(costs.base_ns)
        return f"{who} no straggler{'s' * several} any more ({first.cause}, {cost} per step)."
    state = f"{'' if several else 'a '}{first.state} straggler{'s' * several}"
    why = f"{first.cause}, {why_late(first.cause, several=several)}"
    return f"{who} {state}: {why}; others wait {_wait(together, costs)}."


def _wait(together: Sequence[StragglerChange], worst: StragglerChange) -> str:
    """How long others wait for the worst of them now, and did before."""
    before = f" ({brief_ns(worst.base_ns)} before)" if worst.state == "worse" else ""
    return f"{'up to ' * (len(together) > 1)}{brief_ns(worst.new_ns)} per step{before}"


def cost_sentence(together: Sequence[StragglerChange]) -> str:
    """What stragglers cost now, and why, where it is said already that they are late."""
    several = len(together) > 1
    costs = max(together, key=lambda one: one.new_ns)
    make = ("now " if costs.state == "new" else "") + ("make" if several else "makes")
    why = why_late(costs.cause, several=several)
    return f"{whose(together).capitalize()} {make} the others wait {_wait(together, costs)}: {why}."
