"""The tables of a trace: every column spelled once, with type, unit and meaning.

Readers fill these tables, analyses read them, ``docs/tables.md`` is generated from them and the
tests check readers against them.  Nothing else in the project spells a dtype.

Conventions that hold for every table:

* times are integer nanoseconds, units are part of the column name;
* ``pid``, ``tid`` and ``stream`` are text, because traces use numbers, ``"stream 7"``,
  ``"host(1234)"`` and hexadecimal queue handles alike;
* ``index`` is the position of the event in the source, so file order can always be restored and
  every row can be traced back;
* null means "the source does not say"; it is never replaced by zero.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from polars._typing import PolarsDataType
else:
    PolarsDataType: TypeAlias = object

HOST_KINDS = (
    "operator",
    "annotation",
    "python_function",
    "module",
    "runtime",
    "driver",
    "sync",
    "collective",
    "overhead",
    "trace",
    "instant",
    "other",
)
DEVICE_KINDS = (
    "kernel",
    "memcpy",
    "memset",
    "collective",
    "annotation",
    "sync",
    "profiler_range",
    "other",
)
BUSY_KINDS = ("kernel", "memcpy", "memset", "collective")
"""Device kinds whose union is the device's busy time."""
KERNEL_KINDS = ("kernel", "collective")
"""Device kinds that are kernels; collectives are kernels that communicate."""

COPY_DIRECTIONS = ("HtoD", "DtoH", "DtoD", "HtoH", "PtoP", "other")
FLOW_KINDS = ("launch", "forward_backward", "other")
FLOW_PHASES = ("start", "step", "end")

CYCLE_TYPES = ("prefill", "decode", "generic")
"""What a repeating unit of work is; `generic` where nothing tells."""
INTERPOLATED = ("none", "some", "all")
"""How many calls of a function had too few counter samples of their own: see `behaviour`."""
HOST_DEVICE = "Host"
"""What stands for the processors where accelerators are `GPU 0`, `NPU 3`, ..."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column: its name (with unit), dtype and meaning in a sentence."""

    name: str
    dtype: PolarsDataType
    meaning: str


@dataclass(frozen=True, slots=True, eq=False)
class TraceTable:
    """One table of the trace model."""

    name: str
    meaning: str
    columns: tuple[TableColumn, ...]

    @property
    def schema(self) -> dict[str, PolarsDataType]:
        return {column.name: column.dtype for column in self.columns}

    def empty(self) -> pl.DataFrame:
        return _empty(self).clone()


@cache  # every trace has many empty tables, and making one takes longer than reading a small file
def _empty(table: TraceTable) -> pl.DataFrame:
    return pl.DataFrame(schema=table.schema)


_TEXT = pl.Categorical()

_INDEX = TableColumn("index", pl.UInt32(), "position of the event in the source, counted from 0")
_TS = TableColumn("ts_ns", pl.Int64(), "start, in ns on the clock named by the trace's metadata")
_DUR = TableColumn("dur_ns", pl.Int64(), "length in ns; never negative")
_NAME = TableColumn("name", _TEXT, "name as recorded")
_CATEGORY = TableColumn("category", _TEXT, "category as recorded, before it was mapped to a kind")
_PID = TableColumn("pid", _TEXT, "process, as recorded")
_TID = TableColumn("tid", _TEXT, "thread or lane inside the process, as recorded")
_EVENT = (_CATEGORY, _NAME, _PID, _TID, _TS, _DUR)


def _text(name: str, meaning: str) -> TableColumn:
    return TableColumn(name, _TEXT, meaning)


def _whole(name: str, meaning: str) -> TableColumn:
    return TableColumn(name, pl.Int64(), meaning)


def _real(name: str, meaning: str) -> TableColumn:
    return TableColumn(name, pl.Float64(), meaning)


HOST = TraceTable(
    "host",
    "What the processors did: operators, annotations, Python, runtime and driver calls.",
    (
        _INDEX,
        TableColumn("kind", pl.Enum(HOST_KINDS), "what sort of activity it is"),
        *_EVENT,
        _whole("external_id", "id that ties an operator to its runtime calls"),
        _whole("correlation", "id that ties a runtime call to its device work"),
        _whole("sequence_number", "autograd sequence number, forward and backward"),
        _whole("fwd_thread_id", "thread of the forward pass, on backward operators"),
        _text("input_dims", "input shapes as JSON text"),
        _text("input_types", "input dtypes as JSON text"),
        _text("concrete_inputs", "scalar input values as JSON text"),
        _text(
            "call_stack",
            "Python frames separated by ';', outermost last as recorded; queries and exports have "
            "the functions around an operator where none was",
        ),
        _text("module_hierarchy", "module path as recorded on the operator"),
        _whole("python_id", "id of a Python call"),
        _whole("python_parent_id", "id of the calling Python call"),
        _whole("python_module_id", "which nn.Module instance, on module calls"),
    ),
)

