"""A comparison as text, as `timesink compare` says it."""

from __future__ import annotations

from timesink.answers.comparison.document import comparison_document, one_table_document
from timesink.answers.comparison.report import ComparisonAnswer
from timesink.output import terminal


def to_text(
    comparison: ComparisonAnswer, top: int = 10, table: str | None = None, width: int = 100
) -> str:
    if table is None:
        return terminal.to_text(comparison_document(comparison, top=top), width)
    return terminal.to_text(one_table_document(comparison, table, top), width)
