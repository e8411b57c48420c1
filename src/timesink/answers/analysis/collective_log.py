"""What logs of collectives say: the headline, and the sections of their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from timesink.analyses.collective_log import collective_log, logged_calls
from timesink.model import units
from timesink.model.findings import RunFinding
from timesink.model.trace import Trace
from timesink.output.blocks import Section

if TYPE_CHECKING:
    from timesink.answers.analysis.tables import Analysed, SectionResult

_Maker: TypeAlias = "Callable[[Analysed], SectionResult]"


def log_headline(trace: Trace, findings: Sequence[RunFinding]) -> str:
    """What stands still and who is missing; else how many collectives and ranks there are."""
    log, calls = collective_log(trace), logged_calls(trace)
    ranks = units.count_noun(calls["who"].drop_nulls().n_unique(), "ranks")
    groups = units.count_noun(calls["group"].n_unique(), "groups")
    many = units.count_noun(log.height, "collectives")
    text = f"{many} of {groups}, logged by {ranks}"
    if findings:
        return f"{findings[0].sentence} ({text}.)"
    is_open = log.filter(log["completed"] < log["entered"]).height
    return f"{text}; {units.count(is_open) if is_open else 'none'} did not complete."


_TITLES = {
    "collective-log-ranks": "How far each rank came",
    "collective-log-sizes": "Collectives by operation and size",
    "collective-log": "Collectives and the ranks that entered them",
}


def _section(view: str, title: str) -> _Maker:
    """A table of logs; nothing at all where there are none."""

    def make(run: Analysed) -> SectionResult:
        if not run.analysis.trace.has_only_collectives:
            return None
        table = run.table(view)
        return Section(view, title, (table,)) if table.rows else None

    return make


SECTIONS: Mapping[str, _Maker] = {view: _section(view, title) for view, title in _TITLES.items()}
"""What makes each section about logs, in the order of the report."""
