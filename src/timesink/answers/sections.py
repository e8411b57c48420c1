"""What the sections of an analysis are made from, and what stands in place of an empty one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from timesink.analyses.memory.curve import recording_start
from timesink.answers.analysis.report import Analysis
from timesink.answers.tables import sentence, table_block
from timesink.answers.views import Absent, find_view
from timesink.model.trace import Trace
from timesink.output.blocks import Section, Table, Text


@dataclass(frozen=True, eq=False)
class Analysed:
    """An analysis, and how much of it is to be shown."""

    analysis: Analysis
    rows: int | None = None
    from_ns: int | None = None
    """Where the recording begins, if not where its trace does: that may be cut to some steps."""
    brief: bool = False
    """Whether it is the short answer, which is read as text."""

    @property
    def trace(self) -> Trace:
        """The trace that is described in detail."""
        return self.analysis.trace

    @property
    def start_ns(self) -> int:
        """What points in time are counted from."""
        return recording_start(self.trace) if self.from_ns is None else self.from_ns

    def table(
        self, view: str, frame: pl.DataFrame | None = None, *, whole: float | None = None
    ) -> Table:
        """A table as a block; its shares are of all rows, or of a `whole` that holds more."""
        if frame is None:
            frame = self.analysis.table(view)
        return table_block(frame, view, start_ns=self.start_ns, rows=self.rows, whole=whole)


@dataclass(frozen=True, slots=True)
class Empty:
    """A section without data: what it would be about, and why there is nothing."""

    id: str
    title: str
    absent: Absent

    @property
    def section(self) -> Section:
        """The section on a page of its own."""
        return Section(self.id, self.title, (Text(sentence(self.absent)),))


Made: TypeAlias = Section | Empty | None
"""None where there is nothing to be said, not even why."""


def tables_section(
    section: str, title: str, *views: str, lead: str = ""
) -> Callable[[Analysed], Made]:
    """What makes a section of tables alone; it is empty where the first of them is."""

    def make(run: Analysed) -> Made:
        blocks = [run.table(view) for view in views]
        if not blocks[0].rows:
            return Empty(section, title, find_view(views[0]).absent)
        return Section(section, title, tuple(block for block in blocks if block.rows), lead)

    return make
