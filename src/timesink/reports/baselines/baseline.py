"""A baseline as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from timesink import __version__
from timesink.errors import UsageError
from timesink.reports.baselines.names import reference
from timesink.reports.comparison.runs import CycleSearch, SideRun
from timesink.reports.comparison.sides import LEFT_OUT, RunSide


@dataclass(frozen=True, eq=False)
class Baseline:
    """What recordings of a run say cycle by cycle, under a name; their files may be gone."""

    name: str
    runs: tuple[SideRun, ...]
    """One per recording, such as a rank; none has a trace, and their paths begin with `@NAME`."""
    finding: CycleSearch
    """How cycles were asked for."""
    saved_us: int
    """When, in Unix microseconds."""
    timesink: str
    """The version that saved it."""
    facts: Mapping[str, Any]
    """Devices and versions the recordings name."""
    notes: tuple[str, ...]
    """What was left out when it was saved."""
    size_bytes: int

    @cached_property
    def side(self) -> RunSide:
        """All of it as a side of a comparison."""
        sources = tuple(run.source for run in self.runs)
        notes = (*self.notes, *self._of_another_version())
        lost = tuple(
            f"{reference(self.name)}: {note.removeprefix(LEFT_OUT)}"
            for note in self.notes
            if note.startswith(LEFT_OUT)
        )
        return RunSide(Path(reference(self.name)), sources, notes, lost)

    def _of_another_version(self) -> tuple[str, ...]:
        if self.timesink == __version__:
            return ()
        versions = f"saved by timesink {self.timesink}, this is {__version__}"
        return (f"{reference(self.name)} was {versions}: save it again to be sure they agree",)

    def finding_for(self, asked: CycleSearch) -> CycleSearch:
        """How cycles of other recordings are found beside this one.

        What the user asks for counts, and is refused where this has other cycles; else they are
        found as those of this one were.
        """
        if asked.metric_map is not None:
            raise UsageError(
                f"{reference(self.name)}: counters were given to functions when it was saved, "
                "--map cannot change that",
                "leave out --map, or compare the recordings themselves",
            )
        if not asked.says_unit:
            return self.finding
        if asked != self.finding and not all(_is_as_asked(run, asked) for run in self.runs):
            option = "--by" if asked.marker is None else "--marker"
            raise UsageError(
                f"{reference(self.name)}: has the cycles it was saved with ({self.units_said}), "
                f"{option} finds no others",
                f"leave out {option}, or save it again with {option}",
            )
        return asked

    @property
    def units_said(self) -> str:
        """What its cycles are, in words."""
        known = {run.unit.anchor or run.unit.method or "those of a table" for run in self.runs}
        return ", ".join(sorted(known))


def _is_as_asked(run: SideRun, asked: CycleSearch) -> bool:
    by_mark = asked.marker in (None, run.unit.anchor)
    return by_mark and asked.by in (None, run.unit.method)
