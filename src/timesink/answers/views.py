"""The tables a user can ask for by name; a new analysis is one entry here, and its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from timesink.answers import columns as of
from timesink.answers import rank_columns as ranks
from timesink.answers.columns import Columns
from timesink.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from timesink.analyses.ranks.rank_set import RankSet
    from timesink.model.trace import Trace


# Why a table or a section is empty, and what to record to fill it.


@dataclass(frozen=True, slots=True)
class Absent:
    """The reason, and what to try; the hint is empty where nothing is amiss."""

    reason: str
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """In the place of a section."""
        return {"rows": [], "reason": self.reason, "hint": self.hint}


NO_STEPS = Absent("nothing in this trace takes time", "profile a few steps of the program")
NO_OPERATORS = Absent("no operators were recorded", "profile with ProfilerActivity.CPU")
NO_DEVICE_WORK = Absent(
    "no device work was recorded", "profile with ProfilerActivity.CUDA, or that of your device"
)
NO_KERNELS = Absent("no kernels were recorded", NO_DEVICE_WORK.hint)
NO_LAUNCHES = Absent(
    "no device work can be told to a launch", "profile the host and the device together"
)
NO_GAPS = Absent("no device stands still between two activities")
NO_MEMORY = Absent(
    "no memory was recorded",
    "record with  timesink record --with memory -- CMD, or profile with profile_memory=True",
)
NO_MODULES = Absent("no modules were recorded", "profile with with_stack=True")
NO_PYTHON = Absent("no Python functions were recorded", NO_MODULES.hint)
NO_COMMUNICATION = Absent("nothing in this run communicates", "give the folder of all ranks")
ALL_MATCHED = Absent("no collective call lacks a partner among the workers given")
NO_STRAGGLERS = Absent("no rank holds the others up")


def load(place: str, package: str) -> Any:
    """What `module:function` names below a package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)


@dataclass(frozen=True, slots=True)
class View:
    """One table: where its analysis is, what it says, what its rows may stand for."""

    place: str
    """`module:function` below `timesink.analyses`; loaded when asked for."""
    title: str
    columns: Columns
    absent: Absent
    """What to say when the table is empty."""
    share_of: tuple[str, ...] = ()
    """People also see each row's part of this column; of the first of these that is not zero."""
    hidden: tuple[str, ...] = ()
    """Columns of the analysis that are not for users."""
    groups: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """Arguments of the analysis for each `--group-by`."""
    per_span: bool = False
    """Whether the analysis takes all ranks of a run instead of one trace."""

    def table(self, trace: Trace, group_by: str = "", ranks: RankSet | None = None) -> pl.DataFrame:
        """The table of a trace, or of all ranks of its run for one that compares them."""
        analysis: Callable[..., pl.DataFrame] = load(self.place, "timesink.analyses")
        if self.per_span:
            from timesink.analyses.ranks.rank_set import ranks_of_traces  # noqa: PLC0415 - few need it

            alone = {trace.metadata.worker or "worker0": trace}
            return analysis(ranks or ranks_of_traces(alone))
        return analysis(trace, **self.groups.get(group_by, {})).drop(self.hidden)


_OPERATOR_GROUPS: Mapping[str, Mapping[str, bool]] = {
    "name": {},
    "shape": {"by_shape": True},
    "stack": {"by_stack": True},
    "shape-stack": {"by_shape": True, "by_stack": True},
}

GROUPS = tuple(_OPERATOR_GROUPS)


def _of_ranks(function: str, title: str, columns: Columns, absent: Absent) -> View:
    """A table that compares the ranks of a run."""
    return View(f"ranks.rank_set:{function}", title, columns, absent, per_span=True)


