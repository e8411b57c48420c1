"""What the columns of each table mean, and which of them people see.

Columns are named as the analysis names them; `answers.analysis.sections` says how they reach users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column of a table."""

    meaning: str
    title: str = ""
    """Its heading for people; one without is in CSV and JSON, and further to the right on pages.
    Columns with the same heading share a cell: `64 x 1 x 1`."""
    main: bool = True
    """False for one that has a heading and leaves names too little room."""


Columns: TypeAlias = Mapping[str, ColumnSpec]
"""The columns of a table by name, in the order in which people see them."""


# Columns of the tables about steps and calls: steps, operators, launch sites, modules.

STEPS: Columns = {
    "name": ColumnSpec("number of the step, as recorded; 0 where no steps are marked", "step"),
    "complete": ColumnSpec("false where the recording ends before the step does", "whole"),
    "total_ns": ColumnSpec("length of the step, until its device work is done", "total"),
    "kernel_ns": ColumnSpec("time with a kernel running", "kernels"),
    "memcpy_ns": ColumnSpec("time with a copy running and no kernel", "copies"),
    "memset_ns": ColumnSpec("time with a memset running and none of the above", "memsets"),
    "communication_ns": ColumnSpec("communication, and none of the above", "communication"),
    "runtime_ns": ColumnSpec("calls of the device's runtime, and none of the above", "runtime"),
    "data_loader_ns": ColumnSpec("fetching data, and none of the above", "loading"),
    "cpu_exec_ns": ColumnSpec("operators on the host, and none of the above", "host"),
    "other_ns": ColumnSpec("nothing recorded was active", "other"),
}

OPERATORS: Columns = {
    "name": ColumnSpec("name of the operator", "operator"),
    "input_dims": ColumnSpec("shapes of its inputs; only when grouped by shape", "shapes"),
    "call_stack": ColumnSpec(
        "the Python calls around it, the innermost first; only when grouped by stack", "stack"
    ),
    "calls": ColumnSpec("number of calls", "calls"),
    "calls_with_device_work": ColumnSpec("calls that launched device work, themselves or below"),
    "device_self_ns": ColumnSpec(
        "length of the device work it launched itself, added up: parallel streams count each",
        "device self",
    ),
    "device_total_ns": ColumnSpec(
        "the same with all it called; a call inside its namesake counts once", "device total"
    ),
    "host_self_ns": ColumnSpec("time on the host without the operators it called", "host self"),
    "host_total_ns": ColumnSpec(
        "time on the host from its start to its end, once for a call inside its namesake",
        "host total",
    ),
    "tensor_core_eligible": ColumnSpec("whether it can use tensor cores on this device"),
    "tensor_core_self_ns": ColumnSpec("part of `device_self_us` in kernels that use tensor cores"),
    "tensor_core_total_ns": ColumnSpec(
        "part of `device_total_us` in kernels that use tensor cores"
    ),
    "tensor_core_self_ratio": ColumnSpec("that part of `device_self_us`, 0 to 1", "tensor"),
    "tensor_core_total_ratio": ColumnSpec("that part of `device_total_us`, 0 to 1"),
    "has_call_stack": ColumnSpec("whether the call stack of one of the calls is known"),
}

LAUNCH_SITES: Columns = {
    "site": ColumnSpec(
        "what the launching call stood in: an operator, a step, a module, ...; "
        "`outside of every call`; `launch not in trace`",
        "launched from",
    ),
    "events": ColumnSpec("number of kernels, copies and memsets", "events"),
    "device_ns": ColumnSpec("their lengths, added up", "device time"),
}

PYTHON: Columns = {
    "id": ColumnSpec("number of the row"),
    "parent_id": ColumnSpec("row of the function that calls it; null on top"),
    "name": ColumnSpec("file, line and name of the function, or the module", "function"),
    "calls": ColumnSpec("number of calls", "calls"),
    "host_total_ns": ColumnSpec("time on the host, from start to end", "host total"),
    "host_self_ns": ColumnSpec("the same without the Python functions it called", "host self"),
    "device_total_ns": ColumnSpec(
        "device work launched by it and by all it called", "device total"
    ),
    "device_self_ns": ColumnSpec("device work launched by it, not by a function it called"),
}

