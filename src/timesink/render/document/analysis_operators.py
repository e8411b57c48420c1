"""Operators, and where device work was launched from."""

from __future__ import annotations

from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.render.document.blocks import Section
from timesink.reports.absent import NO_OPERATORS

_BY_OPERATORS = "operator"


def operators_section(run: Analysed) -> Made:
    """The table of operators; work that others launched is told where there is any.

    >>> import timesink
    >>> section = operators_section(Analysed(timesink.analyze(timesink.sample())))
    >>> [table.id for table in section.blocks]
    ['operators']
    """
    tables = [run.table("operators")]
    sites = run.frame("launch-sites")
    if sites["site"].to_list() not in ([], [_BY_OPERATORS]):
        tables.append(run.table("launch-sites"))
    if not any(table.rows for table in tables):
        return Empty("operators", "Operators", NO_OPERATORS)
    return Section("operators", "Operators", tuple(table for table in tables if table.rows))