VIEWS: Mapping[str, View] = {
    "steps": View("steps:step_breakdown", "Steps and their parts", of.STEPS, NO_STEPS),
    "operators": View(
        "operators:operator_table",
        "Operators",
        of.OPERATORS,
        NO_OPERATORS,
        share_of=("device_self_ns", "host_self_ns"),
        hidden=("first_place",),
        groups=_OPERATOR_GROUPS,
    ),
    "launch-sites": View(
        "operators:launch_sites",
        "Where device work was launched from",
        of.LAUNCH_SITES,
        NO_DEVICE_WORK,
        share_of=("device_ns",),
    ),
    "kernels": View(
        "kernels.table:kernel_table", "Kernels", of.KERNELS, NO_KERNELS, share_of=("total_ns",)
    ),
    "kernel-launches": View(
        "kernels.table:kernel_groups",
        "Kernels by operator and launch",
        of.KERNEL_LAUNCHES,
        NO_KERNELS,
        share_of=("total_ns",),
    ),
    "annotations": View(
        "device.activities:kernels_by_annotation",
        "Device work by annotation",
        of.ANNOTATIONS,
        NO_DEVICE_WORK,
        share_of=("device_ns",),
    ),
    "devices": View(
        "device.utilisation:device_utilisation", "How busy the devices were", of.DEVICES, NO_KERNELS
    ),
    "device-time": View(
        "device.utilisation:device_time",
        "Computation, communication, copies, idle",
        of.DEVICE_TIME,
        NO_DEVICE_WORK,
    ),
    "overlap": View(
        "device.utilisation:overlap_by_step",
        "Overlap of communication and computation",
        of.OVERLAP,
        NO_DEVICE_WORK,
    ),
    "kernel-kinds": View(
        "device.utilisation:kernel_kinds",
        "Kinds of device work, alone and together",
        of.KINDS,
        NO_DEVICE_WORK,
        share_of=("time_ns",),
    ),
    "idle": View(
        "device.idle:idle_breakdown",
        "Idle time of each stream and its reasons",
        of.IDLE,
        NO_DEVICE_WORK,
    ),
    "idle-causes": View(
        "device.idle:idle_causes",
        "Why devices were idle during the steps",
        of.IDLE_CAUSES,
        NO_DEVICE_WORK,
    ),
    "gaps": View("device.idle:largest_gaps", "The largest gaps in device work", of.GAPS, NO_GAPS),
    "launches": View(
        "device.activities:launch_statistics", "Launches and their delays", of.LAUNCHES, NO_LAUNCHES
    ),
    "operator-delays": View(
        "device.activities:operator_delays",
        "From the operator to the call to the device",
        of.OPERATOR_DELAYS,
        NO_LAUNCHES,
    ),
    "queue": View(
        "device.activities:queue_summary",
        "How much work was queued on each stream",
        of.QUEUE,
        NO_LAUNCHES,
    ),
    "queue-depth": View(
        "device.activities:queue_depth",
        "What was queued on each stream over time",
        of.QUEUE_DEPTH,
        NO_LAUNCHES,
    ),
    "memory": View(
        "memory.blocks:memory_by_operator", "Memory by operator", of.BY_OPERATOR, NO_MEMORY
    ),
    "memory-peaks": View("memory.curve:memory_peaks", "Memory peaks", of.PEAKS, NO_MEMORY),
    "memory-live": View(
        "memory.blocks:live_at_peak", "What is live at the memory peak", of.LIVE, NO_MEMORY
    ),
    "memory-curve": View("memory.curve:memory_curve", "Memory over time", of.CURVE, NO_MEMORY),
    "memory-events": View(
        "memory.blocks:memory_events", "Allocations and their lifetime", of.EVENTS, NO_MEMORY
    ),
    "modules": View("modules:module_table", "Modules", of.MODULES, NO_MODULES),
    "python": View("modules:python_table", "Python functions", of.PYTHON, NO_PYTHON),
    "collectives": View(
        "communication.records:communication_records",
        "Collective calls",
        ranks.CALLS,
        NO_COMMUNICATION,
    ),
    "workers": _of_ranks(
        "worker_steps", "Workers and how they wait", ranks.WORKERS, NO_COMMUNICATION
    ),
    "collective-statistics": _of_ranks(
        "collective_statistics",
        "Collectives by name and worker",
        ranks.STATISTICS,
        NO_COMMUNICATION,
    ),
    "mismatches": _of_ranks(
        "mismatched_calls", "Collective calls without a partner", ranks.MISMATCHES, ALL_MATCHED
    ),
    "ranks": _of_ranks(
        "rank_rows",
        "Ranks: what they spend a step on, and who waits for whom",
        ranks.RANKS,
        NO_STEPS,
    ),
    "stragglers": _of_ranks(
        "straggler_rows", "Ranks that hold the others up", ranks.STRAGGLERS, NO_STRAGGLERS
    ),
    "collectives-matched": _of_ranks(
        "matched_collectives",
        "Collectives of all ranks by group, kind and size",
        ranks.MATCHED,
        NO_COMMUNICATION,
    ),
    "clocks": _of_ranks("clock_rows", "Clocks of the ranks", ranks.CLOCKS, NO_COMMUNICATION),
    "rank-steps": _of_ranks("rank_steps", "Every step of every rank", ranks.RANK_STEPS, NO_STEPS),
    "process-groups": _of_ranks(
        "process_groups",
        "Process groups and what they are for",
        ranks.PROCESS_GROUPS,
        NO_COMMUNICATION,
    ),
    "rank-groups": _of_ranks(
        "rank_groups", "Ranks that behave alike, and odd ones", ranks.RANK_GROUPS, NO_STEPS
    ),
}


def find_view(name: str) -> View:
    """The table of this name."""
    if name not in VIEWS:
        raise UsageError(f"there is no table {name!r}", f"choose one of {', '.join(VIEWS)}")
    return VIEWS[name]


def check_group(group_by: str, view: str | None = None) -> None:
    """Refuse a grouping that is not known, or that this table does not know."""
    if not group_by:
        return
    if group_by not in GROUPS:
        raise UsageError(
            f"nothing can be grouped by {group_by!r}", f"choose one of {', '.join(GROUPS)}"
        )
    if view is not None and group_by not in find_view(view).groups:
        known = ", ".join(name for name, one in VIEWS.items() if one.groups)
        raise UsageError(f"the table {view!r} cannot be grouped", f"this can be: {known}")