DEVICE = TraceTable(
    "device",
    "What the accelerators did: kernels, copies, memsets, collectives, device-side annotations.",
    (
        _INDEX,
        TableColumn("kind", pl.Enum(DEVICE_KINDS), "what sort of activity it is"),
        *_EVENT,
        TableColumn("device", pl.Int32(), "device number inside the process"),
        _text("stream", "stream or queue, as recorded"),
        _whole("correlation", "id of the runtime call that launched it"),
        _whole("external_id", "id of the operator that launched it"),
        _whole("grid_x", "blocks in x (ROCm: work-groups)"),
        _whole("grid_y", "blocks in y"),
        _whole("grid_z", "blocks in z"),
        _whole("block_x", "threads of a block in x"),
        _whole("block_y", "threads of a block in y"),
        _whole("block_z", "threads of a block in z"),
        _whole("registers_per_thread", "registers of one thread"),
        _whole("shared_memory_bytes", "static and dynamic shared memory of a block"),
        _real("blocks_per_sm", "blocks per multiprocessor, from the geometry"),
        _real("warps_per_sm", "warps per multiprocessor, from the geometry"),
        _real("occupancy_pct", "estimated achieved occupancy in percent"),
        _whole("bytes", "bytes copied or set"),
        TableColumn("copy_direction", pl.Enum(COPY_DIRECTIONS), "direction of a copy"),
        _whole("graph_id", "graph whose replay launched it"),
        _whole("graph_node_id", "node of that graph"),
    ),
)

COLLECTIVES = TraceTable(
    "collectives",
    "Arguments of communication calls, one row per host or device event that carries them.",
    (
        TableColumn(
            "index", pl.UInt32(), "the event in `host` or `device` these arguments belong to"
        ),
        _text("collective", "operation, e.g. allreduce"),
        _text("dtype", "element type"),
        _whole("in_elements", "elements sent by this rank"),
        _whole("out_elements", "elements received by this rank"),
        _text("in_split", "send split sizes as text"),
        _text("out_split", "receive split sizes as text"),
        _whole("group_size", "ranks in the process group"),
        _text("group_name", "process group"),
        _text("group_description", "what the process group is for"),
        _text("group_ranks", "ranks of the process group as text"),
        _whole("rank", "rank that recorded the call"),
        _whole("src_rank", "sending rank of a point-to-point call"),
        _whole("dst_rank", "receiving rank of a point-to-point call"),
        _whole("sequence", "sequence number inside the process group"),
        _whole("comms_id", "id of the communicator"),
    ),
)

MEMORY = TraceTable(
    "memory",
    "Allocations (positive bytes) and frees (negative bytes).",
    (
        _INDEX,
        _TS,
        _PID,
        _TID,
        _whole("device_type", "0 CPU, 1 CUDA, 20 PrivateUse1, ... (c10::DeviceType)"),
        _whole("device", "device number, -1 for the host"),
        TableColumn("address", pl.UInt64(), "address of the block"),
        _whole("bytes", "bytes allocated, negative when freed"),
        _whole("total_allocated_bytes", "allocated after the event"),
        _whole("total_reserved_bytes", "reserved by the allocator after the event"),
    ),
)

COUNTERS = TraceTable(
    "counters",
    "Samples of hardware and process counters, from the trace or from a CSV beside it.",
    (
        _whole("ts_ns", "when the sample was taken, on the trace's clock"),
        _text("counter", "counter name"),
        _text("device", "device or process the sample belongs to, as recorded"),
        _real("value", "value in the counter's own unit"),
        _text("source", "`trace`, `profiler_range` or the name of the CSV"),
        TableColumn("index", pl.UInt32(), "source event, null for samples from a CSV"),
    ),
)

FLOWS = TraceTable(
    "flows",
    "Ends of the arrows between events: launch to kernel, forward to backward.",
    (
        _INDEX,
        TableColumn("kind", pl.Enum(FLOW_KINDS), "what the arrow means"),
        TableColumn("phase", pl.Enum(FLOW_PHASES), "which end of the arrow this is"),
        _whole("flow_id", "id shared by the ends of one arrow; text ids are hashed"),
        _CATEGORY,
        _PID,
        _TID,
        _TS,
    ),
)

EVENT_ARGS = TraceTable(
    "event_args",
    "Arguments that only a few events carry (Triton, synchronisation, vendor specials).",
    (
        TableColumn("index", pl.UInt32(), "the event these arguments belong to"),
        _text("key", "argument name as recorded"),
        TableColumn("value", pl.String(), "argument value as JSON text"),
    ),
)

TRACKS = TraceTable(
    "tracks",
    "Names, labels and order of processes and threads.",
    (
        _PID,
        _text("tid", "thread or lane; null for the process itself"),
        _text("name", "name shown for the lane"),
        _text("labels", "labels, e.g. `CPU` or `GPU 0`"),
        _whole("sort_index", "order of the lanes"),
    ),
)

STEPS = TraceTable(
    "steps",
    "Iterations marked by the profiler on the host, in time order.",
    (
        TableColumn("index", pl.UInt32(), "the marking event in `host`"),
        _whole("step", "step number"),
        _NAME,
        _PID,
        _TID,
        _TS,
        _DUR,
    ),
)

