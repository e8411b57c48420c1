"""Why cycles changed, of several processes read together.

Processes that work together wait for each other: a collective lasts as long as the last one takes
to arrive.  What holds up one of them holds up all, and shows as waiting in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, median

from timesink.analyses.comparison.pair import Pair
from timesink.model.diagnosis import Component, Diagnosis
from timesink.model.findings import Evidence, Finding
from timesink.model.units import brief_ns, listed
from timesink.rules.diagnosis import change_ns, diagnose, explaining
from timesink.rules.judgement import ProcessDiagnosis, judge_together
from timesink.rules.ledger import largest_first, within
from timesink.rules.registry import finding

WAITS = ("exposed_communication", "synchronisation", "idle", "host_cpu")
"""Where a process waits for others: in a collective, or wherever its host waits for one."""
_LINKS = frozenset({"nvlink_contention", "network"})
_FEWEST = 3
"""Processes that are needed to tell the one that is not like the others."""
_LEAST_SHARE = 0.01
_MOST_OF_IT = 0.5
_TOGETHER = frozenset({"exposed_communication", "synchronisation"})


def diagnose_together(pairs: Sequence[Pair], own: Sequence[Diagnosis] = ()) -> Diagnosis:
    """One diagnosis of all pairs; there is one at least.  `own` are theirs, where known already.

    Amounts are means over the processes.  What only some of them have explains what all lose by it.
    """
    own = own or [diagnose(pair) for pair in pairs]
    if len(pairs) == 1:
        return own[0]
    members = [
        ProcessDiagnosis(process_name(pair), one, pair.new.host)
        for pair, one in zip(pairs, own, strict=True)
    ]
    known = [one for one in members if one.diagnosis.verdict != "incomparable"] or members
    parts = _mean_components(known)
    judged = judge_together(known)
    change = change_ns(parts, judged.cycle_time)
    merged = merged_causes(known, change)
    late = stragglers(known, merged, change)
    symptoms: dict[tuple[str | None, str, str], Finding] = {}
    for one in members:
        for each in one.diagnosis.symptoms:
            told = replace(each, process=one.process)
            symptoms.setdefault((one.host, told.device, told.metric), told)
    causes = tuple(sorted([*merged, *late], key=lambda one: -abs(one.cost_ns)))
    return Diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        attribution=parts,
        anomalies=_explaining(members, causes),
        causes=causes,
        unexplained_ns=change - sum(cause.cost_ns for cause in causes),
        unexplained=waits_left(parts, causes),
        symptoms=tuple(symptoms.values()),
        notes=tuple(dict.fromkeys(note for each in members for note in each.diagnosis.notes)),
    )


def process_name(pair: Pair) -> str:
    """What the process of a pair is called: `rank 3`, `pid 923228`."""
    rank = pair.new.rank if pair.new.rank is not None else pair.base.rank
    return f"pid {pair.new.pid}" if rank is None else f"rank {rank}"


# -- components ------------------------------------------------------------------------------------


def _mean_components(members: Sequence[ProcessDiagnosis]) -> tuple[Component, ...]:
    found = [{part.name: part for part in each.diagnosis.attribution} for each in members]
    names = dict.fromkeys(name for each in found for name in each)
    means = [_mean_component([each.get(name) for each in found]) for name in names]
    return tuple(sorted(means, key=lambda part: -abs(part.delta_ns)))


def _mean_component(parts: list[Component | None]) -> Component:
    """The mean over processes; one that does not have it takes no time for it."""
    there = [part for part in parts if part is not None]
    share = len(there) / len(parts)
    ends = [part.interval_ns for part in there if part.interval_ns is not None]
    same = [part.same_launches_ns for part in there if part.same_launches_ns is not None]
    interval = None
    if len(ends) == len(there):
        interval = share * fmean(low for low, _ in ends), share * fmean(high for _, high in ends)
    return replace(
        there[0],
        base_ns=fmean(0.0 if part is None else part.base_ns for part in parts),
        new_ns=fmean(0.0 if part is None else part.new_ns for part in parts),
        interval_ns=interval,
        p_value=None,
        same_launches_ns=share * fmean(same) if same else None,
    )


# -- lists -----------------------------------------------------------------------------------------


def _explaining(
    members: Sequence[ProcessDiagnosis], causes: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Anomalies with what they explain; devices of two machines may have the same name."""
    hosts = {each.process: each.host for each in members}
    found = {(each.host, cause.cause) for each in members for cause in each.diagnosis.causes}
    return tuple(
        anomaly
        if (hosts[anomaly.process or ""], anomaly.cause) in found
        else replace(anomaly, cost_ns=0.0)
        for anomaly in explaining(_anomalies(members), causes)
    )


