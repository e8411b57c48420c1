"""The tables a user can ask for by name; a new analysis is one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from timesink.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from timesink.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Choice:
    """How a table is to be cut: what its rows stand for."""

    group_by: str = ""
    workers: Mapping[str, Trace] | None = None
    """Every worker of the span, for tables that compare them."""


@dataclass(frozen=True, slots=True)
class View:
    """One table: where its analysis is, what it says, what its rows may stand for."""

    place: str
    """`module:function` below `timesink.analyses`; loaded when asked for."""
    title: str
    groups: Mapping[str, Mapping[str, bool]] | None = None
    """Arguments of the analysis for each `--group-by`."""
    per_span: bool = False
    """Whether the analysis takes all workers of a span instead of one trace."""

    def table(self, trace: Trace, choice: Choice) -> pl.DataFrame:
        module, _, name = self.place.partition(":")
        analysis: Callable[..., pl.DataFrame] = getattr(
            import_module(f"timesink.analyses.{module}"), name
        )
        if self.per_span:
            return analysis(choice.workers or {trace.metadata.worker or "worker0": trace})
        return analysis(trace, **self._arguments(choice.group_by))

    def _arguments(self, group_by: str) -> Mapping[str, bool]:
        if not group_by:
            return {}
        if self.groups is None or group_by not in self.groups:
            known = ", ".join(self.groups or {}) or "nothing"
            raise UsageError(
                f"this table cannot be grouped by {group_by!r}", f"it can be grouped by {known}"
            )
        return self.groups[group_by]


_OPERATOR_GROUPS: Mapping[str, Mapping[str, bool]] = {
    "name": {},
    "shape": {"by_shape": True},
    "stack": {"by_stack": True},
    "shape-stack": {"by_shape": True, "by_stack": True},
}

GROUPS = tuple(_OPERATOR_GROUPS)

VIEWS: Mapping[str, View] = {
    "steps": View("breakdown:step_breakdown", "Steps and their parts"),
    "operators": View("operators:operator_table", "Operators", _OPERATOR_GROUPS),
    "launch-sites": View("operators:launch_sites", "Where device work was launched from"),
    "kernels": View("kernels.table:kernel_table", "Kernels"),
    "kernel-launches": View("kernels.table:kernel_groups", "Kernels by operator and launch"),
    "annotations": View("device.annotations:kernels_by_annotation", "Device work by annotation"),
    "devices": View("device.utilisation:device_utilisation", "How busy the devices were"),
    "device-time": View("device.time:device_time", "Computation, communication, copies, idle"),
    "overlap": View("device.time:overlap_by_step", "Overlap of communication and computation"),
    "idle": View("device.idle:idle_breakdown", "Idle time of each stream and its reasons"),
    "idle-causes": View("device.idle_causes:idle_causes", "Why devices were idle during the steps"),
    "gaps": View("device.idle:largest_gaps", "The largest gaps in device work"),
    "launches": View("device.launches:launch_statistics", "Launches and their delays"),
    "queue": View("device.launches:queue_summary", "How much work was queued on each stream"),
    "memory": View("memory.operators:memory_by_operator", "Memory by operator"),
    "memory-peaks": View("memory.curve:memory_peaks", "Memory peaks"),
    "memory-live": View("memory.live:live_at_peak", "What is live at the memory peak"),
    "memory-curve": View("memory.curve:memory_curve", "Memory over time"),
    "memory-events": View("memory.events:memory_events", "Allocations and their lifetime"),
    "modules": View("modules.table:module_table", "Modules"),
    "collectives": View("communication.records:communication_records", "Collective calls"),
    "workers": View("communication.ranks:worker_steps", "Workers and how they wait", per_span=True),
    "collective-statistics": View(
        "communication.ranks:collective_statistics", "Collectives by name and worker", per_span=True
    ),
    "mismatches": View(
        "communication.ranks:mismatched_calls",
        "Collective calls without a partner",
        per_span=True,
    ),
}


def table_of(trace: Trace, view: str, choice: Choice | None = None) -> pl.DataFrame:
    """One of the tables by its name.

    >>> import timesink
    >>> table_of(timesink.open(timesink.sample()), "operators").columns[:2]
    ['name', 'calls']
    """
    if view not in VIEWS:
        raise UsageError(f"there is no table {view!r}", f"choose one of {', '.join(VIEWS)}")
    return VIEWS[view].table(trace, choice or Choice())
