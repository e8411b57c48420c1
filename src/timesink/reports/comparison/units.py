"""One unit of repetition for all runs that are set beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.errors import TimesinkError
from timesink.model.trace import Trace
from timesink.reports.comparison.runs import CycleSearch, CycleUnit, Failure, SideRun, run_of
from timesink.reports.comparison.sides import SideSource


def by_units_of(failure: Failure, runs: Sequence[SideRun], finding: CycleSearch) -> SideRun | None:
    """A recording in which nothing was seen to repeat, by the unit of another; None without."""
    if failure.trace is None or finding.says_unit:
        return None
    for unit in _distinct([run.unit for run in runs]):
        found = _by(failure.source, failure.trace, unit, finding)
        if found is not None:
            return found
    return None


def with_common_unit(
    runs: Sequence[SideRun], finding: CycleSearch
) -> tuple[list[SideRun], list[str]]:
    """Runs whose cycles are the same unit, where one is found that all of them have.

    Cycles of behaviour tables are what they are; recordings are searched again for the unit of
    another run.
    """
    units = _distinct([run.unit for run in runs])
    if len(units) < 2 or all(run.trace is None for run in runs):
        return list(runs), []  # of tables alone, the check of the workload says it
    for unit in units:
        found = _all_by(runs, unit, finding)
        if found is not None:
            return found, [_said(units, unit)]
    listed = "; ".join(_words(unit) for unit in units[:4])
    return list(runs), [f"cycles are not the same unit in all runs: {listed}"]


def _distinct(units: Sequence[CycleUnit]) -> list[CycleUnit]:
    distinct: list[CycleUnit] = []
    for unit in units:
        if not any(unit.is_that_of(other) for other in distinct):
            distinct.append(unit)
    return distinct


def _all_by(runs: Sequence[SideRun], unit: CycleUnit, finding: CycleSearch) -> list[SideRun] | None:
    """Every run with cycles of this unit; None where one of them does not have it."""
    found = []
    for run in runs:
        again: SideRun | None = run
        if not run.unit.is_that_of(unit):
            again = None if run.trace is None else _by(run.source, run.trace, unit, finding)
        if again is None:
            return None
        found.append(again)
    return found


def _by(source: SideSource, trace: Trace, unit: CycleUnit, finding: CycleSearch) -> SideRun | None:
    for way in _ways(unit, finding):
        try:
            again = run_of(source, trace, way)
        except TimesinkError:
            continue
        if again.unit.is_that_of(unit):
            return again
    return None


def _ways(unit: CycleUnit, finding: CycleSearch) -> list[CycleSearch]:
    """How the unit may be asked for: by its mark, and by the way it was found."""
    by_name = unit.anchor is not None and unit.method in (None, "marker", "python")
    ways = [replace(finding, marker=unit.anchor)] if by_name else []
    ways += [replace(finding, by=unit.method)] if unit.method else []
    # A mark that is asked for by name may be the cycle, where it was found to lie between two.
    return ways[::-1] if unit.method == "marker" else ways


def _said(units: Sequence[CycleUnit], chosen: CycleUnit) -> str:
    others = ", ".join(_words(unit) for unit in units if unit != chosen)
    return f"cycles of all runs are taken as {_words(chosen)}; on its own, one had {others}"


def _words(unit: CycleUnit) -> str:
    return unit.anchor or (f"found by {unit.method}" if unit.method else "of several kinds")
