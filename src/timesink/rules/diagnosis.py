"""Whether the cycles of a pair changed, where the time went, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.comparison.pair import WITHIN, Pair
from timesink.analyses.comparison.sides import anatomy_of_role
from timesink.analyses.comparison.verdict import compare_roles
from timesink.model.diagnosis import Component, CycleTime, Diagnosis
from timesink.model.findings import Finding
from timesink.rules.attribution import attribution
from timesink.rules.case import case_of
from timesink.rules.causes_host import local_changes
from timesink.rules.counter_levels import impossible_levels
from timesink.rules.environment import find_anomalies
from timesink.rules.judgement import judge
from timesink.rules.ledger import Ledger, largest_first
from timesink.rules.registry import rules_for


def diagnose(pair: Pair) -> Diagnosis:
    """The diagnosis of a pair, of cycles put together to equal work where that was needed."""
    judged = judge(pair)
    compared = pair.equal_work or pair
    base, new = anatomy_of_role(compared.base), anatomy_of_role(compared.new)
    parts = attribution(compared, base, new)
    anomalies, symptoms = find_anomalies(compared, base, new)
    relieved: tuple[Finding, ...] = ()
    if judged.verdict == "improvement":
        # What was odd about the environment of the first side and no longer is.
        turned = compare_roles(compared.new, compared.base, compared.kind)
        relieved = find_anomalies(turned, new, base)[0]
    other_work = judged.verdict == "incomparable" and compared is pair
    question = "other work" if other_work else "change"
    causes = find_causes(
        compared, base, new, parts, anomalies, relieved=relieved, question=question
    )
    within = pair.kind == WITHIN
    if not within and pair.cycle_times.one_run and judged.verdict == "no_change":
        # Parts of one run that take as long: a loader that holds up every other cycle, or a
        # counter that is read then, is a part of the run, and nothing was changed in between.
        causes = ()
    change = change_ns(parts, judged.cycle_time)
    # Cycles that were chosen for their length need no notes on the test.
    notes = (*(() if within else judged.notes), *base.notes, *new.notes)
    return Diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        attribution=parts,
        anomalies=explaining(anomalies, causes),
        causes=causes,
        unexplained_ns=change - sum(cause.cost_ns for cause in causes),
        unexplained=unexplained(parts, causes),
        symptoms=symptoms,
        notes=tuple(dict.fromkeys([*notes, *impossible_levels(compared, base, new)])),
    )


def find_causes(
    pair: Pair,
    base: Anatomy,
    new: Anatomy,
    parts: tuple[Component, ...],
    anomalies: tuple[Finding, ...],
    *,
    relieved: tuple[Finding, ...] = (),
    question: str = "change",
) -> tuple[Finding, ...]:
    """What explains the change of the mean cycle, most time first.

    `relieved` are anomalies of the first side, found with the sides changed over.
    """
    case = case_of(pair, (base, new), parts, anomalies, relieved)
    ledger = Ledger(parts, local_changes(case))
    causes: list[Finding] = []
    for rule in rules_for(question):
        for claim in rule(case):
            cause = ledger.settle(claim, case.least_ns)
            if cause is not None:
                causes.append(cause)
                # Rules ask before their next claim what the last ones came to.
                case.settled.append(claim)
    return tuple(sorted(causes, key=lambda each: -abs(each.cost_ns)))


def change_ns(parts: Sequence[Component], lengths: CycleTime) -> float:
    """What there is to explain: parts add up to it, and without any the lengths tell."""
    return sum(part.delta_ns for part in parts) if parts else lengths.new_ns - lengths.base_ns


def explaining(anomalies: Sequence[Finding], causes: Sequence[Finding]) -> tuple[Finding, ...]:
    """Anomalies with the time that the cause of their name explains on their device."""

    def explained(anomaly: Finding) -> float:
        return sum(
            cause.cost_ns
            for cause in causes
            if cause.id == anomaly.id
            and cause.cost_ns > 0  # what is less is of the first side
            and any(
                each.device == anomaly.device for each in cause.evidence if each.kind == "counter"
            )
        )

    return tuple(replace(each, cost_ns=explained(each)) for each in anomalies)


def unexplained(
    parts: Sequence[Component], causes: Sequence[Finding]
) -> tuple[tuple[str, float], ...]:
    """What of the change of each component no cause explains, largest first."""
    left = {part.name: part.delta_ns for part in parts}
    for name, ns in (claim for cause in causes for claim in cause.claims):
        left[name] = left.get(name, 0.0) - ns
    return largest_first(left)
