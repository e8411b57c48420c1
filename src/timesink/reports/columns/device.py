"""Columns of the tables about devices: kernels, launches, idle time, utilisation."""

from __future__ import annotations

from timesink.reports.columns import Column, Columns

_DEVICE = Column("number of the device; null where the recording does not say", "device")
_STREAM = Column("stream of the device", "stream")
_NAME = Column("name of the kernel as recorded")
_SHORT = Column("the same without template arguments and parameters", "kernel")
_TENSOR = Column("whether it uses tensor cores; null where its name does not tell", "tensor")
_TOTAL = Column("length of all launches, added up", "total")
_MEAN = Column("mean length of a launch", "mean")
_BLOCKS = Column("blocks per multiprocessor, weighted by time")
_OCCUPANCY = Column("the profiler's estimate of occupancy, weighted by time", "occupancy")

KERNELS: Columns = {
    "name": _NAME,
    "short_name": _SHORT,
    "calls": Column("number of launches", "calls"),
    "total_ns": _TOTAL,
    "mean_ns": _MEAN,
    "tensor_cores": _TENSOR,
    "occupancy_pct": _OCCUPANCY,
    "min_ns": Column("shortest launch", "min"),
    "max_ns": Column("longest launch", "max"),
    "blocks_per_sm": _BLOCKS,
}

KERNEL_LAUNCHES: Columns = {
    "name": _NAME,
    "short_name": _SHORT,
    "operator": Column(
        "innermost call around the launch; null where the launch is not recorded", "operator"
    ),
    "launched": Column("whether the launching call is in the trace"),
    "calls": Column("number of launches", "calls"),
    "total_ns": _TOTAL,
    "mean_ns": _MEAN,
    "min_ns": Column("shortest launch"),
    "max_ns": Column("longest launch"),
    "grid_x": Column("blocks of the launch along x", "grid"),
    "grid_y": Column("blocks of the launch along y", "grid"),
    "grid_z": Column("blocks of the launch along z", "grid"),
    "block_x": Column("threads of a block along x", "block", main=False),
    "block_y": Column("threads of a block along y", "block", main=False),
    "block_z": Column("threads of a block along z", "block", main=False),
    "registers_per_thread": Column("registers of a thread"),
    "shared_memory_bytes": Column("shared memory of a block"),
    "kernel_type": Column("type of the kernel; Cambricon only"),
    "dim": Column("its dimensions; Cambricon only", "dim"),
    "tasktopo": Column("its task topology; Cambricon only"),
    "tasktopo_node": Column("its node in the task topology; Cambricon only"),
    "tensor_cores": Column(_TENSOR.meaning, _TENSOR.title, main=False),
    "eligible": Column("whether the operator can use tensor cores on this device"),
    "blocks_per_sm": _BLOCKS,
    "occupancy_pct": _OCCUPANCY,
}

ANNOTATIONS: Columns = {
    "annotation": Column(
        "innermost user annotation around the launch; null outside of every one", "annotation"
    ),
    "launched": Column("whether the launching call is in the trace", "launched"),
    "activities": Column("number of kernels, copies and memsets", "activities"),
    "device_ns": Column("their lengths, added up", "device time"),
    "busy_ns": Column("time in which at least one of them ran", "busy"),
}

DEVICES: Columns = {
    "device": _DEVICE,
    "window_ns": Column("from the first complete step to the end of the last", "window"),
    "utilisation": Column("time with a kernel running, of the window, 0 to 1", "kernels"),
    "any_activity": Column("the same with copies and memsets, 0 to 1", "any work"),
    "steps_ns": Column("length of the complete steps alone"),
    "within_steps": Column("time with a kernel running, of the steps alone, 0 to 1", "in steps"),
    "sm_efficiency": Column("multiprocessors in use, over the window, 0 to 1", "SM efficiency"),
    "occupancy_pct": Column("the profiler's estimate, weighted by kernel time", "occupancy"),
    "tensor_core_ratio": Column(
        "kernels that use tensor cores, of those launched by operators, 0 to 1", "tensor cores"
    ),
}

_SHARED_OUT: Columns = {
    "busy_ns": Column("time with anything running", "busy"),
    "idle_ns": Column("time with nothing running", "idle"),
    "compute_ns": Column("time with computation running", "compute"),
    "communication_ns": Column("time with communication running", "communication"),
    "memory_ns": Column("time with a copy or memset running", "memory"),
    "compute_only_ns": Column("computation with nothing beside it"),
    "exposed_communication_ns": Column("communication without computation", "exposed"),
    "exposed_memory_ns": Column("copies and memsets with nothing beside them"),
    "communication_overlap_pct": Column(
        "part of communication under computation; null without any", "overlap"
    ),
}

DEVICE_TIME: Columns = {
    "device": _DEVICE,
    "activities": Column("number of kernels, copies and memsets", "activities"),
    "span_ns": Column("from the first activity to the end of the last", "span"),
    **_SHARED_OUT,
}

