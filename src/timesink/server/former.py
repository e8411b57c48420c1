"""The routes of PyTorch's former TensorBoard plugin, and the functions behind them.

Functions are named as `module:function` of :mod:`timesink.answers.plugin` and imported when they
are first asked for: the server starts at once, and one that fails to load takes no other down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from timesink.answers.plugin.overview import VIEWS as VIEW_NAMES
from timesink.answers.plugin.overview import available_views
from timesink.answers.plugin.query import Query
from timesink.answers.views import load
from timesink.errors import NotFoundError
from timesink.server.jobs import Report
from timesink.server.library import Answer, RequestContext
from timesink.server.runs import ALL_WORKERS, ServedRun

PLUGIN_PATH = "/data/plugin/pytorch_profiler"

View: TypeAlias = Callable[..., Any]
Targets: TypeAlias = Mapping[str, str | View]


class Views(msgspec.Struct, frozen=True):
    """The functions behind the routes, by what they are given."""

    of_trace: Targets
    """Of one trace: `function(trace, query)`."""
    of_ranks: Targets
    """Of all workers of one span: `function(ranks, query)`."""
    of_pair: Targets
    """Of two traces: `function(left, right, query)`."""


VIEWS = Views(
    of_trace={
        "overview": "overview:overview",
        "operation": "operators:operation_pie",
        "operation/table": "operators:operation_table",
        "operation/stack": "operators:operation_stack",
        "kernel": "operators:kernel_pie",
        "kernel/table": "operators:kernel_table_view",
        "kernel/tc_pie": "operators:tensor_core_pie",
        "memory": "memory:memory_table",
        "memory_curve": "memory:memory_curve",
        "memory_events": "memory:memory_events",
        "memory_peak": "memory:memory_peak",
        "module": "operators:module_view",
        "tree": "operators:tree_view",
        "trace": "timeline:trace_view",
    },
    of_ranks={
        "distributed/overlap": "distributed:overlap",
        "distributed/waittime": "distributed:wait_time",
        "distributed/commops": "distributed:communication_operations",
        "distributed/gpuinfo": "distributed:device_info",
        "distributed/mluinfo": "distributed:device_info",
    },
    of_pair={"diff": "distributed:diff", "diffnode": "distributed:diff_node"},
)


def load_view(target: str | View) -> View:
    """The function a target names."""
    if callable(target):
        return target
    view: View = load(target, "timesink.answers.plugin")
    return view


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
        **{route: partial(_await_answer, answer) for route, answer in heavy.items()},
    }


def _await_answer(answer: Any, desk: RequestContext, query: Query) -> Any:
    """What a view gives, for clients that do not ask again: they wait."""
    return desk.jobs.ask(object(), lambda report: answer(desk, query, report), keep=False)


def _runs(desk: RequestContext, _query: Query) -> Any:
    return {"runs": desk.library.runs(), "loading": False}


def _workers(desk: RequestContext, query: Query) -> list[str]:
    run = desk.library.run(query.required("run"))
    view = query.text("view")
    if view and view not in VIEW_NAMES:
        raise NotFoundError(f"no view is named {view!r}", f"there are {', '.join(VIEW_NAMES)}")
    return [ALL_WORKERS] if view == _DISTRIBUTED else run.workers


def _spans(desk: RequestContext, query: Query) -> list[str]:
    run = desk.library.run(query.required("run"))
    return run.spans(query.required("worker"))


def _views(desk: RequestContext, query: Query, _report: Report) -> list[str]:
    """Views with data for the worker, or for any worker where none is named."""
    run = desk.library.run(query.required("run"))
    traces = desk.library.samples(run, query.text("worker") or ALL_WORKERS)
    views = {view for trace in traces for view in available_views(trace)}
    return [view for view in VIEW_NAMES if view in views]


def _of_trace(target: str | View, desk: RequestContext, query: Query, report: Report) -> Any:
    run = desk.library.run(query.required("run"))
    trace = desk.library.trace(run, query.required("worker"), query.required("span"), report)
    return load_view(target)(trace, _about(run, query))


def _of_ranks(target: str | View, desk: RequestContext, query: Query, report: Report) -> Any:
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
        return {**answer, "unreadable": {rank.worker: rank.reason for rank in ranks.damaged}}
    return answer


def _of_pair(target: str | View, desk: RequestContext, query: Query, report: Report) -> Any:
    sides = []
    for prefix in ("", "exp_"):
        run = desk.library.run(query.required(f"{prefix}run"))
        worker, span = query.required(f"{prefix}worker"), query.required(f"{prefix}span")
        sides.append(desk.library.trace(run, worker, span, report))
    return load_view(target)(*sides, _about(desk.library.run(query.required("run")), query))


def _about(run: ServedRun, query: Query) -> Query:
    return replace(query, workers=len(run.workers))
