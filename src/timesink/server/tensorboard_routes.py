"""The routes of PyTorch's former TensorBoard plugin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from timesink.answers.plugin.overview import VIEWS as VIEW_NAMES
from timesink.answers.plugin.overview import available_views
from timesink.answers.plugin.query import Query
from timesink.errors import NotFoundError
from timesink.server.jobs import Report
from timesink.server.library import Answer, Desk
from timesink.server.replies import View, Views, load_view
from timesink.server.runs import ALL_WORKERS, ServedRun

_DISTRIBUTED = "Distributed"


def former_routes(views: Views) -> Mapping[str, Answer]:
    """What answers each route; listings wait for nobody, views for their turn."""
    heavy = {
        "views": _views,
        **{route: partial(_of_trace, target) for route, target in views.of_trace.items()},
        **{route: partial(_of_ranks, target) for route, target in views.of_ranks.items()},
        **{route: partial(_of_pair, target) for route, target in views.of_pair.items()},
    }
    return {
        "runs": _runs,
        "workers": _workers,
        "spans": _spans,
        **{route: partial(_awaited, answer) for route, answer in heavy.items()},
    }


def _awaited(answer: Any, desk: Desk, query: Query) -> Any:
    return desk.awaited(lambda report: answer(desk, query, report))


def _runs(desk: Desk, _query: Query) -> Any:
    return {"runs": desk.library.runs(), "loading": False}


def _workers(desk: Desk, query: Query) -> list[str]:
    run = desk.library.run(query.required("run"))
    view = query.text("view")
    if view and view not in VIEW_NAMES:
        raise NotFoundError(f"no view is named {view!r}", f"there are {', '.join(VIEW_NAMES)}")
    return [ALL_WORKERS] if view == _DISTRIBUTED else run.workers


def _spans(desk: Desk, query: Query) -> list[str]:
    run = desk.library.run(query.required("run"))
    return run.spans(query.required("worker"))


def _views(desk: Desk, query: Query, _report: Report) -> list[str]:
    """Views with data for the worker, or for any worker where none is named."""
    run = desk.library.run(query.required("run"))
    traces = desk.library.samples(run, query.text("worker") or ALL_WORKERS)
    found = {view for trace in traces for view in available_views(trace)}
    return [view for view in VIEW_NAMES if view in found]


def _of_trace(target: str | View, desk: Desk, query: Query, report: Report) -> Any:
    run = desk.library.run(query.required("run"))
    trace = desk.library.trace(run, query.required("worker"), query.required("span"), report)
    return load_view(target)(trace, _about(run, query))


def _of_ranks(target: str | View, desk: Desk, query: Query, report: Report) -> Any:
    """Of all workers of a span their summaries are enough; of one alone its trace is there."""
    run, span = desk.library.run(query.required("run")), query.required("span")
    worker = query.text("worker", ALL_WORKERS)
    if worker == ALL_WORKERS:
        ranks = desk.library.ranks(run, span, report=report)
    else:
        from timesink.analyses.ranks.rank_set import ranks_of_traces  # noqa: PLC0415 - loads much

        ranks = ranks_of_traces({worker: desk.library.trace(run, worker, span, report)})
    answer = load_view(target)(ranks, _about(run, query))
    if ranks.damaged and isinstance(answer, dict):
        return {**answer, "unreadable": {one.worker: one.reason for one in ranks.damaged}}
    return answer


def _of_pair(target: str | View, desk: Desk, query: Query, report: Report) -> Any:
    sides = []
    for prefix in ("", "exp_"):
        run = desk.library.run(query.required(f"{prefix}run"))
        worker, span = query.required(f"{prefix}worker"), query.required(f"{prefix}span")
        sides.append(desk.library.trace(run, worker, span, report))
    return load_view(target)(*sides, _about(desk.library.run(query.required("run")), query))


def _about(run: ServedRun, query: Query) -> Query:
    return replace(query, workers=len(run.workers))