def _anomalies(members: Sequence[ProcessDiagnosis]) -> tuple[Finding, ...]:
    """Each resource of a device of a machine once, as the process that has it worst sees it."""
    placed = [
        (place, each.host, replace(anomaly, process=each.process))
        for each in members
        for place, anomaly in enumerate(each.diagnosis.anomalies)
    ]
    # The order within a process also says what comes of what.
    placed.sort(key=lambda each: (each[0], -each[2].share))
    once: dict[tuple[str | None, str, str], Finding] = {}
    for _, host, anomaly in placed:
        once.setdefault((host, anomaly.id, anomaly.device), anomaly)
    return tuple(once.values())


# -- causes of several as causes of all ------------------------------------------------------------


def merged_causes(members: Sequence[ProcessDiagnosis], change_ns: float) -> list[Finding]:
    """Each cause once, with the processes that have it."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for each in members:
        own: dict[tuple[str, ...], list[Finding]] = {}
        for cause in each.diagnosis.causes:
            own.setdefault(_key(cause), []).append(replace(cause, process=each.process))
        for key, causes in own.items():
            groups.setdefault(key, []).append(_summed(causes))
    link_ns = _transfer_rise(members)
    merged = [_merged(group, len(members), change_ns) for group in groups.values()]
    # A link explains what a transfer gained, and not what others wait for it.
    capped = [
        _scaled(cause, min(cause.cost_ns, link_ns)) if cause.cause in _LINKS else cause
        for cause in merged
    ]
    return [cause for cause in capped if cause.cost_ns]


def _key(cause: Finding) -> tuple[str, ...]:
    """What makes causes of two processes the same one."""
    first = cause.evidence[0] if cause.evidence else None
    if first is None or cause.cause != "host_code":
        return (cause.cause,)
    return cause.cause, first.kind, first.function or ""


def _summed(causes: list[Finding]) -> Finding:
    """Several causes of one sort that a process has, as one: most time first."""
    first, *others = sorted(causes, key=lambda each: -abs(each.cost_ns))
    if not others:
        return first
    claims: dict[str, float] = {}
    for name, ns in (claim for each in causes for claim in each.claims):
        claims[name] = claims.get(name, 0.0) + ns
    ends = [each.interval_ns for each in causes if each.interval_ns is not None]
    known = len(ends) == len(causes)
    more = sum(each.cost_ns for each in others)
    many = f"{len(others)} more add"
    what = "One more change of this sort adds" if len(others) == 1 else many
    return replace(
        first,
        cost_ns=first.cost_ns + more,
        interval_ns=(sum(low for low, _ in ends), sum(high for _, high in ends)) if known else None,
        sentence=f"{first.sentence} {what} {'-' if more < 0 else '+'}{brief_ns(abs(more))} "
        "per cycle.",
        evidence=tuple(proof for each in (first, *others) for proof in each.evidence),
        claims=largest_first(claims),
    )


def _transfer_rise(members: Sequence[ProcessDiagnosis]) -> float:
    """What collectives gained for the process that waits least in them: that is no waiting.

    The others wait for it, and who that is changes from run to run.
    """
    talking = [
        [part for part in each.diagnosis.attribution if part.part == "exposed_communication"]
        for each in members
    ]
    base = min(sum(part.base_ns for part in parts) for parts in talking)
    new = min(sum(part.new_ns for part in parts) for parts in talking)
    return max(0.0, new - base)


def _merged(group: list[Finding], processes: int, change_ns: float) -> Finding:
    """What all have is meant as it is on average; what some have holds up all as it does them."""
    worst = max(group, key=lambda each: abs(each.cost_ns))
    if len(group) >= processes:
        ns = fmean(each.cost_ns for each in group)
        return _scaled(replace(worst, process=None), ns)
    names = list(dict.fromkeys(each.process or "" for each in group))
    who = listed(names)
    told = replace(worst, process=who, sentence=f"{who.capitalize()}: {worst.sentence}")
    # Others may have waited there anyway: no more is lost than cycles gained.
    return _scaled(told, within(change_ns, worst.cost_ns) or worst.cost_ns)


def _scaled(cause: Finding, ns: float) -> Finding:
    share = ns / cause.cost_ns if cause.cost_ns else 0.0
    ends = sorted(end * share for end in cause.interval_ns or ())
    return replace(
        cause,
        cost_ns=ns,
        interval_ns=(ends[0], ends[1]) if ends else None,
        claims=tuple((name, share * part) for name, part in cause.claims),
    )


def waits_left(
    parts: Sequence[Component], causes: Sequence[Finding]
) -> tuple[tuple[str, float], ...]:
    """What of the mean change of each component no cause explains, largest first.

    A cause that one process has shows as waiting in the others.
    """
    left = {part.name: part.delta_ns for part in parts}
    for cause in causes:
        missing = 0.0
        for name, ns in cause.claims:
            found = within(left.get(name, 0.0), ns)
            left[name] = left.get(name, 0.0) - found
            missing += ns - found
        for name in WAITS:
            found = within(left.get(name, 0.0), missing)
            left[name] = left.get(name, 0.0) - found
            missing -= found
        if cause.claims:
            first = cause.claims[0][0]
            left[first] = left.get(first, 0.0) - missing
    return largest_first(left)


# -- a process that the others wait for ------------------------------------------------------------


def stragglers(
    members: Sequence[ProcessDiagnosis], causes: Sequence[Finding], change_ns: float
) -> Iterator[Finding]:
    """The process whose own work gained far more than that of the others, who wait for it."""
    if len(members) < _FEWEST or change_ns <= 0:
        return
    own = [_rise(each, waiting=False) for each in members]
    last = max(range(len(own)), key=lambda each: own[each])
    others = [each for place, each in enumerate(members) if place != last]
    beyond = own[last] - median(own)
    waiting = median(_rise(each, waiting=True) for each in others)
    cycle_ns = members[last].diagnosis.cycle_time.base_ns
    least = max(_LEAST_SHARE * cycle_ns, _MOST_OF_IT * change_ns)
    name = members[last].process
    # Causes that only this process has may explain most of it.
    known = sum(each.cost_ns for each in causes if each.process == name)
    if beyond < least or waiting < least or known >= _MOST_OF_IT * beyond:
        return
    ns = min(beyond, change_ns)
    yield finding(
        "causes",
        "straggler",
        f"{name.capitalize()} works {brief_ns(beyond)} per cycle longer than before and than the "
        f"others do, who wait {brief_ns(waiting)} longer in their collectives.",
        {"process": name},
        cost_ns=ns,
        evidence=(Evidence("cycle", f"{name} arrives last", base=0.0, new=beyond, unit="ns"),),
        claims=(("exposed_communication", ns),),
        process=name,
    )


def _rise(member: ProcessDiagnosis, *, waiting: bool) -> float:
    """What waiting for others gained in a process, or all else."""
    parts = member.diagnosis.attribution
    return sum(part.delta_ns for part in parts if (part.part in _TOGETHER) == waiting)