MODULES: Columns = {
    "id": ColumnSpec("number of the row"),
    "parent_id": ColumnSpec("row of the module that calls it; null on top"),
    "name": ColumnSpec("name of the module", "module"),
    "module_id": ColumnSpec("the profiler's number of the module"),
    "occurrences": ColumnSpec("number of calls", "calls"),
    "operators": ColumnSpec("number of operators it called itself"),
    "host_total_ns": ColumnSpec("time on the host, from start to end", "host total"),
    "host_self_ns": ColumnSpec("the same without what it called"),
    "device_total_ns": ColumnSpec(
        "device work launched by it and by all it called", "device total"
    ),
    "device_self_ns": ColumnSpec("device work launched by it alone, outside of its operators"),
    "device_with_operators_ns": ColumnSpec(
        "`device_self_us` and the device work of the operators it called itself; modules below are "
        "left out",
        "own device",
    ),
    "backward_host_ns": ColumnSpec("time on the host of its backward pass"),
    "backward_device_ns": ColumnSpec("device work of its backward pass", "backward"),
    "avg_duration_ns": ColumnSpec(
        "device time per call; host time where there is none", "per call"
    ),
}


# Columns of the tables about devices: kernels, launches, idle time, utilisation.

_DEVICE = ColumnSpec("number of the device; null where the recording does not say", "device")
_STREAM = ColumnSpec("stream of the device", "stream")
_NAME = ColumnSpec("name of the kernel as recorded")
_SHORT = ColumnSpec("the same without template arguments and parameters", "kernel")
_TENSOR = ColumnSpec("whether it uses tensor cores; null where its name does not tell", "tensor")
_TOTAL = ColumnSpec("length of all launches, added up", "total")
_MEAN = ColumnSpec("mean length of a launch", "mean")
_BLOCKS = ColumnSpec("blocks per multiprocessor, weighted by time")
_OCCUPANCY = ColumnSpec(
    "the profiler's estimate of occupancy, weighted by time, of kernels that have one", "occupancy"
)

KERNELS: Columns = {
    "name": _NAME,
    "short_name": _SHORT,
    "calls": ColumnSpec("number of launches", "calls"),
    "total_ns": _TOTAL,
    "mean_ns": _MEAN,
    "tensor_cores": _TENSOR,
    "occupancy_pct": _OCCUPANCY,
    "min_ns": ColumnSpec("shortest launch", "min"),
    "max_ns": ColumnSpec("longest launch", "max"),
    "blocks_per_sm": _BLOCKS,
}

KERNEL_LAUNCHES: Columns = {
    "name": _NAME,
    "short_name": _SHORT,
    "operator": ColumnSpec(
        "innermost call around the launch; null where the launch is not recorded", "operator"
    ),
    "launched": ColumnSpec("whether the launching call is in the trace"),
    "calls": ColumnSpec("number of launches", "calls"),
    "total_ns": _TOTAL,
    "mean_ns": _MEAN,
    "min_ns": ColumnSpec("shortest launch"),
    "max_ns": ColumnSpec("longest launch"),
    **{f"grid_{x}": ColumnSpec(f"blocks of the launch along {x}", "grid") for x in "xyz"},
    **{
        f"block_{x}": ColumnSpec(f"threads of a block along {x}", "block", main=False)
        for x in "xyz"
    },
    "registers_per_thread": ColumnSpec("registers of a thread"),
    "shared_memory_bytes": ColumnSpec("shared memory of a block"),
    "kernel_type": ColumnSpec("type of the kernel; Cambricon only"),
    "dim": ColumnSpec("its dimensions; Cambricon only", "dim"),
    "tasktopo": ColumnSpec("its task topology; Cambricon only"),
    "tasktopo_node": ColumnSpec("its node in the task topology; Cambricon only"),
    "tensor_cores": ColumnSpec(_TENSOR.meaning, _TENSOR.title, main=False),
    "eligible": ColumnSpec("whether the operator can use tensor cores on this device"),
    "blocks_per_sm": _BLOCKS,
    "occupancy_pct": _OCCUPANCY,
}