KERNEL_CALLS = TraceTable(
    "kernel_calls",
    "Launches measured by a kernel profiler, in launch order: how long, and how much of the "
    "hardware each used. Durations come from replays of single kernels, not from a timeline.",
    (
        TableColumn("index", pl.UInt32(), "position of the launch in the source, counted from 0"),
        _whole("launch_id", "number the profiler gave the launch inside its process"),
        _PID,
        _text("process", "name of the process"),
        _text("host", "machine the process ran on"),
        TableColumn("device", pl.Int32(), "device number"),
        _text("compute_capability", "generation of the device, e.g. 9.0"),
        _text("context", "device context, as recorded"),
        _text("stream", "stream or queue, as recorded"),
        _NAME,
        *(
            TableColumn(f"{shape}_{axis}", pl.Int64(), f"{things} in {axis}")
            for shape, things in (("grid", "blocks"), ("block", "threads of a block"))
            for axis in "xyz"
        ),
        _whole("dur_ns", "length in ns; null where it was not measured"),
        _real("tensor_pct", "tensor pipe active, percent of its peak"),
        _real("dram_pct", "device memory traffic, percent of its peak"),
        _real("sm_pct", "busiest unit of the multiprocessors, percent of its peak"),
        _real("occupancy_pct", "warps in flight, percent of the most possible"),
    ),
)

KERNEL_METRICS = TraceTable(
    "kernel_metrics",
    "Further metrics of `kernel_calls`, one row per launch and metric.",
    (
        TableColumn("index", pl.UInt32(), "the launch in `kernel_calls`"),
        _text("metric", "name of the metric as recorded"),
        _real("value", "value in the base unit: ns, bytes, hertz, percent, counts"),
        _text("unit", "the base unit the value is in; empty for counts"),
    ),
)

BEHAVIOUR = TraceTable(
    "behaviour",
    "What each function cost in each cycle of a run, and how loaded its resources were meanwhile: "
    "one row per cycle, process, function, device and metric. Read from a behaviour table; "
    "computed from a timeline by `timesink behaviour`.",
    (
        _whole("cycle", "number of the cycle in its process: that of its step, or from 1"),
        TableColumn("cycle_type", pl.Enum(CYCLE_TYPES), "what sort of cycle it is"),
        _PID,
        _text("host", "machine the process ran on"),
        _text("function", "name of the function, as recorded"),
        _text("metric", "counter; null when the function has none in that cycle"),
        _text("device", "`Host` or the accelerator, e.g. `GPU 7`"),
        _text("function_class", "class that says which counters matter to it"),
        _real("beta_pct", "time of the function, percent of the cycle's length"),
        _real("mu", "counter while it ran, mean weighted by time, in `unit`"),
        _real("sigma", "spread of the counter while it ran, in `unit`"),
        _text("unit", "unit of mu and sigma, with a factor where needed: `0.01 MHz`"),
        _whole("dur_ns", "time of the function in the cycle, all calls together"),
        _whole("calls", "calls in the cycle"),
        TableColumn(
            "interpolated",
            pl.Enum(INTERPOLATED),
            "calls whose counter value was interpolated: fewer than three samples fell into them",
        ),
        _text("anchor", "what marks the cycle: a call, an annotation, a kernel"),
        _whole("cycle_ts_ns", "start of the cycle"),
        _whole("cycle_dur_ns", "length of the cycle"),
        _text("short_name", "the function's name as people say it"),
    ),
)

TABLES = {
    table.name: table
    for table in (
        HOST,
        DEVICE,
        COLLECTIVES,
        MEMORY,
        COUNTERS,
        FLOWS,
        EVENT_ARGS,
        TRACKS,
        STEPS,
        KERNEL_CALLS,
        KERNEL_METRICS,
        BEHAVIOUR,
    )
}


_ON_HOST = re.compile(r"^(?P<host>.+)\((?P<pid>\d+)\)$")


def host_and_pid(process: str) -> tuple[str | None, str]:
    """The machine a recorded process such as `host(1234)` names, and its number there."""
    found = _ON_HOST.match(process)
    return (found["host"], found["pid"]) if found else (None, process)


CSV_COLUMNS = {
    "cycle": "cycle",
    "pid": "pid",
    "hostname": "host",
    "beta_pct": "beta_pct",
    "function_name": "function",
    "metric_name": "metric",
    "device": "device",
    "func_type": "function_class",
    "mu_pct": "mu",
    "sigma_pct": "sigma",
    "duration": "dur_ns",
    "interpolation_status": "interpolated",
    "anchor_name": "anchor",
    "anchor_dur_us": "cycle_dur_ns",
    "cycle_start_ts": "cycle_ts_ns",
    "instances_count": "calls",
    "simple_name": "short_name",
    "unit": "unit",
}
"""Columns of the file, in order, and what they are in the model.

Files of others have no `unit` and perhaps no `simple_name`.  Times are microseconds in the file.
"""
TYPE_COLUMN = "cycle_type"
"""A last column, where a file holds other cycles than its name says."""

NO_METRIC = "N/A"
NO_DEVICE = "N/A"
"""What stands for a device that a table does not name."""
INTERPOLATION_MARKS = {" ": "none", "*": "some", "**": "all"}
