"""Columns of the tables about devices: kernels, launches, idle time, utilisation."""

from __future__ import annotations

from timesink.reports.columns import Columns, ColumnSpec

_DEVICE = ColumnSpec("number of the device; null where the recording does not say", "device")
_STREAM = ColumnSpec("stream of the device", "stream")
_NAME = ColumnSpec("name of the kernel as recorded")
_SHORT = ColumnSpec("the same without template arguments and parameters", "kernel")
_TENSOR = ColumnSpec("whether it uses tensor cores; null where its name does not tell", "tensor")
_TOTAL = ColumnSpec("length of all launches, added up", "total")
_MEAN = ColumnSpec("mean length of a launch", "mean")
_BLOCKS = ColumnSpec("blocks per multiprocessor, weighted by time")
_OCCUPANCY = ColumnSpec("the profiler's estimate of occupancy, weighted by time", "occupancy")

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
    "grid_x": ColumnSpec("blocks of the launch along x", "grid"),
    "grid_y": ColumnSpec("blocks of the launch along y", "grid"),
    "grid_z": ColumnSpec("blocks of the launch along z", "grid"),
    "block_x": ColumnSpec("threads of a block along x", "block", main=False),
    "block_y": ColumnSpec("threads of a block along y", "block", main=False),
    "block_z": ColumnSpec("threads of a block along z", "block", main=False),
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
        "kernels that use tensor cores, of those launched by operators, 0 to 1", "tensor cores"
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
