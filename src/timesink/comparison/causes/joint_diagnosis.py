"""Why cycles changed, of several processes read together.

Processes that work together wait for each other: a collective lasts as long as the last one takes
to arrive.  What holds up one of them holds up all, and shows as waiting in the others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from statistics import fmean, median

import msgspec
import numpy as np
from msgspec.structs import replace

from timesink.analyses.columns import memoize_per_trace
from timesink.analyses.statistics.significance import false_discovery
from timesink.analyses.statistics.student_t import Z95, normal_p
from timesink.analyses.thresholds import SignificanceLimits
from timesink.comparison.causes.case import largest_first, relative_closeness
from timesink.comparison.causes.diagnosis import (
    beyond_expected,
    change_ns,
    diagnose,
    explain_anomalies,
)
from timesink.comparison.rank_changes import with_stragglers
from timesink.comparison.results import Comparison, Pair
from timesink.comparison.thresholds import JointDiagnosisLimits
from timesink.model import units
from timesink.model.diagnosis import (
    Component,
    CycleTime,
    Diagnosis,
    ProgramChange,
    SteadyTimes,
    StepTimeTest,
)
from timesink.model.findings import Anomaly, Cause, Evidence, Interval, Symptom
from timesink.model.intervals import Floats
from timesink.model.units import brief_ns, join_names
from timesink.rules.register import make_cause

WAITS = ("exposed_communication", "synchronisation", "idle", "host_cpu")
"""Where a process waits for others: in a collective, or wherever its host waits for one."""
_LINKS = frozenset({"nvlink_contention", "network"})
_VERDICT_WORDS = {"regression": "longer", "improvement": "shorter"}
_TOGETHER = frozenset({"exposed_communication", "synchronisation"})


class ProcessDiagnosis(msgspec.Struct, frozen=True, eq=False):
    """One process among those read together."""

    process: str
    diagnosis: Diagnosis
    host: str | None = None


@memoize_per_trace
def diagnose_comparison(comparison: Comparison) -> Diagnosis | None:
    """Why runs differ, all pairs read together; None where processes were only distinguished."""
    if not comparison.pairs:
        return None
    diagnoses = [diagnose(pair) for pair in comparison.pairs]
    diagnosis, expected = diagnoses[0], comparison.pairs[0].expected
    if len(diagnoses) > 1:
        diagnosis = diagnose_together([pair.whole for pair in comparison.pairs], diagnoses)
        if expected is not None:
            causes = beyond_expected(diagnosis.causes, diagnosis.anomalies, expected)
            diagnosis = replace(diagnosis, causes=causes, expected=expected)
    if comparison.ranks is None:
        return diagnosis
    return with_stragglers(diagnosis, comparison.ranks, of_all=comparison.has_all_ranks)


def cases_of(comparison: Comparison) -> tuple[Comparison, ...]:
    """Each program and step type for itself, with the pairs of all its ranks."""
    titles = {(pair.identifier, pair.suffix) for pair in comparison.pairs}
    return (comparison,) if len(titles) == 1 else _each_case(comparison)


@memoize_per_trace
def _each_case(comparison: Comparison) -> tuple[Comparison, ...]:
    pairs_by_title: dict[tuple[str, str], list[Pair]] = {}
    for pair in comparison.pairs:
        pairs_by_title.setdefault((pair.identifier, pair.suffix), []).append(pair)
    return tuple(
        dataclasses.replace(comparison, pairs=tuple(pairs)) for pairs in pairs_by_title.values()
    )


def diagnose_together(pairs: Sequence[Pair], diagnoses: Sequence[Diagnosis] = ()) -> Diagnosis:
    """One diagnosis of all pairs; there is one at least.  `diagnoses` are theirs, if already made.

    Amounts are means over the processes.  What only some of them have explains what all lose by it.
    """
    diagnoses = diagnoses or [diagnose(pair) for pair in pairs]
    if len(pairs) == 1:
        return diagnoses[0]
    members = [
        ProcessDiagnosis(process_name(pair), diagnosis, pair.new.host)
        for pair, diagnosis in zip(pairs, diagnoses, strict=True)
    ]
    comparable = [
        member for member in members if member.diagnosis.verdict != "incomparable"
    ] or members
    parts = _mean_components(comparable)
    judged = judge_together(comparable)
    change = change_ns(parts, judged.cycle_time)
    merged = merged_causes(comparable, change)
    late = stragglers(comparable, merged, change)
    symptoms: dict[tuple[str | None, str, str], Symptom] = {}
    for process_diagnosis in members:
        for symptom in process_diagnosis.diagnosis.symptoms:
            process_symptom = replace(symptom, process=process_diagnosis.process)
            symptoms.setdefault(
                (process_diagnosis.host, process_symptom.device, process_symptom.metric),
                process_symptom,
            )
    program = _program(members)
    edited = {edit.cause for edit in program.edits} if program is not None else set()
    causes = tuple(
        sorted([*merged, *late], key=lambda cause: (cause.id not in edited, -abs(cause.cost_ns)))
    )
    # Anomalies with what they explain; devices of two machines may have the same name.
    hosts = {member.process: member.host for member in members}
    host_causes = {
        (member.host, cause.id) for member in members for cause in member.diagnosis.causes
    }
    return Diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        attribution=parts,
        anomalies=tuple(
            anomaly
            if (hosts[anomaly.process or ""], anomaly.id) in host_causes
            else replace(anomaly, cost_ns=0.0)
            for anomaly in explain_anomalies(_anomalies(members), causes)
        ),
        causes=causes,
        unexplained_ns=change - sum(cause.cost_ns for cause in causes),
        unexplained=waits_left(parts, causes),
        program=program,
        symptoms=tuple(symptoms.values()),
        notes=tuple(dict.fromkeys(note for member in members for note in member.diagnosis.notes)),
    )


def _program(members: Sequence[ProcessDiagnosis]) -> ProgramChange | None:
    """What the program does otherwise: that of the process in which most changed."""
    changes = [
        member.diagnosis.program for member in members if member.diagnosis.program is not None
    ]
    return max(changes, key=lambda change: len(change.edits), default=None)


def process_name(pair: Pair) -> str:
    """What the process of a pair is called: `rank 3`, `pid 923228`."""
    rank = pair.new.rank if pair.new.rank is not None else pair.base.rank
    return f"pid {pair.new.pid}" if rank is None else f"rank {rank}"


# -- one verdict on several processes --------------------------------------------------------------


def judge_together(members: Sequence[ProcessDiagnosis]) -> StepTimeTest:
    """The verdict on several processes, of which each was tested for itself.

    With many of them one differs by chance, so what counts is what is left after Benjamini and
    Hochberg: if that got longer, it is a regression, however many of the others did not.
    """
    times = [member.diagnosis.cycle_time for member in members]
    chances = [np.nan if cycle_time.p_value is None else cycle_time.p_value for cycle_time in times]
    corrected = false_discovery(np.array(chances, dtype=np.float64))
    changed = {
        verdict: [
            place
            for place, member in enumerate(members)
            if member.diagnosis.verdict == verdict
            and not corrected[place] >= SignificanceLimits.alpha
        ]
        for verdict in _VERDICT_WORDS
    }
    base, new = _means(times)
    verdict, p = _verdict(members, times, corrected, changed)
    change = None
    if base and any(cycle_time.change_pct is not None for cycle_time in times):
        change = 100 * (new - base) / base
    interval = _interval(times, verdict, changed)
    steady = _steady(times, verdict, changed)
    return StepTimeTest(
        verdict,
        _reason(members, verdict, changed, (base, new)),
        CycleTime(base, new, change, interval, p, steady),
    )


_Changed = Mapping[str, Sequence[int]]
"""Which processes certainly got longer, and which shorter."""


def _means(times: Sequence[CycleTime]) -> tuple[float, float]:
    return fmean(cycle_time.base_ns for cycle_time in times), fmean(
        cycle_time.new_ns for cycle_time in times
    )


def _verdict(
    members: Sequence[ProcessDiagnosis], times: Sequence[CycleTime], p: Floats, changed: _Changed
) -> tuple[str, float | None]:
    """The verdict, and how likely it is by chance."""

    def lowest(p: Floats) -> float | None:
        finite = p[~np.isnan(p)]
        return float(finite.min()) if len(finite) else None

    if {member.diagnosis.verdict for member in members} == {"incomparable"}:
        return "incomparable", lowest(p)
    base, new = _means(times)
    longer, shorter = changed["regression"], changed["improvement"]
    if longer and shorter:
        # What the mean of all says.
        low, high = _ends(times, range(len(times)))
        chance = normal_p(abs(new - base) / (max(high - low, 1e-9) / 2) * Z95)
        moved = "regression" if new > base else "improvement"
        return "no_change" if chance >= SignificanceLimits.alpha else moved, chance
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
    if not base or not any(cycle_time.interval_pct is not None for cycle_time in times):
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
    if not any(cycle_time.steady is not None for cycle_time in times):
        return None
    tested = [
        cycle_time
        if (steady := cycle_time.steady) is None
        else CycleTime(
            steady.base_ns,
            steady.new_ns,
            steady.change_pct,
            steady.interval_pct,
            cycle_time.p_value,
        )
        for cycle_time in times
    ]
    base, new = _means(tested)
    bounds = _interval(tested, verdict, changed)
    ends = None if bounds is None else (bounds[0] * base / 100, bounds[1] * base / 100)
    return SteadyTimes(base, new, ends)


def _ends(times: Sequence[CycleTime], uncertain: Sequence[int]) -> tuple[float, float]:
    """Mean of the ends of the intervals, in ns; of all but `uncertain` ones the measured change."""
    ends = []
    for place, cycle_time in enumerate(times):
        if cycle_time.interval_pct is None or place not in uncertain:
            ends.append(
                (cycle_time.new_ns - cycle_time.base_ns, cycle_time.new_ns - cycle_time.base_ns)
            )
        else:
            low, high = cycle_time.interval_pct
            ends.append((low * cycle_time.base_ns / 100, high * cycle_time.base_ns / 100))
    return fmean(low for low, _ in ends), fmean(high for _, high in ends)


def _reason(
    members: Sequence[ProcessDiagnosis], verdict: str, changed: _Changed, means: tuple[float, float]
) -> str:
    if verdict == "incomparable":
        return members[0].diagnosis.reason
    took, many = f"{units.times(*means)} on average ({units.change(*means)})", len(members)
    every = "Both processes" if many == 2 else f"All {many} processes"
    clauses = []
    for kind, word in _VERDICT_WORDS.items():
        names = [members[place].process for place in changed[kind]]
        if len(names) == many:
            clauses.append(f"{every} have {word} steps")
        elif names:
            have = "has" if len(names) == 1 else "have"
            who = f"{len(names)} of {many} processes ({units.join_names(names)})"
            clauses.append(f"{who} {have} {word} steps")
    if not clauses:
        return f"No change in step time of {every[0].lower()}{every[1:]}, within noise: {took}."
    but = "; in the mean that is no change" if verdict == "no_change" else ""
    return f"{' and '.join(clauses)}{but}: {took}."


def _mean_components(members: Sequence[ProcessDiagnosis]) -> tuple[Component, ...]:
    """Means over processes; one that does not have a component takes no time for it."""
    process_parts = [
        {part.name: part for part in member.diagnosis.attribution} for member in members
    ]
    means = []
    for name in dict.fromkeys(name for parts in process_parts for name in parts):
        there = [parts[name] for parts in process_parts if name in parts]
        share = len(there) / len(process_parts)
        ends = [part.interval_ns for part in there if part.interval_ns is not None]
        same = [part.same_launches_ns for part in there if part.same_launches_ns is not None]
        low_high = [share * fmean(side) for side in zip(*ends, strict=True)]
        means.append(
            replace(
                there[0],
                base_ns=fsum(part.base_ns for part in there) / len(process_parts),
                new_ns=fsum(part.new_ns for part in there) / len(process_parts),
                interval_ns=(low_high[0], low_high[1]) if len(ends) == len(there) else None,
                p_value=None,
                same_launches_ns=share * fmean(same) if same else None,
            )
        )
    return tuple(sorted(means, key=lambda part: -abs(part.delta_ns)))


def _anomalies(members: Sequence[ProcessDiagnosis]) -> tuple[Anomaly, ...]:
    """Each resource of a device of a machine once, as the process that has it worst sees it."""
    placed = [
        (place, member.host, replace(anomaly, process=member.process))
        for member in members
        for place, anomaly in enumerate(member.diagnosis.anomalies)
    ]
    # The order within a process also says what comes of what.
    placed.sort(key=lambda entry: (entry[0], -entry[2].share))
    once: dict[tuple[str | None, str, str], Anomaly] = {}
    for _, host, anomaly in placed:
        once.setdefault((host, anomaly.id, anomaly.device), anomaly)
    return tuple(once.values())


# -- causes of several as causes of all ------------------------------------------------------------


def merged_causes(members: Sequence[ProcessDiagnosis], change_ns: float) -> list[Cause]:
    """Each cause once, with the processes that have it."""
    groups: dict[tuple[str, ...], list[Cause]] = {}
    for member in members:
        causes_by_key: dict[tuple[str, ...], list[Cause]] = {}
        for cause in member.diagnosis.causes:
            key: tuple[str, ...] = (cause.id,)
            if cause.evidence and cause.id == "host_code":
                # Code of the host is the same one in the same function.
                key = (cause.id, cause.evidence[0].kind, cause.evidence[0].function or "")
            causes_by_key.setdefault(key, []).append(replace(cause, process=member.process))
        for key, causes in causes_by_key.items():
            groups.setdefault(key, []).append(_sum_causes(causes))
    # What collectives gained for the process that waits least in them: that is no waiting. The
    # others wait for it, and who that is changes from run to run.
    talking = [
        [part for part in member.diagnosis.attribution if part.part == "exposed_communication"]
        for member in members
    ]
    base = min(sum(part.base_ns for part in parts) for parts in talking)
    new = min(sum(part.new_ns for part in parts) for parts in talking)
    link_ns = max(0.0, new - base)
    merged = [_merge_causes(group, len(members), change_ns) for group in groups.values()]
    # A link explains what a transfer gained, and not what others wait for it.
    capped = [
        _scale_cause(cause, min(cause.cost_ns, link_ns)) if cause.id in _LINKS else cause
        for cause in merged
    ]
    return [cause for cause in capped if cause.cost_ns]


def _sum_causes(causes: list[Cause]) -> Cause:
    """Several causes of one sort that a process has, as one: most time first."""
    first, *rest = sorted(causes, key=lambda cause: -abs(cause.cost_ns))
    if not rest:
        return first
    claims: dict[str, float] = {}
    for name, ns in (claim for cause in causes for claim in cause.claims):
        claims[name] = claims.get(name, 0.0) + ns
    ends = [cause.interval_ns for cause in causes if cause.interval_ns is not None]
    has_intervals = len(ends) == len(causes)
    more = sum(cause.cost_ns for cause in rest)
    many = f"{len(rest)} more add"
    what = "One more change of this kind adds" if len(rest) == 1 else many
    return replace(
        first,
        cost_ns=first.cost_ns + more,
        interval_ns=(sum(low for low, _ in ends), sum(high for _, high in ends))
        if has_intervals
        else None,
        sentence=f"{first.sentence} {what} {units.signed_ns(more)} per step.",
        evidence=tuple(proof for cause in (first, *rest) for proof in cause.evidence),
        claims=largest_first(claims),
    )


def _merge_causes(group: list[Cause], processes: int, change_ns: float) -> Cause:
    """What all have is meant as it is on average; what some have holds up all as it does them."""
    worst = max(group, key=lambda cause: abs(cause.cost_ns))
    if len(group) >= processes:
        ns = fmean(cause.cost_ns for cause in group)
        return _scale_cause(replace(worst, process=None), ns)
    names = list(dict.fromkeys(cause.process or "" for cause in group))
    who = join_names(names)
    process_cause = replace(worst, process=who, sentence=f"{who.capitalize()}: {worst.sentence}")
    # Others may have waited there anyway: no more is lost than cycles gained.
    return _scale_cause(
        process_cause, relative_closeness(change_ns, worst.cost_ns) or worst.cost_ns
    )


def _scale_cause(cause: Cause, ns: float) -> Cause:
    share = ns / cause.cost_ns if cause.cost_ns else 0.0
    ends = sorted(end * share for end in cause.interval_ns or ())
    return replace(
        cause,
        cost_ns=ns,
        interval_ns=(ends[0], ends[1]) if ends else None,
        claims=tuple((name, share * part) for name, part in cause.claims),
    )


def waits_left(
    parts: Sequence[Component], causes: Sequence[Cause]
) -> tuple[tuple[str, float], ...]:
    """What of the mean change of each component no cause explains, largest first.

    A cause that one process has shows as waiting in the others.
    """
    left = {part.name: part.delta_ns for part in parts}
    for cause in causes:
        missing = 0.0
        for name, ns in cause.claims:
            explained_ns = relative_closeness(left.get(name, 0.0), ns)
            left[name] = left.get(name, 0.0) - explained_ns
            missing += ns - explained_ns
        for name in WAITS:
            explained_ns = relative_closeness(left.get(name, 0.0), missing)
            left[name] = left.get(name, 0.0) - explained_ns
            missing -= explained_ns
        if cause.claims:
            first = cause.claims[0][0]
            left[first] = left.get(first, 0.0) - missing
    return largest_first(left)


def stragglers(
    members: Sequence[ProcessDiagnosis], causes: Sequence[Cause], change_ns: float
) -> Iterator[Cause]:
    """The process whose own work gained far more than that of the others, who wait for it."""
    if len(members) < JointDiagnosisLimits.min_processes or change_ns <= 0:
        return
    rises = [_rise(member, waiting=False) for member in members]
    last = max(range(len(rises)), key=lambda number: rises[number])
    other_members = [member for place, member in enumerate(members) if place != last]
    beyond = rises[last] - median(rises)
    waiting = median(_rise(member, waiting=True) for member in other_members)
    cycle_ns = members[last].diagnosis.cycle_time.base_ns
    least = max(
        JointDiagnosisLimits.min_share * cycle_ns,
        JointDiagnosisLimits.min_share_explained * change_ns,
    )
    name = members[last].process
    # Causes that only this process has may explain most of it.
    explained_ns = sum(cause.cost_ns for cause in causes if cause.process == name)
    if (
        beyond < least
        or waiting < least
        or explained_ns >= JointDiagnosisLimits.min_share_explained * beyond
    ):
        return
    ns = min(beyond, change_ns)
    yield make_cause(
        "straggler",
        f"{name.capitalize()} works {brief_ns(beyond)} per step longer than before; the others "
        f"wait {brief_ns(waiting)} longer for it in their collectives.",
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
