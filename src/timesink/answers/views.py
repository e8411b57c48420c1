"""The tables a user can ask for by name; a new analysis is one entry here, and its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from timesink.answers import columns as calls
from timesink.answers import columns as device
from timesink.answers import columns as memory
from timesink.answers import rank_columns as communication
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
NO_MEMORY = Absent("no memory was recorded", "profile with profile_memory=True")
NO_MODULES = Absent("no modules were recorded", "profile with with_stack=True")
NO_COMMUNICATION = Absent("nothing in this run communicates", "give the folder of all ranks")
ALL_MATCHED = Absent("no collective call lacks a partner among the workers given")
NO_STRAGGLERS = Absent("no rank holds the others up")


# Functions named as text, loaded when they are first asked for.


def load(place: str, package: str) -> Any:
    """What `module:function` names below a package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)


@dataclass(frozen=True, slots=True)
class TableChoice:
    """How a table is to be cut: what its rows stand for."""

    group_by: str = ""
    """For tables that can be grouped; others do not mind."""
    ranks: RankSet | None = None
    """Every rank of the run, for tables that compare them."""


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

    def table(self, trace: Trace, choice: TableChoice) -> pl.DataFrame:
        """The table of a trace."""
        analysis: Callable[..., pl.DataFrame] = load(self.place, "timesink.analyses")
        if self.per_span:
            return analysis(choice.ranks or _alone(trace))
        return analysis(trace, **self.groups.get(choice.group_by, {})).drop(self.hidden)


_OPERATOR_GROUPS: Mapping[str, Mapping[str, bool]] = {
    "name": {},
    "shape": {"by_shape": True},
    "stack": {"by_stack": True},
    "shape-stack": {"by_shape": True, "by_stack": True},
}

GROUPS = tuple(_OPERATOR_GROUPS)

