"""`timesink analyze`: where the time of one run goes, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.findings import Finding, find_all, gravest_first
from timesink.analyses.findings.stragglers import stragglers
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.telling import set_health, set_notes
from timesink.analyses.steps import find_steps
from timesink.errors import TimesinkError
from timesink.model.health import HealthEntry
from timesink.model.trace import Trace
from timesink.model.units import counted
from timesink.reports import sections
from timesink.reports.headline import headline
from timesink.reports.side_by_side import start_side_by_side
from timesink.reports.tables import TableChoice, check_group, table_of
from timesink.store.answers import KeptAnswer

SCHEMA = "timesink/analysis/1"
_FOR_PANDAS = ("pandas", "pyarrow")
"""What Polars needs to make a pandas frame."""


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Everything known about one trace, or a set of ranks, computed when it is asked for.

    >>> import timesink
    >>> analysis = timesink.analyze(timesink.sample())
    >>> analysis
    <Analysis of unet_train.pt.trace.json.gz, 2 steps: 76.9 % of each 27.18 ms step is GPU work...>
    >>> analysis.table("kernels").height > 0
    True
    """

    trace: Trace
    path: str = ""
    ranks: RankSet | None = None
    """Every rank of the run, this one included; None where there is one trace alone."""
    group_by: str = ""
    """What the rows of the operator table stand for."""
    chosen: tuple[str, ...] = ()
    """What was chosen on the user's behalf, in sentences."""
    kept: KeptAnswer | None = None
    """Where the whole answer is kept, so that it need not be found again."""

    @property
    def is_set(self) -> bool:
        """Whether several ranks are compared."""
        return self.ranks is not None and len(self.ranks.ranks) > 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen on the user's behalf, and what is to be known about the set of ranks."""
        return self.chosen if self.ranks is None else (*self.chosen, *set_notes(self.ranks))

    @property
    def health(self) -> tuple[HealthEntry, ...]:
        """What was repaired, lost or looks wrong, in the recordings of all ranks."""
        if self.ranks is None:
            return tuple(self.trace.health)
        return tuple(entry for entry, _ in set_health(self.ranks))

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        return headline(self.trace, self.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What costs time and what to try, the gravest first."""
        held_up = [] if self.ranks is None else stragglers(self.ranks)
        return gravest_first([*find_all(self.trace), *held_up])

    def table(self, view: str, group_by: str | None = None) -> pl.DataFrame:
        """One of the tables of `timesink.reports.tables.VIEWS`, times in nanoseconds.

        >>> import timesink
        >>> timesink.analyze(timesink.sample()).table("operators", "shape").columns[:3]
        ['name', 'input_dims', 'calls']
        """
        check_group(group_by or "", view)
        chosen = self.group_by if group_by is None else group_by
        return table_of(self.trace, view, TableChoice(chosen, self.ranks))

    def to_dict(self) -> dict[str, Any]:
        """The whole answer, ready for JSON; `docs/analysis.md` describes every key."""
        answer: dict[str, Any] = msgspec.json.decode(self.to_json())
        return answer

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        known = self.kept.load() if self.kept is not None else None
        if known is not None:
            return known
        answer = msgspec.json.encode(self._find())
        if self.kept is not None:
            self.kept.save(answer)
        return answer

    def _find(self) -> dict[str, Any]:
        trace = self.trace
        start_side_by_side(trace)
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "source": sections.source(trace, self.path, self.ranks, self.notes),
            "health": sections.health(trace, self.ranks),
            "device": sections.device(trace),
            "steps": sections.steps(trace),
            "breakdown": sections.breakdown(trace),
            "operators": sections.operators(trace, self.table("operators"), self.group_by),
            "kernels": sections.kernels(trace),
            "memory": sections.memory(trace),
            "modules": sections.modules(trace),
            "distributed": sections.distributed(trace, self.ranks),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_pandas(self, view: str = "operators", group_by: str | None = None) -> Any:
        """One of the tables as a pandas frame; needs pandas and pyarrow."""
        absent = [name for name in _FOR_PANDAS if not _is_installed(name)]
        if absent:
            raise TimesinkError(
                f"a pandas frame needs {' and '.join(absent)}, not installed here",
                f"pip install {' '.join(_FOR_PANDAS)}, or use .table({view!r}), a Polars frame",
            )
        return self.table(view, group_by).to_pandas()

    def __repr__(self) -> str:
        """One line: what was analysed, and the answer."""
        name = Path(self.path or self.trace.metadata.source).name
        steps = counted(find_steps(self.trace).height, "steps")
        return f"<Analysis of {name}, {steps}: {self.headline}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        tables = (self.table(view).head(8) for view in ("steps", "operators", "kernels"))
        return f"<p><b>{escape(self.headline)}</b></p>" + "".join(t._repr_html_() for t in tables)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # so the import system says that it is barred
        return False
