"""Pages of a run, its tables, and the call stacks of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from timesink.errors import UsageError
from timesink.reports.plugin.query import Query
from timesink.reports.tables import GROUPS, VIEWS
from timesink.server.answers import Encoded
from timesink.server.bounds import row_limit
from timesink.server.desk import Desk
from timesink.server.progress import Report
from timesink.server.runs import ServedRun

if TYPE_CHECKING:
    import polars as pl

    from timesink.reports.analysis import Analysis

_OF_ALL_WORKERS = ("overview", "distributed")
"""Pages that compare workers; the others need one."""
_PAGE_ROWS = 1000
"""Rows of a table on a page; `api/table` gives more."""


@dataclass(frozen=True)
class _Chosen:
    """Which recording a request is about."""

    run: ServedRun
    worker: str
    span: str
    steps: str

    @classmethod
    def of(cls, desk: Desk, query: Query) -> _Chosen:
        run = desk.library.run(query.required("run"))
        chosen = cls(run, query.required("worker"), query.required("span"), query.text("steps"))
        run.recording(chosen.worker, chosen.span)
        return chosen

    @property
    def state(self) -> tuple[object, ...]:
        return (*self.run.state, self.worker, self.span, self.steps)


def document(desk: Desk, query: Query) -> Encoded:
    """One page of a run."""
    from timesink.answers.analysis import PAGES  # noqa: PLC0415 - loads every analysis

    chosen = _Chosen.of(desk, query)
    page = query.choice("page", *PAGES) or next(iter(PAGES))
    rows = row_limit(query) or _PAGE_ROWS

    def make(report: Report) -> Encoded:
        from timesink.answers.analysis import analysis_document  # noqa: PLC0415
        from timesink.output.json import to_json  # noqa: PLC0415

        analysis, start_ns = _found(desk, chosen, report, together=page in _OF_ALL_WORKERS)
        report.start(f"finding what {chosen.worker} spent its time on")
        made = analysis_document(analysis, page=page, rows=rows, start_ns=start_ns)
        return Encoded(to_json(made))

    return desk.document(("document", chosen.state, page, rows), make)


def table(desk: Desk, query: Query) -> Encoded:
    """One of the tables, or its rows with a certain value in a column."""
    chosen = _Chosen.of(desk, query)
    view = query.choice("view", *VIEWS)
    if not view:
        query.required("view")
    group = query.choice("group_by", *GROUPS)
    column, value, rows = query.text("column"), query.text("equals"), row_limit(query)

    def make(report: Report) -> Encoded:
        from timesink.answers.analysis_tables import (  # noqa: PLC0415 - as above
            device_work_ns,
        )

        analysis, start_ns = _found(desk, chosen, report, together=VIEWS[view].per_span)
        frame = analysis.table(view, group or None)
        if column:
            return _block(_with_value(frame, column, value), view, start_ns, rows)
        whole = device_work_ns(analysis) if view == "operators" else None
        return _block(frame, view, start_ns, rows, whole)

    return desk.document(("table", chosen.state, view, group, column, value, rows), make)


def stacks(desk: Desk, query: Query) -> Encoded:
    """Where an operator is called from, with calls and times of each place."""
    chosen = _Chosen.of(desk, query)
    operator, dims = query.required("operator"), query.text("dims")
    rows = row_limit(query)

    def make(report: Report) -> Encoded:
        analysis, start_ns = _found(desk, chosen, report, together=False)
        frame = analysis.table("operators", "shape-stack" if dims else "stack")
        frame = _with_value(frame, "name", operator)
        if dims:
            frame = _with_value(frame, "input_dims", dims)
        return _block(frame, "operators", start_ns, rows)

    return desk.document(("stacks", chosen.state, operator, dims, rows), make)


def _found(desk: Desk, chosen: _Chosen, report: Report, *, together: bool) -> tuple[Analysis, int]:
    """An analysis, and when the whole recording began: of some steps it is not known."""
    from timesink.analyses.memory.curve import recording_start  # noqa: PLC0415 - as above
    from timesink.reports.analyzing import analyze_opened  # noqa: PLC0415
    from timesink.reports.step_choice import step_choice  # noqa: PLC0415

    run, worker = chosen.run, chosen.worker
    steps = chosen.steps or None
    ranks = None
    if together and len(run.span(chosen.span)) > 1:
        wanted = "" if steps is None else step_choice(steps)
        ranks = desk.library.ranks(run, chosen.span, worker, steps=wanted, report=report)
    trace = desk.library.trace(run, worker, chosen.span, report)
    analysis = analyze_opened({worker: trace}, worker, path=run.name, steps=steps, ranks=ranks)
    return analysis, recording_start(trace)


def _with_value(frame: pl.DataFrame, column: str, value: str) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - as above

    if column not in frame.columns:
        raise UsageError(
            f"the table has no column {column!r}", f"it has {', '.join(frame.columns)}"
        )
    return frame.filter(pl.col(column).cast(pl.String, strict=False) == value)


def _block(
    frame: pl.DataFrame, view: str, start_ns: int, rows: int | None, whole: int | None = None
) -> Encoded:
    from timesink.answers.tables import table_block  # noqa: PLC0415
    from timesink.output.json import to_json  # noqa: PLC0415 - as above

    block = table_block(frame, view, start_ns=start_ns, rows=rows, whole=whole)
    return Encoded(to_json(block))