ANNOTATIONS: Columns = {
    "annotation": ColumnSpec(
        "innermost user annotation around the launch; null outside of every one", "annotation"
    ),
    "launched": ColumnSpec("whether the launching call is in the trace", "launched"),
    "activities": ColumnSpec("number of kernels, copies and memsets", "activities"),
    "device_ns": ColumnSpec("their lengths, added up", "device time"),
    "busy_ns": ColumnSpec("time in which at least one of them ran", "busy"),
}

DEVICES: Columns = {
    "device": _DEVICE,
    "window_ns": ColumnSpec("from the first complete step to the end of the last", "window"),
    "utilisation": ColumnSpec("time with a kernel running, of the window, 0 to 1", "kernels"),
    "any_activity": ColumnSpec("the same with copies and memsets, 0 to 1", "any work"),
    "steps_ns": ColumnSpec("length of the complete steps alone"),
    "within_steps": ColumnSpec(
        "time with a kernel running, of the steps alone, 0 to 1", "in steps"
    ),
    "sm_efficiency": ColumnSpec("multiprocessors in use, over the window, 0 to 1", "SM efficiency"),
    "occupancy_pct": ColumnSpec("the profiler's estimate, weighted by kernel time", "occupancy"),
    "tensor_core_ratio": ColumnSpec(
        "kernels that use tensor cores, of the time of all, 0 to 1", "tensor cores"
    ),
}

_SHARED_OUT: Columns = {
    "busy_ns": ColumnSpec("time with anything running", "busy"),
    "idle_ns": ColumnSpec("time with nothing running", "idle"),
    "compute_ns": ColumnSpec("time with computation running", "compute"),
    "communication_ns": ColumnSpec("time with communication running", "communication"),
    "memory_ns": ColumnSpec("time with a copy or memset running", "memory"),
    "compute_only_ns": ColumnSpec("computation with nothing beside it"),
    "exposed_communication_ns": ColumnSpec("communication without computation", "exposed"),
    "exposed_memory_ns": ColumnSpec("copies and memsets with nothing beside them"),
    "communication_overlap_pct": ColumnSpec(
        "part of communication under computation; null without any", "overlap"
    ),
}

DEVICE_TIME: Columns = {
    "device": _DEVICE,
    "activities": ColumnSpec("number of kernels, copies and memsets", "activities"),
    "span_ns": ColumnSpec("from the first activity to the end of the last", "span"),
    **_SHARED_OUT,
}

OVERLAP: Columns = {
    "device": _DEVICE,
    "step": ColumnSpec("number of the step", "step"),
    "complete": ColumnSpec("false where the recording ends before the step does", "whole"),
    "start_ns": ColumnSpec("when the step starts"),
    "span_ns": ColumnSpec("length of the step", "total"),
    **_SHARED_OUT,
}

IDLE: Columns = {
    "device": _DEVICE,
    "stream": _STREAM,
    "activities": ColumnSpec("number of kernels, copies and memsets", "activities"),
    "gaps": ColumnSpec("number of gaps between them", "gaps"),
    "span_ns": ColumnSpec("from the first activity to the end of the last", "span"),
    "busy_ns": ColumnSpec("time with anything running on the stream", "busy"),
    "idle_ns": ColumnSpec("time between activities; the three below add up to it", "idle"),
    "host_wait_ns": ColumnSpec(
        "the next activity was launched only after the gap began", "host wait"
    ),
    "kernel_wait_ns": ColumnSpec("it was launched before, and the gap is short", "kernel wait"),
    "other_ns": ColumnSpec(
        "everything else: other streams, launches that are not recorded", "other"
    ),
}

