"""Operators, and where device work was launched from."""

from __future__ import annotations

from timesink.output.blocks import Section
from timesink.render.document.analysed import Analysed, Empty, Made
from timesink.reports.absent import NO_OPERATORS
from timesink.reports.analysis import Analysis

_BY_OPERATORS = "operator"


def operators_section(run: Analysed) -> Made:
    """The table of operators; work that others launched is told where there is any.

    Shares are of all device work, as in the answer in words: of a replayed graph hardly anything
    may be an operator's.

    >>> import timesink
    >>> section = operators_section(Analysed(timesink.analyze(timesink.sample())))
    >>> [table.id for table in section.blocks]
    ['operators']
    """
    sites = run.frame("launch-sites")
    tables = [run.table("operators", whole=device_work_ns(run.analysis))]
    if sites["site"].to_list() not in ([], [_BY_OPERATORS]):
        tables.append(run.table("launch-sites"))
    if not any(table.rows for table in tables):
        return Empty("operators", "Operators", NO_OPERATORS)
    return Section("operators", "Operators", tuple(table for table in tables if table.rows))


def device_work_ns(analysis: Analysis) -> int | None:
    """All device work, which shares of operators are of; None where no operator has any.

    >>> import timesink
    >>> device_work_ns(timesink.analyze(timesink.sample()))
    41882282
    """
    if not analysis.table("operators")["device_self_ns"].sum():
        return None
    return int(analysis.table("launch-sites")["device_ns"].sum())
