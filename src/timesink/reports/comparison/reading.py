"""Sides read: every run of each, with cycles of one unit, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from timesink.reports.comparison.given import check_recordings
from timesink.reports.comparison.runs import Finding, Run, Runs
from timesink.reports.comparison.sides import Source
from timesink.reports.comparison.units import by_units_of, with_common_unit


def read_sides(
    runs: Runs, finding: Finding, sides: Sequence[Sequence[Source]]
) -> tuple[list[list[Run]], list[str]]:
    """The runs of each side, with cycles of one unit, and what was left out."""
    runs.of([source for side in sides for source in side])  # all of them at once
    read = [runs.of(side) for side in sides]
    everything = [run for found, _ in read for run in found]
    given, notes = [], []
    for found, failures in read:
        tried = [(one, by_units_of(one, everything, finding)) for one in failures]
        given.append([*found, *(run for _, run in tried if run is not None)])
        notes += [f"left out: {one.error.message}" for one, run in tried if run is None]
        if not given[-1]:
            raise failures[0].error
    return _with_common_unit(given, finding, notes)


def _with_common_unit(
    sides: Sequence[list[Run]], finding: Finding, notes: list[str]
) -> tuple[list[list[Run]], list[str]]:
    runs = [run for side in sides for run in side]
    if finding.says_unit:
        check_recordings(runs, finding)
        return list(sides), notes
    common, more = with_common_unit(runs, finding)
    each = iter(common)
    return [list(islice(each, len(side))) for side in sides], [*notes, *more]
