"""`timesink analyze`: where the time of one run goes, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import polars as pl

from timesink.analyses.findings import Finding, find_all
from timesink.model.trace import Trace
from timesink.reports import sections
from timesink.reports.headline import headline
from timesink.reports.side_by_side import start_side_by_side
from timesink.reports.tables import Choice, table_of

SCHEMA = "timesink/analysis/1"


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything known about one trace, computed when it is asked for.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis.table("kernels").height > 0
    True
    """

    trace: Trace
    path: str = ""
    workers: Mapping[str, Trace] = field(default_factory=dict)
    """Every worker of the span, this one included."""
    group_by: str = ""
    """What the rows of the operator table stand for."""
    notes: tuple[str, ...] = ()
    """What was chosen on the user's behalf."""

    @property
    def headline(self) -> str:
        return headline(self.trace)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return find_all(self.trace)

    def table(self, view: str) -> pl.DataFrame:
        """One of the tables of `timesink.reports.tables.VIEWS`."""
        return table_of(self.trace, view, Choice(self._group_of(view), self.workers))

    def _group_of(self, view: str) -> str:
        return self.group_by if view == "operators" else ""

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/analysis.md` describes every key."""
        trace = self.trace
        start_side_by_side(trace)
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "source": sections.source(trace, self.path, self.workers, self.notes),
            "health": [entry.to_dict() for entry in trace.health],
            "device": sections.device(trace),
            "steps": sections.steps(trace),
            "breakdown": sections.breakdown(trace),
            "operators": sections.operators(trace, self.table("operators"), self.group_by),
            "kernels": sections.kernels(trace),
            "memory": sections.memory(trace),
            "modules": sections.modules(trace),
            "distributed": sections.distributed(trace, self.workers),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_pandas(self, view: str = "operators") -> Any:
        """One of the tables as a pandas frame; needs pandas."""
        return self.table(view).to_pandas()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        tables = (self.table(view).head(8) for view in ("steps", "operators", "kernels"))
        return f"<p><b>{escape(self.headline)}</b></p>" + "".join(t._repr_html_() for t in tables)