IDLE_CAUSES: Columns = {
    "device": _DEVICE,
    "steps_ns": ColumnSpec("length of the complete steps", "steps"),
    "idle_ns": ColumnSpec(
        "time of these steps with nothing running; the causes add up to it", "idle"
    ),
    "data_loading_ns": ColumnSpec("the program was fetching data", "loading"),
    "communication_ns": ColumnSpec("it was communicating on the host", "communication"),
    "sync_ns": ColumnSpec("the host waited for the device and could not queue more", "sync"),
    "runtime_call_ns": ColumnSpec("the launching thread sat in another runtime call", "runtime"),
    "stalled_ns": ColumnSpec("no operator and no runtime call for 1 ms or more", "stalled"),
    "host_ns": ColumnSpec("the next activity was not launched yet: launch-bound", "host"),
    "queued_ns": ColumnSpec(
        "the next activity was launched, and waited for something else", "queued"
    ),
    "unrecorded_ns": ColumnSpec(
        "the host waited for the device for a millisecond or more and the device had nothing to do:"
        " what it waited for is not in the trace",
        "not recorded",
    ),
    "unknown_ns": ColumnSpec("the launch of the next activity is not in the trace", "unknown"),
}

GAPS: Columns = {
    "device": _DEVICE,
    "start_ns": ColumnSpec("when the gap starts; in text since the start of the trace", "start"),
    "gap_ns": ColumnSpec("how long nothing ran on the device", "gap"),
    "step": ColumnSpec("step the gap starts in; null between steps", "step"),
    "cause": ColumnSpec(
        "`data_loading`, `sync`, `host_wait` (launched late), `kernel_wait` (queued, short) or "
        "`other`",
        "cause",
    ),
    "host_name": ColumnSpec("host event that covers more than half of the gap", "on the host"),
    "host_kind": ColumnSpec("kind of that event, as in the table `host`"),
    "before": ColumnSpec("activity before the gap", "activity before"),
    "after": ColumnSpec("activity after the gap", "activity after"),
}

LAUNCHES: Columns = {
    "call_name": ColumnSpec("name of the launching call", "call"),
    "kernel_name": ColumnSpec("name of what it launched", "kernel"),
    "calls": ColumnSpec("number of calls", "calls"),
    "activities": ColumnSpec("number of activities they launched"),
    "call_ns": ColumnSpec("time of the calls on the host", "call time"),
    "device_ns": ColumnSpec("time of the activities", "device time"),
    "delay_ns": ColumnSpec("from the end of the call to the start of the activity, added up"),
    "median_delay_ns": ColumnSpec("median of these delays", "median delay"),
    "p90_delay_ns": ColumnSpec("nine of ten delays are shorter", "90 % delay"),
    "max_delay_ns": ColumnSpec("longest delay", "max delay"),
    "launch_bound_pct": ColumnSpec("calls that took longer than what they launched", "bound"),
    "early": ColumnSpec("activities that start before their call: clocks disagree"),
    "waited": ColumnSpec("activities that were over before their call returned"),
}

QUEUE: Columns = {
    "device": _DEVICE,
    "stream": _STREAM,
    "launched": ColumnSpec("activities whose launching call is in the trace", "launched"),
    "span_ns": ColumnSpec("from the first launch to the end of the last activity", "span"),
    "queued_ns": ColumnSpec("time with something in the queue"),
    "queued_pct": ColumnSpec("that part of the span", "queued"),
    "empty_pct": ColumnSpec("the rest of it", "empty"),
    "mean_depth": ColumnSpec("activities in the queue, over time", "mean depth"),
    "median_depth": ColumnSpec("the queue was at most this deep half of the time", "median depth"),
    "max_depth": ColumnSpec("most activities in the queue", "max depth"),
}

QUEUE_DEPTH: Columns = {
    "ts_ns": ColumnSpec("from when on; until the next row of the stream", "from"),
    "device": _DEVICE,
    "stream": _STREAM,
    "depth": ColumnSpec("launched activities that had not started yet", "depth"),
}

