"""Which of many processes behave alike, for a comment."""

from __future__ import annotations

from collections.abc import Iterator

from timesink.analyses.clustering.exploration import Exploration
from timesink.model import units
from timesink.output.markdown import bullets
from timesink.render.comparison.comment.marking import said, table_lines
from timesink.render.comparison.exploring import APART, apart, groups_table, threshold
from timesink.render.fitting import Block
from timesink.reports.comparison.report import Comparison

_MOST_GROUPS = 12
_MOST_APART = 8


def explored_blocks(comparison: Comparison, exploration: Exploration) -> Iterator[Block]:
    """The answer, the groups, and what sets them apart."""
    yield Block((f"**{said(comparison.headline)}**",))
    groups = groups_table(exploration)
    more = len(groups.rows) - _MOST_GROUPS
    rest = ("", f"and {units.counted(more, 'more groups')}") if more > 0 else ()
    yield Block((*table_lines(groups, _MOST_GROUPS), *rest))
    found = apart(exploration)[:_MOST_APART]
    if found:
        yield Block((f"**{APART.format('group 1')}**",), rank=2)
        lines = bullets(f"group {number}: {said(sentence)}" for number, sentence in found)
        yield Block(tuple(lines.splitlines()), rank=2)
    yield Block((said(threshold(exploration)),), rank=3)
