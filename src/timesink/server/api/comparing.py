"""Two runs: whether one is slower, and why."""

from __future__ import annotations

from timesink.errors import NotFoundError, UsageError
from timesink.reports.plugin.query import Query
from timesink.server.answers import Encoded
from timesink.server.desk import Desk
from timesink.server.progress import Report
from timesink.server.runs import ServedRun

_LONGEST_MARKER = 1000


def comparison(desk: Desk, query: Query) -> Encoded:
    """What `timesink compare BASE NEW` finds, as a document."""
    base, new = (_comparable(desk, query.required(side)) for side in ("base", "new"))
    marker = query.text("marker") or None
    if marker and len(marker) > _LONGEST_MARKER:
        raise UsageError("the parameter 'marker' is too long", "name one annotation or function")

    def make(report: Report) -> Encoded:
        from timesink.answers.comparison import (  # noqa: PLC0415 - loads every analysis
            comparison_document,
        )
        from timesink.output.json import to_json  # noqa: PLC0415
        from timesink.reports.comparison import compare  # noqa: PLC0415

        both = f"{base.name} and {new.name}"
        for run in (base, new):
            run.inside.check_below(run.folder)
        found = compare(
            base.folder,
            new.folder,
            marker=marker,
            cache=desk.library.cache,
            jobs=desk.library.jobs,
            progress=report.start(f"reading {both}", f"comparing {both}"),
        )
        return Encoded(to_json(comparison_document(found)))

    return desk.document(("compare", base.state, new.state, marker), make)


def _comparable(desk: Desk, name: str) -> ServedRun:
    run = desk.library.run(name)
    if not run.recordings and not run.tables:
        raise NotFoundError(
            f"{name}: has neither a timeline nor a behaviour table",
            "choose a run that has one of them",
        )
    return run
