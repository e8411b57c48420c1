"""What logs of collectives say: the sections of their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from timesink.output.blocks import Section

if TYPE_CHECKING:
    from timesink.answers.analysis.tables import Analysed, SectionResult

_Maker: TypeAlias = "Callable[[Analysed], SectionResult]"


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
