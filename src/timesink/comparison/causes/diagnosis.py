"""Whether the cycles of a pair changed, where the time went, and why; and what its programs do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from msgspec.structs import replace

from timesink.analyses.behaviour.anatomy import PARTS, Anatomy
from timesink.analyses.behaviour.summary import once_per_cycle
from timesink.analyses.columns import among, encode, memoize_per_trace, numbers
from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.moments import moments
from timesink.analyses.statistics.robust import median_and_error
from timesink.analyses.statistics.student_t import Z95, welch_interval
from timesink.comparison.causes.case import (
    Demand,
    DiagnosisCase,
    Ledger,
    case_of,
    cycle_matrices,
    family_of,
    known_interval,
    largest_first,
)
from timesink.comparison.causes.corrected_steps import judged_without_overhead
from timesink.comparison.causes.even_pace import even_paces
from timesink.comparison.causes.host import local_changes
from timesink.comparison.causes.machine import find_anomalies
from timesink.comparison.causes.matrix_units import settled_matrix_units
from timesink.comparison.causes.program_edits import call_label, edits
from timesink.comparison.causes.resources import impossible_levels
from timesink.comparison.causes.shared_device import shared_devices
from timesink.comparison.program.calls import Program
from timesink.comparison.program.edits import ProgramDifference, call_tree, difference
from timesink.comparison.results import WITHIN, Pair
from timesink.comparison.steps.recorded_events import equally_often
from timesink.comparison.steps.sides import anatomy_of_role
from timesink.comparison.steps.verdict import (
    UNEQUAL_WORK,
    compare_roles,
    cycle_change,
    judge_lengths,
    judge_plain,
)
from timesink.comparison.thresholds import DiagnosisLimits
from timesink.model import units, vendors
from timesink.model.arrays import combine_codes, group_medians
from timesink.model.diagnosis import (
    Component,
    CycleKinds,
    CycleTime,
    Diagnosis,
    Expectation,
    ProgramChange,
    SteadyTimes,
    StepTimeTest,
)
from timesink.model.findings import Anomaly, Cause
from timesink.model.fitness import COMPARISON, STEP_TIME
from timesink.model.intervals import Floats
from timesink.model.schema import HOST_DEVICE
from timesink.model.units import join_names
from timesink.rules.register import catalogue, make_cause, rules_for

_KEY = ["function", "device"]


@memoize_per_trace
def diagnose(pair: Pair) -> Diagnosis:
    """The diagnosis of a pair, of cycles put together to equal work where that was needed.

    Worked out when somebody asks: tables of numbers do not wait for it.  Of cycles that are slower
    than expected it is known that they changed, whatever they hold.
    """
    pair, expected = pair.whole, pair.expected
    judged = compare_step_times(pair)
    compared = pair.equal_work or pair
    base, new = anatomy_of_role(compared.base), anatomy_of_role(compared.new)
    # Of plain cycles alone there is nothing but their length.
    parts = attribution(compared, base, new) if compared.times.height else ()
    anomalies, symptoms = find_anomalies(compared, base, new)
    # What is not there may be what the recording lacks.
    program = None if judged.is_unfit else program_of(pair)
    judged = judged_without_overhead(judged, pair, program)
    anomalies = (*anomalies, *shared_devices(compared, (base, new), anomalies, program))
    relieved: tuple[Anomaly, ...] = ()
    if judged.verdict == "improvement":
        # What was odd about the environment of the first side and no longer is.
        turned = compare_roles(compared.new, compared.base, compared.kind)
        relieved = find_anomalies(turned, new, base)[0]
        relieved = (*relieved, *shared_devices(turned, (new, base), relieved, program))
    other_work = judged.verdict == "incomparable" and compared is pair and expected is None
    question = "other work" if other_work else "change"
    case = case_of(compared, (base, new), parts, anomalies, relieved)
    causes = causes_of_case(case, question=question, program=program)
    paces = tuple(even_paces(case, causes, program)) if question == "change" else ()
    if any(pace.device == HOST_DEVICE for pace in paces):
        # What a place explains of a host that is slower everywhere is not what happened.
        # Edits, which have no interval, stay.
        causes = tuple(
            cause for cause in causes if cause.id != "host_code" or cause.interval_ns is None
        )
    if judged.is_unfit:
        causes, paces = (), ()
    within = pair.kind == WITHIN
    if not within and pair.cycle_times.one_run and judged.verdict == "no_change":
        # Parts of one run that take as long: a loader that holds up every other cycle, or a
        # counter that is read then, is a part of the run, and nothing was changed in between.
        causes = ()
    change = change_ns(parts, judged.cycle_time)
    # Cycles that were chosen for their length need no notes on the test.
    notes = (*(() if within else judged.notes), *base.notes, *new.notes)
    if expected is not None:
        causes = beyond_expected(causes, anomalies, expected)
    return Diagnosis(
        verdict=judged.verdict,
        reason=judged.reason,
        cycle_time=judged.cycle_time,
        attribution=parts,
        anomalies=explain_anomalies(anomalies, causes),
        causes=causes,
        unexplained_ns=change - sum(cause.cost_ns for cause in causes),
        unexplained=unexplained_changes(parts, causes),
        is_unfit=judged.is_unfit,
        corrected=judged.corrected,
        is_without_overhead=judged.is_without_overhead,
        program=program,
        symptoms=symptoms,
        paces=paces,
        notes=tuple(dict.fromkeys([*notes, *impossible_levels(compared, base, new)])),
        expected=expected,
    )


def beyond_expected(
    causes: Sequence[Cause], anomalies: Sequence[Anomaly], expected: Expectation
) -> tuple[Cause, ...]:
    """Causes of cycles that are slower than expected, with what explains most of that first.

    Those that the expectation accounts for come last, however certain they are; alone they are no
    causes where something is odd around the program.  What saves time is none.
    """
    causes = [cause for cause in causes if cause.cost_ns >= 0]

    def order(cause: Cause) -> tuple[bool, float]:
        return cause.id in expected.explains, -cause.cost_ns

    is_expected = all(cause.id in expected.explains for cause in causes)
    return () if is_expected and anomalies else tuple(sorted(causes, key=order))


def find_causes(
    pair: Pair,
    base: Anatomy,
    new: Anatomy,
    parts: tuple[Component, ...],
    anomalies: tuple[Anomaly, ...],
    *,
    relieved: tuple[Anomaly, ...] = (),
    question: str = "change",
    program: ProgramChange | None = None,
) -> tuple[Cause, ...]:
    """What explains the change of the mean cycle, most time first.

    `relieved` are anomalies of the first side, found with the sides changed over.
    """
    case = case_of(pair, (base, new), parts, anomalies, relieved)
    return causes_of_case(case, question=question, program=program)


def causes_of_case(
    case: DiagnosisCase, *, question: str = "change", program: ProgramChange | None = None
) -> tuple[Cause, ...]:
    """The same of a case."""
    ledger = Ledger(case.attribution, local_changes(case))
    # What is lost with the matrix units is closer evidence than the edit that brought it about.
    precise = tuple(settled_matrix_units(case, program, ledger)) if question == "change" else ()
    edited = (*precise, *settled_edits(program, ledger))
    causes: list[Cause] = []
    for rule in rules_for(question):
        if program is not None and program.certain and rule.__name__ in OF_PROGRAM:
            continue
        for claim in rule(case):
            cause = ledger.settle(claim, case.least_ns)
            if cause is not None:
                causes.append(cause)
                # Rules ask before their next claim what the last ones came to.
                case.settled.append(claim)
    # However certain an edit is, what costs most comes first; of equal ones, edits do.
    ranked_causes = tuple(sorted((*edited, *causes), key=lambda cause: -abs(cause.cost_ns)))
    if precise and abs(precise[0].cost_ns) >= DiagnosisLimits.closer * abs(
        ranked_causes[0].cost_ns
    ):
        ranked_causes = (*precise, *(cause for cause in ranked_causes if cause not in precise))
    around = case.anomalies or case.relieved
    if program is None or not program.uneven or ranked_causes or around:
        return ranked_causes
    return (make_cause("workload_change", program.uneven),)


def program_of(pair: Pair) -> ProgramChange | None:
    """What the programs of a pair do otherwise; None where one of them is not known."""
    base, new = pair.base, pair.new
    if base.program is None or new.program is None or pair.kind == WITHIN:
        return None
    cycles = [set(role.behaviour["cycle"].unique().to_list()) for role in (base, new)]
    program_cycles = [
        [cycle for cycle in program.cycles if cycle in recorded_cycles]
        for program, recorded_cycles in zip((base.program, new.program), cycles, strict=True)
    ]
    if not all(program_cycles):
        return None
    change = program_change(base.program, new.program, *program_cycles)
    runs = base.device_runs_ns, new.device_runs_ns
    return replace(change, device_time=device_time_of_runs(*runs)) if all(runs) else change


def change_ns(parts: Sequence[Component], lengths: CycleTime) -> float:
    """What there is to explain: parts add up to it, and without any the lengths tell."""
    return sum(part.delta_ns for part in parts) if parts else lengths.new_ns - lengths.base_ns


def explain_anomalies(anomalies: Sequence[Anomaly], causes: Sequence[Cause]) -> tuple[Anomaly, ...]:
    """Anomalies with the time that the cause of their name explains on their device."""

    def explained(anomaly: Anomaly) -> float:
        return sum(
            cause.cost_ns
            for cause in causes
            if cause.id == anomaly.id
            and cause.cost_ns > 0  # what is less is of the first side
            and any(
                proof.device == anomaly.device
                for proof in cause.evidence
                if proof.kind == "counter"
            )
        )

    return tuple(replace(anomaly, cost_ns=explained(anomaly)) for anomaly in anomalies)


def unexplained_changes(
    parts: Sequence[Component], causes: Sequence[Cause]
) -> tuple[tuple[str, float], ...]:
    """What of the change of each component no cause explains, largest first."""
    left = {part.name: part.delta_ns for part in parts}
    for name, ns in (claim for cause in causes for claim in cause.claims):
        left[name] = left.get(name, 0.0) - ns
    return largest_first(left)


# -- whether cycles take longer --------------------------------------------------------------------


def compare_step_times(pair: Pair) -> StepTimeTest:
    """The verdict on a pair; on equal work, where cycles as recorded do not hold the same."""
    unfit = _why_unfit(pair)
    if unfit:
        as_recorded = CycleTime(*pair.cycle_times.means_ns, None, None, None)
        return StepTimeTest("incomparable", unfit, as_recorded, is_unfit=True)
    if pair.workload.comparable:
        return _judge_equal_work(pair)
    unequal = " ".join([UNEQUAL_WORK, *pair.workload.reasons[:1]])
    put_together = pair.equal_work
    if put_together is None and pair.cycle_times.one_run:
        judgement = _judge_equal_work(pair)
        return replace(judgement, notes=(unequal, *judgement.notes))
    if put_together is None:
        as_recorded = CycleTime(*pair.cycle_times.means_ns, None, None, None)
        return StepTimeTest("incomparable", unequal, as_recorded)
    judgement, lengths = _judge_equal_work(put_together), put_together.cycle_times
    if lengths.fewest < DiagnosisLimits.min_put_together:
        sides = (put_together.base, lengths.base_ns), (put_together.new, lengths.new_ns)
        counts = " and ".join(
            f"{len(side_lengths)} of {role.label}" for role, side_lengths in sides
        )
        took = units.times(*lengths.means_ns)
        few = f"Grouped to equal work there are too few steps: {counts} ({took})."
        return StepTimeTest("incomparable", f"{unequal} {few}", judgement.cycle_time)
    note = f"{unequal} They were grouped until they do."
    return replace(judgement, notes=(note, *judgement.notes))


def _why_unfit(pair: Pair) -> str:
    """Why a recording of the pair cannot be judged; empty where both can.

    Unprofiled steps do not depend on what a profiler recorded, and slow steps are compared with
    usual ones of the same recording.
    """
    if pair.kind == WITHIN or pair.plain is not None:
        return ""
    reasons = {
        role.label: reason
        for role in (pair.base, pair.new)
        for reason in role.fitness.against(STEP_TIME, COMPARISON)[:1]
    }
    if not reasons:
        return ""
    by_sentence: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        by_sentence.setdefault(reason.sentence, []).append(label)
    why = (
        f"{' and '.join(labels)} cannot be judged: {sentence}"
        for sentence, labels in by_sentence.items()
    )
    return " ".join([*why, next(iter(reasons.values())).record])


def _judge_equal_work(pair: Pair) -> StepTimeTest:
    """The verdict on cycles that hold the same work: those without the profiler before others."""
    if pair.plain is not None:
        judgement = judge_plain(pair.plain)
        recorded = pair.cycle_times.means_ns if pair.times.height else None
        return replace(judgement, cycle_time=replace(judgement.cycle_time, recorded_ns=recorded))
    judgement = judge_lengths(pair.cycle_times)
    if judgement.verdict == "incomparable":
        return judgement
    return replace(judgement, notes=tuple(_notes(pair)))


def _notes(pair: Pair) -> Iterator[str]:
    lengths = pair.cycle_times
    sides = (
        (pair.base.label, lengths.base_ns, lengths.warm_up[0], lengths.levels_ns[0]),
        (pair.new.label, lengths.new_ns, lengths.warm_up[1], lengths.levels_ns[1]),
    )
    for label, times_ns, warm, levels in sides:
        if warm:
            is_single = warm == 1
            took, later = sum(times_ns[:warm]) / warm, sum(times_ns[warm:]) / (len(times_ns) - warm)
            yield (
                f"The {'first step' if is_single else f'first {warm} steps'} of {label} "
                f"{'is' if is_single else 'are'} warm-up ({units.brief_ns(took)}, later steps "
                f"{units.brief_ns(later)}): included in the mean, not in the test."
            )
        if levels:
            low, high = (units.brief_ns(end(levels)) for end in (min, max))
            yield (
                f"Step time of {label} drifts: it goes through {len(levels)} levels,"
                f" from {low} to {high}."
            )
    if lengths.one_run and (cycle_change(lengths) != "none" or any(lengths.levels_ns)):
        yield "Base and new are parts of one run: a change within it is drift, not a regression."
    if lengths.fewest < DiagnosisLimits.min_steps:
        yield (
            f"With {units.count_noun(lengths.fewest, 'steps')} in a run only large changes show."
        )


# -- what each part of a cycle adds to the change of the mean cycle --------------------------------


def attribution(pair: Pair, base: Anatomy, new: Anatomy) -> tuple[Component, ...]:
    """Components of the change, largest first; their changes add up to that of the mean cycle."""
    sides = [side.parts.with_columns(pl.col("part").cast(pl.String)) for side in (base, new)]
    part_families = pl.concat([side.select("part", "family") for side in sides]).unique().rows()
    keys = sorted(part_families, key=lambda key: (PARTS.index(key[0]), key[1] or ""))
    columns = pl.DataFrame(keys, {"part": pl.String, "family": pl.String}, orient="row")
    (before,), (after,) = (
        cycle_matrices(rows, side.cycles["cycle"].sort(), columns, "dur_ns")
        for rows, side in zip(sides, (base, new), strict=True)
    )
    if not keys or not len(before) or not len(after):
        return ()
    changes = mean_changes(before, after)
    means = before.mean(axis=0), after.mean(axis=0)
    total = (means[0] + means[1]).tolist()
    exposed = {key[1]: time for key, time in zip(keys, total, strict=True) if key[1] is not None}
    same = same_launches(pair, exposed)
    parts = [
        Component(
            part=key[0],
            family=key[1],
            base_ns=float(means[0][place]),
            new_ns=float(means[1][place]),
            interval_ns=known_interval(changes.low[place], changes.high[place]),
            p_value=float(changes.p[place]) if np.isfinite(changes.p[place]) else None,
            same_launches_ns=same.get(key[1] or "") if key[0] == "device_compute" else None,
        )
        for place, key in enumerate(keys)
    ]
    return tuple(sorted(parts, key=lambda component: -abs(component.delta_ns)))


def same_launches(pair: Pair, exposed: Mapping[str, float]) -> dict[str, float]:
    """Of each family of kernels: the change in those that are launched equally often, in ns.

    That is what a launch takes more now than before, as often as both sides have it: cycles of
    which only a part was recorded have fewer.  `exposed` is the time of each family on both sides
    that counts for it in the cycle: kernels that run at the same time as others count for their
    share.
    """
    kernels = _kernels(pair)
    if kernels.is_empty():
        return {}
    longer = pl.col("new_ns") / pl.col("calls_new") - pl.col("base_ns") / pl.col("calls_base")
    often = pl.min_horizontal("calls_base", "calls_new")
    sums = kernels.group_by("family").agg(
        (pl.col("base_ns") + pl.col("new_ns")).sum().alias("total"),
        (longer * often).filter("equal").sum().alias("same"),
    )
    return {
        family: same * min(1.0, exposed.get(family, 0.0) / total) if total > 0 else 0.0
        for family, total, same in sums.select("family", "total", "same").iter_rows()
    }


def _kernels(pair: Pair) -> pl.DataFrame:
    """Rows of `Pair.times` that compute, with their family and whether launches are equal."""
    computing = among(pair.times["function_class"], {"gpu_compute"})
    rows = pair.times.filter(computing & ~among(pair.times["device"], {HOST_DEVICE, None}))
    talks = [vendors.is_collective_kernel(name) for name in rows["function"].to_list()]
    if any(talks):
        rows = rows.filter(~np.array(talks))
    if rows.is_empty():
        return rows
    keys = list(zip(*(rows[name].to_list() for name in _KEY), strict=True))
    family = [family_of(function) for function, _ in keys]
    rows = rows.hstack([pl.Series("family", family, dtype=pl.String)])
    # Which both sides launch, as often on average or in a usual cycle.
    call_counts = {name: rows[name].to_numpy() for name in ("calls_base", "calls_new")}
    for role, column in ((pair.base, "usual_base"), (pair.new, "usual_new")):
        usual = _usual_calls(role.behaviour)
        call_counts[column] = np.array([usual.get(key, np.nan) for key in keys])
    both = (call_counts["calls_base"] > 0) & (call_counts["calls_new"] > 0)
    is_equal = [
        equally_often(call_counts[f"{sort}_base"], call_counts[f"{sort}_new"])
        for sort in ("calls", "usual")
    ]
    return rows.with_columns(pl.Series("equal", both & (is_equal[0] | is_equal[1])))


def _usual_calls(behaviour: pl.DataFrame) -> dict[tuple[str | None, ...], float]:
    """How often each kernel runs in a cycle that has it: the median."""
    every = once_per_cycle(behaviour)
    rows = np.flatnonzero(among(every["function_class"], {"gpu_compute"}))
    columns = [encode(every[name]) for name in _KEY]
    key = combine_codes(*(codes for codes, _ in columns))[rows]
    first, group = np.unique(key, return_index=True, return_inverse=True)[1:]
    names = ([texts[code] for code in codes[rows[first]]] for codes, texts in columns)
    usual = group_medians(group, numbers(every["calls"])[rows]).tolist()
    return dict(zip(zip(*names, strict=True), usual, strict=True))


# -- what the programs do otherwise ----------------------------------------------------------------


_STEADY, _CLEARLY = 0.05, 1.15
"""Kernels that take as long within this part; and those that take so many times as long."""


def program_change(
    base: Program, new: Program, base_cycles: Sequence[int] = (), new_cycles: Sequence[int] = ()
) -> ProgramChange:
    """What the second program does otherwise, and what its device work takes."""
    program_difference = difference(base, new, base_cycles, new_cycles)
    program_edits = edits(program_difference)
    times = _device_time(*program_difference.device_ns)
    # Kernels that a library chose anew, as autotuning does from run to run, are no other program
    # where nothing comes of it.
    least = DiagnosisLimits.between_runs * times.base_ns
    choices = (
        program_edits
        if all(
            edit.cause == "kernel_choice" and "::" in edit.inside and abs(edit.device_ns) <= least
            for edit in program_edits
        )
        else ()
    )
    program_edits = () if choices else program_edits
    change = [
        float(new[part].sum() - base[part].sum())
        for part in (2, 1)
        for base, new in [program_difference.means]
    ]
    return ProgramChange(
        program_edits,
        tuple(_kinds(program_difference)),
        times,
        change[0],
        change[1],
        change[0] - sum(edit.device_ns for edit in program_edits),
        change[1] - sum(edit.host_ns for edit in program_edits),
        program_difference.host,
        program_difference.varying,
        "" if program_edits else _uneven(program_difference),
        choices,
        call_tree(program_difference, base, new),
    )


def _uneven(program_difference: ProgramDifference) -> str:
    """Which kernels alone take another time per call, where most do not; empty where none do."""
    (calls, _, before, _), (often, _, after, _) = program_difference.means
    some = np.flatnonzero((before > 0) & (after > 0) & (calls > 0) & (often > 0))
    ratio = (after[some] / often[some]) / (before[some] / calls[some])
    moved = some[(ratio > _CLEARLY) | (ratio < 1 / _CLEARLY)]
    steady = int((np.abs(ratio - 1) < _STEADY).sum())
    change = float((after - before)[moved].sum())
    if (
        steady * 2 < len(some)
        or abs(change) < DiagnosisLimits.worth_telling * float(before.sum())
        or not change
    ):
        return ""
    largest = moved[np.argsort(-np.abs(after - before)[moved], kind="stable")]
    names = dict.fromkeys(call_label(program_difference.sites["name"][int(at)]) for at in largest)
    took = units.times(float(before[moved].sum()), float(after[moved].sum()))
    return (
        f"{join_names(list(names), 3)} take {took} per step, most other kernels as long as "
        "before: probably other sizes or other data."
    )


def _kinds(program_difference: ProgramDifference) -> Iterator[CycleKinds]:
    base, new = program_difference.kinds
    for kind in base:
        its = None if kind.partner is None else new[kind.partner]
        yield CycleKinds(
            kind.cycles,
            () if its is None else its.cycles,
            kind.period,
            None if its is None else its.period,
            kind.calls,
        )
    for kind in new:
        if kind.partner is None:
            yield CycleKinds((), kind.cycles, None, kind.period, kind.calls)


def _device_time(base: Floats, new: Floats) -> SteadyTimes:
    """Device time of usual cycles; its interval holds by how much equal runs differ."""
    (base_ns, base_error), (new_ns, new_error) = map(median_and_error, (base, new))
    half = Z95 * float(np.hypot(base_error, new_error)) + DiagnosisLimits.between_runs * base_ns
    delta = new_ns - base_ns
    return SteadyTimes(base_ns, new_ns, (delta - half, delta + half))


def device_time_of_runs(base: Sequence[float], new: Sequence[float]) -> SteadyTimes:
    """Device time over several runs: its interval holds by how much those of one side differ."""
    sides = [np.array(side, dtype=np.float64) for side in (base, new)]
    side_stats = [moments(np.zeros(len(side), dtype=np.int64), side, 1) for side in sides]
    means = [float(stats.mean[0]) for stats in side_stats]
    return SteadyTimes(means[0], means[1], welch_interval(side_stats[0], side_stats[1]))


# -- edits as causes of a change -------------------------------------------------------------------

OF_PROGRAM = frozenset(
    {"synchronisation", "more_operators", "kernel_change", "workload_change", "host_calls"}
)
"""Rules that look for a change of the program in the times of functions: not asked where it is
known."""
_DEVICE_PARTS = ("device_compute", "copies", "exposed_communication")
_HOST_PARTS = ("host_cpu", "synchronisation", "launch_gap", "idle", "data_loading")


def settled_edits(program: ProgramChange | None, ledger: Ledger) -> Iterator[Cause]:
    """Edits as causes with what they explain of the change of the cycle, which may be nothing."""
    for edit in () if program is None else program.edits:
        taken: dict[str, float] = {}
        for ns, parts in ((edit.device_ns, _DEVICE_PARTS), (edit.host_ns, _HOST_PARTS)):
            for name, some in ledger.take(Demand(ns, parts, structural=True)).items():
                taken[name] = taken.get(name, 0.0) + some
        sentence = f"{edit.sentence} ({edit.place})."
        # What came is taken out again; what was there computes as before.
        is_added = edit.sentence.endswith(" added") and "added" in catalogue()["causes"][edit.cause]
        cause = make_cause(
            edit.cause,
            sentence,
            evidence=edit.evidence,
            advice="added" if is_added else "advice",
        )
        yield replace(cause, cost_ns=sum(taken.values()), claims=largest_first(taken))