VIEWS: Mapping[str, View] = {
    "steps": View("steps:step_breakdown", "Steps and their parts", calls.STEPS, NO_STEPS),
    "operators": View(
        "operators:operator_table",
        "Operators",
        calls.OPERATORS,
        NO_OPERATORS,
        share_of=("device_self_ns", "host_self_ns"),
        hidden=("first_place",),
        groups=_OPERATOR_GROUPS,
    ),
    "launch-sites": View(
        "operators:launch_sites",
        "Where device work was launched from",
        calls.LAUNCH_SITES,
        NO_DEVICE_WORK,
        share_of=("device_ns",),
    ),
    "kernels": View(
        "kernels.table:kernel_table",
        "Kernels",
        device.KERNELS,
        NO_KERNELS,
        share_of=("total_ns",),
    ),
    "kernel-launches": View(
        "kernels.table:kernel_groups",
        "Kernels by operator and launch",
        device.KERNEL_LAUNCHES,
        NO_KERNELS,
        share_of=("total_ns",),
    ),
    "annotations": View(
        "device.activities:kernels_by_annotation",
        "Device work by annotation",
        device.ANNOTATIONS,
        NO_DEVICE_WORK,
        share_of=("device_ns",),
    ),
    "devices": View(
        "device.utilisation:device_utilisation",
        "How busy the devices were",
        device.DEVICES,
        NO_KERNELS,
    ),
    "device-time": View(
        "device.utilisation:device_time",
        "Computation, communication, copies, idle",
        device.DEVICE_TIME,
        NO_DEVICE_WORK,
    ),
    "overlap": View(
        "device.utilisation:overlap_by_step",
        "Overlap of communication and computation",
        device.OVERLAP,
        NO_DEVICE_WORK,
    ),
    "kernel-kinds": View(
        "device.utilisation:kernel_kinds",
        "Kinds of device work, alone and together",
        device.KINDS,
        NO_DEVICE_WORK,
        share_of=("time_ns",),
    ),
    "idle": View(
        "device.idle:idle_breakdown",
        "Idle time of each stream and its reasons",
        device.IDLE,
        NO_DEVICE_WORK,
    ),
    "idle-causes": View(
        "device.idle:idle_causes",
        "Why devices were idle during the steps",
        device.IDLE_CAUSES,
        NO_DEVICE_WORK,
    ),
    "gaps": View(
        "device.idle:largest_gaps",
        "The largest gaps in device work",
        device.GAPS,
        NO_GAPS,
    ),
    "launches": View(
        "device.activities:launch_statistics",
        "Launches and their delays",
        device.LAUNCHES,
        NO_LAUNCHES,
    ),
    "operator-delays": View(
        "device.activities:operator_delays",
        "From the operator to the call to the device",
        device.OPERATOR_DELAYS,
        NO_LAUNCHES,
    ),
    "queue": View(
        "device.activities:queue_summary",
        "How much work was queued on each stream",
        device.QUEUE,
        NO_LAUNCHES,
    ),
    "queue-depth": View(
        "device.activities:queue_depth",
        "What was queued on each stream over time",
        device.QUEUE_DEPTH,
        NO_LAUNCHES,
    ),
    "memory": View(
        "memory.blocks:memory_by_operator",
        "Memory by operator",
        memory.BY_OPERATOR,
        NO_MEMORY,
    ),
    "memory-peaks": View("memory.curve:memory_peaks", "Memory peaks", memory.PEAKS, NO_MEMORY),
    "memory-live": View(
        "memory.blocks:live_at_peak",
        "What is live at the memory peak",
        memory.LIVE,
        NO_MEMORY,
    ),
    "memory-curve": View("memory.curve:memory_curve", "Memory over time", memory.CURVE, NO_MEMORY),
    "memory-events": View(
        "memory.blocks:memory_events",
        "Allocations and their lifetime",
        memory.EVENTS,
        NO_MEMORY,
    ),
    "modules": View("modules:module_table", "Modules", calls.MODULES, NO_MODULES),
    "collectives": View(
        "communication.records:communication_records",
        "Collective calls",
        communication.CALLS,
        NO_COMMUNICATION,
    ),
    "workers": View(
        "ranks.rank_set:worker_steps",
        "Workers and how they wait",
        communication.WORKERS,
        NO_COMMUNICATION,
        per_span=True,
    ),
    "collective-statistics": View(
        "ranks.rank_set:collective_statistics",
        "Collectives by name and worker",
        communication.STATISTICS,
        NO_COMMUNICATION,
        per_span=True,
    ),
    "mismatches": View(
        "ranks.rank_set:mismatched_calls",
        "Collective calls without a partner",
        communication.MISMATCHES,
        ALL_MATCHED,
        per_span=True,
    ),
    "ranks": View(
        "ranks.rank_set:rank_rows",
        "Ranks: what they spend a step on, and who waits for whom",
        ranks.RANKS,
        NO_STEPS,
        per_span=True,
    ),
    "stragglers": View(
        "ranks.rank_set:straggler_rows",
        "Ranks that hold the others up",
        ranks.STRAGGLERS,
        NO_STRAGGLERS,
        per_span=True,
    ),
    "collectives-matched": View(
        "ranks.rank_set:matched_collectives",
        "Collectives of all ranks by group, kind and size",
        ranks.MATCHED,
        NO_COMMUNICATION,
        per_span=True,
    ),
    "clocks": View(
        "ranks.rank_set:clock_rows",
        "Clocks of the ranks",
        ranks.CLOCKS,
        NO_COMMUNICATION,
        per_span=True,
    ),
    "rank-steps": View(
        "ranks.rank_set:rank_steps",
        "Every step of every rank",
        ranks.RANK_STEPS,
        NO_STEPS,
        per_span=True,
    ),
    "process-groups": View(
        "ranks.rank_set:process_groups",
        "Process groups and what they are for",
        ranks.PROCESS_GROUPS,
        NO_COMMUNICATION,
        per_span=True,
    ),
    "rank-groups": View(
        "ranks.rank_set:rank_groups",
        "Ranks that behave alike, and odd ones",
        ranks.RANK_GROUPS,
        NO_STEPS,
        per_span=True,
    ),
}


def _alone(trace: Trace) -> RankSet:
    """The set of a single rank."""
    from timesink.analyses.ranks.rank_set import ranks_of_traces  # noqa: PLC0415 - few need it

    return ranks_of_traces({trace.metadata.worker or "worker0": trace})


def table_of(trace: Trace, view: str, choice: TableChoice | None = None) -> pl.DataFrame:
    """One of the tables by its name."""
    return find_view(view).table(trace, choice or TableChoice())


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
