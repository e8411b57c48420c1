"""Slow cycles of one process against its typical ones."""

from __future__ import annotations

from dataclasses import replace

from timesink.analyses.comparison.comparing import compare_roles
from timesink.analyses.comparison.pair import WITHIN, Pair
from timesink.analyses.comparison.role import Role
from timesink.analyses.diagnosis.diagnosing import diagnose
from timesink.analyses.diagnosis.diagnosis import CycleTime, Diagnosis
from timesink.analyses.diagnosis.outliers import Split, split_cycles, typical_and_outliers
from timesink.analyses.diagnosis.single_cycles import excesses
from timesink.reports.diagnosis.joining import by_length
from timesink.reports.diagnosis.report import Within
from timesink.reports.diagnosis.telling import notes_of, why_not, why_slow


def within(role: Role, name: str) -> Within:
    """What is slow in one process, and why."""
    split = split_cycles(role)
    sides = typical_and_outliers(role)
    if sides is None:
        return Within(name, role, split, _quiet(role, split))
    # Slow cycles that hold more work are slow for that reason, and stay as they are.
    pair = replace(compare_roles(*sides, WITHIN), equal_work=None)
    return Within(name, role, split, _of_one_run(pair, split), pair, tuple(excesses(role, split)))


def _of_one_run(pair: Pair, split: Split) -> Diagnosis:
    found = diagnose(pair)
    unequal = () if pair.workload.comparable else pair.workload.reasons[:1]
    notes = (*notes_of(split), *unequal, *found.notes)
    return replace(by_length(found), reason=why_slow(split, found.cycle_time), notes=notes)


def _quiet(role: Role, split: Split) -> Diagnosis:
    """The diagnosis of cycles none of which is slow."""
    mean = role.mean_cycle_ns
    cycles = CycleTime(mean, mean, 0.0 if mean else None, None, None)
    verdict = "no_change" if split.can_tell else "incomparable"
    return Diagnosis(verdict, why_not(split), cycles, (), (), (), 0.0, (), (), notes_of(split))
