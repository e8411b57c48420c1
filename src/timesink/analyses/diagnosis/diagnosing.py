"""Whether the cycles of a pair changed, where the time went, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.anatomy.of_role import anatomy_of_role
from timesink.analyses.comparison.comparing import compare_roles
from timesink.analyses.comparison.pair import WITHIN, Pair
from timesink.analyses.diagnosis.anomalies.finding import find_anomalies
from timesink.analyses.diagnosis.anomalies.impossible import impossible_levels
from timesink.analyses.diagnosis.attribution import attribution
from timesink.analyses.diagnosis.causes.finding import OTHER_WORK, RULES, find_causes
from timesink.analyses.diagnosis.diagnosis import (
    Anomaly,
    Cause,
    Component,
    CycleTime,
    Diagnosis,
)
from timesink.analyses.diagnosis.judging import Judgement, judge


def diagnose(pair: Pair) -> Diagnosis:
    """The diagnosis of a pair, of cycles put together to equal work where that was needed."""
    judged = judge(pair)
    compared = pair.equal_work or pair
    base, new = anatomy_of_role(compared.base), anatomy_of_role(compared.new)
    parts = attribution(compared, base, new)
    anomalies, symptoms = find_anomalies(compared, base, new)
    causes = find_causes(
        compared,
        base,
        new,
        parts,
        anomalies,
        relieved=_relieved(compared, base, new) if judged.verdict == "improvement" else (),
        rules=OTHER_WORK if judged.verdict == "incomparable" and compared is pair else RULES,
    )
    if _are_alike(pair, judged.verdict):
        causes = ()
    change = change_ns(parts, judged.cycle_time)
    counters = (*base.notes, *new.notes, *impossible_levels(compared, base, new))
    return Diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        attribution=parts,
        anomalies=explaining(anomalies, causes),
        causes=causes,
        unexplained_ns=change - sum(cause.explained_ns for cause in causes),
        unexplained=unexplained(parts, causes),
        symptoms=symptoms,
        notes=tuple(dict.fromkeys([*_of_test(pair, judged), *counters])),
    )


def _relieved(pair: Pair, base: Anatomy, new: Anatomy) -> tuple[Anomaly, ...]:
    """What was odd about the environment of the first side and no longer is."""
    return find_anomalies(compare_roles(pair.new, pair.base, pair.kind), new, base)[0]


def change_ns(parts: Sequence[Component], lengths: CycleTime) -> float:
    """What there is to explain: parts add up to it, and without any the lengths tell."""
    return sum(part.delta_ns for part in parts) if parts else lengths.new_ns - lengths.base_ns


def _of_test(pair: Pair, judged: Judgement) -> tuple[str, ...]:
    """Notes on the test; cycles that were chosen for their length need none."""
    return () if pair.kind == WITHIN else judged.notes


def _are_alike(pair: Pair, verdict: str) -> bool:
    """Whether both sides are parts of one run that take as long: nothing was changed in between.

    A loader that holds up every other cycle, or a counter that is read then, is a part of the run.
    """
    return pair.kind != WITHIN and pair.cycle_times.one_run and verdict == "no_change"


def explaining(anomalies: tuple[Anomaly, ...], causes: tuple[Cause, ...]) -> tuple[Anomaly, ...]:
    """Anomalies with the time that the cause of their name explains on their device."""
    return tuple(
        replace(anomaly, explained_ns=_explained(anomaly, causes)) for anomaly in anomalies
    )


def _explained(anomaly: Anomaly, causes: tuple[Cause, ...]) -> float:
    return sum(
        cause.explained_ns
        for cause in causes
        if cause.cause == anomaly.cause
        and cause.explained_ns > 0  # what is less is of the first side
        and any(each.device == anomaly.device for each in cause.evidence if each.kind == "counter")
    )


def unexplained(
    parts: tuple[Component, ...], causes: tuple[Cause, ...]
) -> tuple[tuple[str, float], ...]:
    """What of the change of each component no cause explains, largest first.

    >>> grown = Component("idle", None, 10.0, 15.0, None, None)
    >>> unexplained((grown,), ())
    (('idle', 5.0),)
    """
    left = {part.name: part.delta_ns for part in parts}
    for cause in causes:
        for name, ns in cause.claims:
            left[name] = left.get(name, 0.0) - ns
    some = [(name, ns) for name, ns in left.items() if ns]
    return tuple(sorted(some, key=lambda each: -abs(each[1])))