OVERLAP: Columns = {
    "device": _DEVICE,
    "step": Column("number of the step", "step"),
    "complete": Column("false where the recording ends before the step does", "whole"),
    "start_ns": Column("when the step starts"),
    "span_ns": Column("length of the step", "total"),
    **_SHARED_OUT,
}

IDLE: Columns = {
    "device": _DEVICE,
    "stream": _STREAM,
    "activities": Column("number of kernels, copies and memsets", "activities"),
    "gaps": Column("number of gaps between them", "gaps"),
    "span_ns": Column("from the first activity to the end of the last", "span"),
    "busy_ns": Column("time with anything running on the stream", "busy"),
    "idle_ns": Column("time between activities; the three below add up to it", "idle"),
    "host_wait_ns": Column("the next activity was launched only after the gap began", "host wait"),
    "kernel_wait_ns": Column("it was launched before, and the gap is short", "kernel wait"),
    "other_ns": Column("everything else: other streams, launches that are not recorded", "other"),
}

IDLE_CAUSES: Columns = {
    "device": _DEVICE,
    "steps_ns": Column("length of the complete steps", "steps"),
    "idle_ns": Column("time of these steps with nothing running; the causes add up to it", "idle"),
    "data_loading_ns": Column("the program was fetching data", "loading"),
    "communication_ns": Column("it was communicating on the host", "communication"),
    "sync_ns": Column("the host waited for the device and could not queue more", "sync"),
    "runtime_call_ns": Column("the launching thread sat in another runtime call", "runtime"),
    "stalled_ns": Column("no operator and no runtime call for 1 ms or more", "stalled"),
    "host_ns": Column("the next activity was not launched yet: launch-bound", "host"),
    "queued_ns": Column("the next activity was launched, and waited for something else", "queued"),
    "unknown_ns": Column("the launch of the next activity is not in the trace", "unknown"),
}

GAPS: Columns = {
    "device": _DEVICE,
    "start_ns": Column("when the gap starts; in text since the start of the trace", "start"),
    "gap_ns": Column("how long nothing ran on the device", "gap"),
    "step": Column("step the gap starts in; null between steps", "step"),
    "cause": Column(
        "`data_loading`, `sync`, `host_wait` (launched late), `kernel_wait` (queued, short) or "
        "`other`",
        "cause",
    ),
    "host_name": Column("host event that covers more than half of the gap", "on the host"),
    "host_kind": Column("kind of that event, as in the table `host`"),
    "before": Column("activity before the gap", "activity before"),
    "after": Column("activity after the gap", "activity after"),
}

LAUNCHES: Columns = {
    "call_name": Column("name of the launching call", "call"),
    "kernel_name": Column("name of what it launched", "kernel"),
    "calls": Column("number of calls", "calls"),
    "activities": Column("number of activities they launched"),
    "call_ns": Column("time of the calls on the host", "call time"),
    "device_ns": Column("time of the activities", "device time"),
    "delay_ns": Column("from the end of the call to the start of the activity, added up"),
    "median_delay_ns": Column("median of these delays", "median delay"),
    "p90_delay_ns": Column("nine of ten delays are shorter", "90 % delay"),
    "max_delay_ns": Column("longest delay", "max delay"),
    "launch_bound_pct": Column("calls that took longer than what they launched", "bound"),
    "early": Column("activities that start before their call: clocks disagree"),
    "waited": Column("activities that were over before their call returned"),
}

QUEUE: Columns = {
    "device": _DEVICE,
    "stream": _STREAM,
    "launched": Column("activities whose launching call is in the trace", "launched"),
    "span_ns": Column("from the first launch to the end of the last activity", "span"),
    "queued_ns": Column("time with something in the queue"),
    "queued_pct": Column("that part of the span", "queued"),
    "empty_pct": Column("the rest of it", "empty"),
    "mean_depth": Column("activities in the queue, over time", "mean depth"),
    "median_depth": Column("the queue was at most this deep half of the time", "median depth"),
    "max_depth": Column("most activities in the queue", "max depth"),
}

QUEUE_DEPTH: Columns = {
    "ts_ns": Column("from when on; until the next row of the stream", "from"),
    "device": _DEVICE,
    "stream": _STREAM,
    "depth": Column("launched activities that had not started yet", "depth"),
}

OPERATOR_DELAYS: Columns = {
    "operator_name": Column("innermost operator; null for launches outside of all", "operator"),
    "kernel_name": Column("name of what it launched", "kernel"),
    "activities": Column("number of activities", "activities"),
    "until_call_ns": Column("mean time from its start to the launching call", "until call"),
    "until_device_ns": Column("mean time from that call to the activity", "until device"),
}

KINDS: Columns = {
    "device": _DEVICE,
    "kind": Column("computation, communication, memory, or those that ran together", "kind"),
    "activities": Column("number of activities; null for several kinds", "activities"),
    "sum_ns": Column("their lengths added up; null for several kinds", "added up"),
    "time_ns": Column("time in which exactly these kinds ran", "time"),
}
