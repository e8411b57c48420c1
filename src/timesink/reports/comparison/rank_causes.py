"""New stragglers among the causes of a change, so that a gate, a comment or a page shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from timesink.analyses.ranks.changes.comparing import RankChanges
from timesink.analyses.ranks.changes.stragglers import StragglerChange
from timesink.model.diagnosis import Diagnosis
from timesink.model.findings import CAUSES, Evidence, Finding
from timesink.reports.comparison.late_ranks import cost_sentence, late_together, whose
from timesink.rules.communication import advice_on

_EXPLAINED = 0.5
"""A straggler is known already where causes of its process explain this part of its cost."""
_MOST = 3
_STATES = ("new", "worse")


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
    judged = replace(judged, causes=tuple(known))
    new = list(_causes(judged, late, change))
    if not new:
        return judged
    causes = sorted([*judged.causes, *new], key=lambda each: -abs(each.explained_ns))
    explained = sum(each.explained_ns for each in causes)
    return replace(judged, causes=tuple(causes), unexplained_ns=change - explained)


def _causes(
    known: Diagnosis, late: Sequence[Sequence[StragglerChange]], change_ns: float
) -> Iterator[Finding]:
    left = change_ns - sum(each.explained_ns for each in known.causes)
    for together in late[:_MOST]:
        first = max(together, key=lambda one: one.new_ns)
        names = {f"rank {one.rank}" for one in together}
        own = sum(one.explained_ns for one in known.causes if one.process in names)
        more = first.new_ns - first.base_ns
        if own >= _EXPLAINED * more:
            continue
        explained = max(min(more, left), 0.0)
        left -= explained
        who = whose(together)
        yield Finding(
            first.cause if first.cause in CAUSES else "straggler",
            cost_sentence(together),
            advice_on(first.cause, who, several=len(together) > 1),
            cost_ns=explained,
            evidence=tuple(Evidence("cycle", text, side="new") for text in first.evidence),
            claims=(("exposed_communication", explained),) if explained else (),
            process=who,
        )
