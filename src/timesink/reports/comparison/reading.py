"""Sides read: every run of each, with cycles of one unit, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from timesink.reports.comparison.given import check_recordings
from timesink.reports.comparison.runs import CycleSearch, Runs, SideRun
from timesink.reports.comparison.sides import LEFT_OUT, SideSource
from timesink.reports.comparison.units import by_units_of, with_common_unit


@dataclass(frozen=True, slots=True, eq=False)
class ReadSides:
    """The runs of each side, with cycles of one unit."""

    sides: list[list[SideRun]]
    notes: tuple[str, ...]
    """What was left out, and which cycles were taken."""
    left_out: tuple[str, ...]
    """Why files could not be read; notes name them as well."""


def read_sides(
    runs: Runs, finding: CycleSearch, sides: Sequence[Sequence[SideSource]]
) -> ReadSides:
    """The runs of each side, with cycles of one unit, and what was left out."""
    runs.of([source for side in sides for source in side])  # all of them at once
    read = [runs.of(side) for side in sides]
    everything = [run for found, _ in read for run in found]
    given: list[list[SideRun]] = []
    lost: list[str] = []
    for found, failures in read:
        tried = [(one, by_units_of(one, everything, finding)) for one in failures]
        given.append([*found, *(run for _, run in tried if run is not None)])
        lost += [one.error.message for one, run in tried if run is None]
        if not given[-1]:
            raise failures[0].error
    common, noted = _with_common_unit(given, finding)
    notes = (*(f"{LEFT_OUT}{one}" for one in lost), *noted)
    return ReadSides(common, notes, tuple(lost))


def _with_common_unit(
    sides: Sequence[list[SideRun]], finding: CycleSearch
) -> tuple[list[list[SideRun]], list[str]]:
    runs = [run for side in sides for run in side]
    if finding.says_unit:
        check_recordings(runs, finding)
        return list(sides), []
    common, notes = with_common_unit(runs, finding)
    each = iter(common)
    return [list(islice(each, len(side))) for side in sides], notes
