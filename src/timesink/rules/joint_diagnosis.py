"""Why cycles changed, of several processes read together.

Processes that work together wait for each other: a collective lasts as long as the last one takes
to arrive.  What holds up one of them holds up all, and shows as waiting in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import erfc, fsum, sqrt
from statistics import fmean, median

import numpy as np

from timesink.analyses.comparison import Pair
from timesink.analyses.statistics import ALPHA, false_discovery
from timesink.model import units
from timesink.model.diagnosis import (
    Component,
    CycleJudgement,
    CycleTime,
    Diagnosis,
    ProgramChange,
    SteadyTimes,
)
from timesink.model.findings import Evidence, Finding, Interval
from timesink.model.intervals import Floats
from timesink.model.units import brief_ns, listed
from timesink.rules import finding
from timesink.rules.case import largest_first, within
from timesink.rules.diagnosis import change_ns, diagnose, explaining

WAITS = ("exposed_communication", "synchronisation", "idle", "host_cpu")
"""Where a process waits for others: in a collective, or wherever its host waits for one."""
_LINKS = frozenset({"nvlink_contention", "network"})
_FEWEST = 3
"""Processes that are needed to tell the one that is not like the others."""
_LEAST_SHARE = 0.01
_MOST_OF_IT = 0.5
_Z95 = 1.96
_TOLD = {"regression": "longer", "improvement": "shorter"}
_TOGETHER = frozenset({"exposed_communication", "synchronisation"})


@dataclass(frozen=True, slots=True, eq=False)
class ProcessDiagnosis:
    """One process among those read together."""

    process: str
    diagnosis: Diagnosis
    host: str | None = None


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
    program = _program(members)
    edited = {edit.cause for edit in program.edits} if program is not None else set()
    causes = tuple(
        sorted([*merged, *late], key=lambda one: (one.cause not in edited, -abs(one.cost_ns)))
    )
    # Anomalies with what they explain; devices of two machines may have the same name.
    hosts = {each.process: each.host for each in members}
    found = {(each.host, cause.cause) for each in members for cause in each.diagnosis.causes}
    return Diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        attribution=parts,
        anomalies=tuple(
            anomaly
            if (hosts[anomaly.process or ""], anomaly.cause) in found
            else replace(anomaly, cost_ns=0.0)
            for anomaly in explaining(_anomalies(members), causes)
        ),
        causes=causes,
        unexplained_ns=change - sum(cause.cost_ns for cause in causes),
        unexplained=waits_left(parts, causes),
        program=program,
        symptoms=tuple(symptoms.values()),
        notes=tuple(dict.fromkeys(note for each in members for note in each.diagnosis.notes)),
    )


def _program(members: Sequence[ProcessDiagnosis]) -> ProgramChange | None:
    """What the program does otherwise: that of the process in which most changed."""
    known = [one.diagnosis.program for one in members if one.diagnosis.program is not None]
    return max(known, key=lambda one: len(one.edits), default=None)


def process_name(pair: Pair) -> str:
    """What the process of a pair is called: `rank 3`, `pid 923228`."""
    rank = pair.new.rank if pair.new.rank is not None else pair.base.rank
    return f"pid {pair.new.pid}" if rank is None else f"rank {rank}"


# -- one verdict on several processes --------------------------------------------------------------


def judge_together(members: Sequence[ProcessDiagnosis]) -> CycleJudgement:
    """The verdict on several processes, of which each was tested for itself.

    With many of them one differs by chance, so what counts is what is left after Benjamini and
    Hochberg: if that got longer, it is a regression, however many of the others did not.
    """
    times = [each.diagnosis.cycle_time for each in members]
    chances = [np.nan if each.p_value is None else each.p_value for each in times]
    corrected = false_discovery(np.array(chances, dtype=np.float64))
    changed = {
        verdict: [
            place
            for place, each in enumerate(members)
            if each.diagnosis.verdict == verdict and not corrected[place] >= ALPHA
        ]
        for verdict in _TOLD
    }
    base, new = _means(times)
    verdict, p = _verdict(members, times, corrected, changed)
    change = None
    if base and any(each.change_pct is not None for each in times):
        change = 100 * (new - base) / base
    interval = _interval(times, verdict, changed)
    steady = _steady(times, verdict, changed)
    return CycleJudgement(
        verdict,
        _reason(members, verdict, changed, (base, new)),
        CycleTime(base, new, change, interval, p, steady),
    )


_Changed = Mapping[str, Sequence[int]]
"""Which processes certainly got longer, and which shorter."""


def _means(times: Sequence[CycleTime]) -> tuple[float, float]:
    return fmean(each.base_ns for each in times), fmean(each.new_ns for each in times)


def _verdict(
    members: Sequence[ProcessDiagnosis], times: Sequence[CycleTime], p: Floats, changed: _Changed
) -> tuple[str, float | None]:
    """The verdict, and how likely it is by chance."""

    def lowest(p: Floats) -> float | None:
        known = p[~np.isnan(p)]
        return float(known.min()) if len(known) else None

    if {each.diagnosis.verdict for each in members} == {"incomparable"}:
        return "incomparable", lowest(p)
    base, new = _means(times)
    longer, shorter = changed["regression"], changed["improvement"]
    if longer and shorter:
        # What the mean of all says.
        low, high = _ends(times, range(len(times)))
        chance = erfc(abs(new - base) / (max(high - low, 1e-9) / 2) * _Z95 / sqrt(2))
        moved = "regression" if new > base else "improvement"
        return "no_change" if chance >= ALPHA else moved, chance
    if longer and new > base:
        return "regression", lowest(p[longer])
    if shorter and new < base:
        return "improvement", lowest(p[shorter])
    # Some changed, and the others by more in the other direction, which may be noise.
    return "no_change", 1.0 if longer or shorter else lowest(p)


def _interval(times: Sequence[CycleTime], verdict: str, changed: _Changed) -> Interval | None:
    """95 % interval of the change of the mean over processes, in percent.

    Processes that wait for each other measure the same thing: together they know no more than one.
    Where the verdict is that of some of them, the others count as they were measured.
    """
    base, new = _means(times)
    if not base or not any(each.interval_pct is not None for each in times):
        return None
    low, high = _ends(times, range(len(times)))
    if verdict in changed and low <= 0 <= high:
        low, high = _ends(times, [place for places in changed.values() for place in places])
    low, high = min(low, new - base), max(high, new - base)
    if verdict == "no_change":
        low, high = min(low, 0.0), max(high, 0.0)
    return 100 * low / base, 100 * high / base


def _steady(times: Sequence[CycleTime], verdict: str, changed: _Changed) -> SteadyTimes | None:
    """Means over processes of what was tested in each; of one that was not, of all its cycles."""
    if not any(each.steady is not None for each in times):
        return None
    tested = [
        one
        if (known := one.steady) is None
        else CycleTime(
            known.base_ns, known.new_ns, known.change_pct, known.interval_pct, one.p_value
        )
        for one in times
    ]
    base, new = _means(tested)
    bounds = _interval(tested, verdict, changed)
    ends = None if bounds is None else (bounds[0] * base / 100, bounds[1] * base / 100)
    return SteadyTimes(base, new, ends)


def _ends(times: Sequence[CycleTime], uncertain: Sequence[int]) -> tuple[float, float]:
    """Mean of the ends of the intervals, in ns; of all but `uncertain` ones the measured change."""
    ends = []
    for place, each in enumerate(times):
        if each.interval_pct is None or place not in uncertain:
            ends.append((each.new_ns - each.base_ns, each.new_ns - each.base_ns))
        else:
            low, high = each.interval_pct
            ends.append((low * each.base_ns / 100, high * each.base_ns / 100))
    return fmean(low for low, _ in ends), fmean(high for _, high in ends)


def _reason(
    members: Sequence[ProcessDiagnosis], verdict: str, changed: _Changed, means: tuple[float, float]
) -> str:
    if verdict == "incomparable":
        return members[0].diagnosis.reason
    took, many = f"{units.times(*means)} on average ({units.change(*means)})", len(members)
    every = "Both processes" if many == 2 else f"All {many} processes"
    told = []
    for kind, word in _TOLD.items():
        names = [members[place].process for place in changed[kind]]
        if len(names) == many:
            told.append(f"{every} have {word} cycles")
        elif names:
            have = "has" if len(names) == 1 else "have"
            who = f"{len(names)} of {many} processes ({units.listed(names)})"
            told.append(f"{who} {have} {word} cycles")
    if not told:
        return f"{every} have cycles that are the same within noise: {took}."
    but = "; together that is no change" if verdict == "no_change" else ""
    return f"{' and '.join(told)}{but}: {took}."


def _mean_components(members: Sequence[ProcessDiagnosis]) -> tuple[Component, ...]:
    """Means over processes; one that does not have a component takes no time for it."""
    found = [{part.name: part for part in each.diagnosis.attribution} for each in members]
    means = []
    for name in dict.fromkeys(name for each in found for name in each):
        there = [each[name] for each in found if name in each]
        share = len(there) / len(found)
        ends = [part.interval_ns for part in there if part.interval_ns is not None]
        same = [part.same_launches_ns for part in there if part.same_launches_ns is not None]
        low_high = [share * fmean(side) for side in zip(*ends, strict=True)]
        means.append(
            replace(
                there[0],
                base_ns=fsum(part.base_ns for part in there) / len(found),
                new_ns=fsum(part.new_ns for part in there) / len(found),
                interval_ns=(low_high[0], low_high[1]) if len(ends) == len(there) else None,
                p_value=None,
                same_launches_ns=share * fmean(same) if same else None,
            )
        )
    return tuple(sorted(means, key=lambda part: -abs(part.delta_ns)))


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
            key: tuple[str, ...] = (cause.cause,)
            if cause.evidence and cause.cause == "host_code":
                # Code of the host is the same one in the same function.
                key = (cause.cause, cause.evidence[0].kind, cause.evidence[0].function or "")
            own.setdefault(key, []).append(replace(cause, process=each.process))
        for key, causes in own.items():
            groups.setdefault(key, []).append(_summed(causes))
    # What collectives gained for the process that waits least in them: that is no waiting. The
    # others wait for it, and who that is changes from run to run.
    talking = [
        [part for part in each.diagnosis.attribution if part.part == "exposed_communication"]
        for each in members
    ]
    base = min(sum(part.base_ns for part in parts) for parts in talking)
    new = min(sum(part.new_ns for part in parts) for parts in talking)
    link_ns = max(0.0, new - base)
    merged = [_merged(group, len(members), change_ns) for group in groups.values()]
    # A link explains what a transfer gained, and not what others wait for it.
    capped = [
        _scaled(cause, min(cause.cost_ns, link_ns)) if cause.cause in _LINKS else cause
        for cause in merged
    ]
    return [cause for cause in capped if cause.cost_ns]


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
        sentence=f"{first.sentence} {what} {units.signed_ns(more)} per cycle.",
        evidence=tuple(proof for each in (first, *others) for proof in each.evidence),
        claims=largest_first(claims),
    )


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
