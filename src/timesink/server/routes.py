"""Which function answers which route.

Functions are named as `module:function` of :mod:`timesink.reports.plugin` and imported when they
are first asked for: the server starts at once, and one that fails to load takes no other down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from timesink.reports.loading import load

PLUGIN_PATH = "/data/plugin/pytorch_profiler"

View: TypeAlias = Callable[..., Any]
Targets: TypeAlias = Mapping[str, str | View]


@dataclass(frozen=True)
class Views:
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
        "kernel": "kernels:kernel_pie",
        "kernel/table": "kernels:kernel_table_view",
        "kernel/tc_pie": "kernels:tensor_core_pie",
        "memory": "memory:memory_table",
        "memory_curve": "memory:memory_curve",
        "memory_events": "memory:memory_events",
        "memory_peak": "memory_peak:memory_peak",
        "module": "modules:module_view",
        "tree": "modules:tree_view",
        "trace": "timeline:trace_view",
    },
    of_ranks={
        "distributed/overlap": "distributed:overlap",
        "distributed/waittime": "distributed:wait_time",
        "distributed/commops": "distributed:communication_operations",
        "distributed/gpuinfo": "distributed:device_info",
        "distributed/mluinfo": "distributed:device_info",
    },
    of_pair={
        "diff": "diff:diff",
        "diffnode": "diff:diff_node",
    },
)


def load_view(target: str | View) -> View:
    """The function a target names."""
    if callable(target):
        return target
    view: View = load(target, "timesink.reports.plugin")
    return view
