"""Why cycles changed, of several processes read together.

Processes that work together wait for each other: a collective lasts as long as the last one takes
to arrive.  What holds up one of them holds up all, and shows as waiting in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.diagnosing import change_ns, diagnose, explaining
from timesink.analyses.diagnosis.diagnosis import (
    Anomaly,
    Cause,
    Component,
    Diagnosis,
    Symptom,
)
from timesink.analyses.diagnosis.judging_together import judge_together
from timesink.analyses.diagnosis.merging import Member, merged_causes, waits_left
from timesink.analyses.diagnosis.straggling import stragglers


def diagnose_together(pairs: Sequence[Pair], each: Sequence[Diagnosis] | None = None) -> Diagnosis:
    """One diagnosis of all pairs; there is one at least.  `each` are theirs, where known already.

    Amounts are means over the processes.  What only some of them have explains what all lose by it.
    """
    own = [diagnose(pair) for pair in pairs] if each is None else each
    if len(pairs) == 1:
        return own[0]
    members = [
        Member(process_name(pair), one, pair.new.host) for pair, one in zip(pairs, own, strict=True)
    ]
    known = [each for each in members if each.diagnosis.verdict != "incomparable"]
    if not known:
        known = members
    parts = _mean_components(known)
    judged = judge_together(known)
    change = change_ns(parts, judged.cycle_time)
    merged = merged_causes(known, change)
    causes = _ranked([*merged, *stragglers(known, merged, change)])
    return Diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        attribution=parts,
        anomalies=_explaining(members, causes),
        causes=causes,
        unexplained_ns=change - sum(cause.explained_ns for cause in causes),
        unexplained=waits_left(parts, causes),
        symptoms=tuple(_symptoms(members)),
        notes=tuple(dict.fromkeys(note for each in members for note in each.diagnosis.notes)),
    )


def process_name(pair: Pair) -> str:
    """What the process of a pair is called: `rank 3`, `pid 923228`."""
    rank = pair.new.rank if pair.new.rank is not None else pair.base.rank
    return f"pid {pair.new.pid}" if rank is None else f"rank {rank}"


def _ranked(causes: list[Cause]) -> tuple[Cause, ...]:
    return tuple(sorted(causes, key=lambda each: -abs(each.explained_ns)))


# -- components ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Nothing:
    """A component that a process does not have."""

    base_ns: float = 0.0
    new_ns: float = 0.0


def _mean_components(members: Sequence[Member]) -> tuple[Component, ...]:
    found = [{part.name: part for part in each.diagnosis.attribution} for each in members]
    names = dict.fromkeys(name for each in found for name in each)
    means = [_mean_component([each.get(name) for each in found]) for name in names]
    return tuple(sorted(means, key=lambda part: -abs(part.delta_ns)))


def _mean_component(parts: list[Component | None]) -> Component:
    there = [part for part in parts if part is not None]
    amounts_of = [part or _Nothing() for part in parts]
    ends = [part.interval_ns for part in there if part.interval_ns is not None]
    known = len(ends) == len(there)
    share = len(there) / len(parts)
    same = [part.same_launches_ns for part in there if part.same_launches_ns is not None]
    return replace(
        there[0],
        base_ns=fmean(part.base_ns for part in amounts_of),
        new_ns=fmean(part.new_ns for part in amounts_of),
        interval_ns=(
            (share * fmean(low for low, _ in ends), share * fmean(high for _, high in ends))
            if known
            else None
        ),
        p_value=None,
        same_launches_ns=share * fmean(same) if same else None,
    )


# -- lists -----------------------------------------------------------------------------------------


def _explaining(members: Sequence[Member], causes: tuple[Cause, ...]) -> tuple[Anomaly, ...]:
    """Anomalies with what they explain; devices of two machines may have the same name."""
    hosts = {each.process: each.host for each in members}
    found = {(each.host, cause.cause) for each in members for cause in each.diagnosis.causes}
    return tuple(
        anomaly
        if (hosts[anomaly.process or ""], anomaly.cause) in found
        else replace(anomaly, explained_ns=0.0)
        for anomaly in explaining(tuple(_anomalies(members)), causes)
    )


def _anomalies(members: Sequence[Member]) -> Iterator[Anomaly]:
    """Each resource of a device of a machine once, as the process that has it worst sees it."""
    placed = [
        (place, each.host, replace(anomaly, process=each.process))
        for each in members
        for place, anomaly in enumerate(each.diagnosis.anomalies)
    ]
    # The order within a process also says what comes of what.
    placed.sort(key=lambda each: (each[0], -each[2].severity))
    seen = set()
    for _, host, anomaly in placed:
        key = host, anomaly.cause, anomaly.device
        if key not in seen:
            seen.add(key)
            yield anomaly


def _symptoms(members: Sequence[Member]) -> Iterator[Symptom]:
    seen = set()
    for each in members:
        for symptom in each.diagnosis.symptoms:
            key = each.host, symptom.device, symptom.metric
            if key not in seen:
                seen.add(key)
                yield replace(symptom, process=each.process)