OPERATOR_DELAYS: Columns = {
    "operator_name": ColumnSpec("innermost operator; null for launches outside of all", "operator"),
    "kernel_name": ColumnSpec("name of what it launched", "kernel"),
    "activities": ColumnSpec("number of activities", "activities"),
    "until_call_ns": ColumnSpec("mean time from its start to the launching call", "until call"),
    "until_device_ns": ColumnSpec("mean time from that call to the activity", "until device"),
}

KINDS: Columns = {
    "device": _DEVICE,
    "kind": ColumnSpec("computation, communication, memory, or those that ran together", "kind"),
    "activities": ColumnSpec("number of activities; null for several kinds", "activities"),
    "sum_ns": ColumnSpec("their lengths added up; null for several kinds", "added up"),
    "time_ns": ColumnSpec("time in which exactly these kinds ran", "time"),
}


# Columns of the tables about memory.

_MEMORY_PLACE = ColumnSpec("`CPU`, `GPU0`, ...", "device")
_SOURCE = ColumnSpec("`recorded`: the allocator's totals; `summed`: changes added up by timesink")

BY_OPERATOR: Columns = {
    "device": _MEMORY_PLACE,
    "name": ColumnSpec("name of the operator", "operator"),
    "calls": ColumnSpec("number of calls, whatever the device", "calls"),
    "size_increase_bytes": ColumnSpec("taken less given back, with all it called", "increase"),
    "self_size_increase_bytes": ColumnSpec("the same by itself", "self"),
    "allocation_count": ColumnSpec("number of allocations, with all it called"),
    "self_allocation_count": ColumnSpec("the same by itself", "allocations"),
    "allocation_bytes": ColumnSpec("taken, with all it called", "allocated"),
    "self_allocation_bytes": ColumnSpec("the same by itself", "self allocated"),
}

PEAKS: Columns = {
    "device": _MEMORY_PLACE,
    "source": _SOURCE,
    "peak_allocated_bytes": ColumnSpec("most that was allocated", "peak allocated"),
    "peak_allocated_ts_ns": ColumnSpec("when", "at"),
    "peak_step": ColumnSpec("step the host was in then; null in none", "step"),
    "reserved_at_peak_bytes": ColumnSpec("what the allocator held then"),
    "peak_reserved_bytes": ColumnSpec("most that the allocator held", "peak reserved"),
    "peak_reserved_ts_ns": ColumnSpec("when"),
    "fragmentation_bytes": ColumnSpec("held but not allocated at the peak of allocation", "unused"),
    "capacity_bytes": ColumnSpec("memory of the device", "capacity"),
}

LIVE: Columns = {
    "device": _MEMORY_PLACE,
    "category": ColumnSpec(
        "`forward`, `backward`, `optimizer`, `data_loader`, `outside_operators`, "
        "`before_recording`, or `no_addresses` (nothing tells)",
        "category",
    ),
    "operator": ColumnSpec("operator that took it", "operator"),
    "module": ColumnSpec("innermost module around that", "module"),
    "blocks": ColumnSpec("number of blocks; null where it is not known", "blocks"),
    "bytes": ColumnSpec("their size; the rows of a device add up to its peak", "size"),
}

CURVE: Columns = {
    "device": _MEMORY_PLACE,
    "ts_ns": ColumnSpec("time of the record; in text since the start of the trace", "at"),
    "allocated_bytes": ColumnSpec("allocated from then on", "allocated"),
    "reserved_bytes": ColumnSpec("held by the allocator from then on", "reserved"),
    "source": _SOURCE,
}

EVENTS: Columns = {
    "device": _MEMORY_PLACE,
    "operator": ColumnSpec("operator that took the block; null outside of every one", "operator"),
    "caller": ColumnSpec("call around that operator", "caller"),
    "bytes": ColumnSpec("size of the block", "size"),
    "allocated_ts_ns": ColumnSpec("when it was taken; null before the recording", "taken"),
    "released_ts_ns": ColumnSpec("when it was given back; null if it stays", "released"),
    "duration_ns": ColumnSpec("how long it was kept", "kept"),
}
