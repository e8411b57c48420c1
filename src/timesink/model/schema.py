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


@dataclass(frozen=True, slots=True)
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

HOST = TraceTable(
    "host",
    "What the processors did: operators, annotations, Python, runtime and driver calls.",
    (
        _INDEX,
        TableColumn("kind", pl.Enum(HOST_KINDS), "what sort of activity it is"),
        _CATEGORY,
        _NAME,
        _PID,
        _TID,
        _TS,
        _DUR,
        TableColumn("external_id", pl.Int64(), "id that ties an operator to its runtime calls"),
        TableColumn("correlation", pl.Int64(), "id that ties a runtime call to its device work"),
        TableColumn(
            "sequence_number", pl.Int64(), "autograd sequence number, forward and backward"
        ),
        TableColumn(
            "fwd_thread_id", pl.Int64(), "thread of the forward pass, on backward operators"
        ),
        TableColumn("input_dims", _TEXT, "input shapes as JSON text"),
        TableColumn("input_types", _TEXT, "input dtypes as JSON text"),
        TableColumn("concrete_inputs", _TEXT, "scalar input values as JSON text"),
        TableColumn(
            "call_stack", _TEXT, "Python frames separated by ';', outermost last as recorded"
        ),
        TableColumn("module_hierarchy", _TEXT, "module path as recorded on the operator"),
        TableColumn("python_id", pl.Int64(), "id of a Python call"),
        TableColumn("python_parent_id", pl.Int64(), "id of the calling Python call"),
        TableColumn("python_module_id", pl.Int64(), "which nn.Module instance, on module calls"),
    ),
)

DEVICE = TraceTable(
    "device",
    "What the accelerators did: kernels, copies, memsets, collectives, device-side annotations.",
    (
        _INDEX,
        TableColumn("kind", pl.Enum(DEVICE_KINDS), "what sort of activity it is"),
        _CATEGORY,
        _NAME,
        _PID,
        _TID,
        _TS,
        _DUR,
        TableColumn("device", pl.Int32(), "device number inside the process"),
        TableColumn("stream", _TEXT, "stream or queue, as recorded"),
        TableColumn("correlation", pl.Int64(), "id of the runtime call that launched it"),
        TableColumn("external_id", pl.Int64(), "id of the operator that launched it"),
        TableColumn("grid_x", pl.Int64(), "blocks in x (ROCm: work-groups)"),
        TableColumn("grid_y", pl.Int64(), "blocks in y"),
        TableColumn("grid_z", pl.Int64(), "blocks in z"),
        TableColumn("block_x", pl.Int64(), "threads of a block in x"),
        TableColumn("block_y", pl.Int64(), "threads of a block in y"),
        TableColumn("block_z", pl.Int64(), "threads of a block in z"),
        TableColumn("registers_per_thread", pl.Int64(), "registers of one thread"),
        TableColumn(
            "shared_memory_bytes", pl.Int64(), "static and dynamic shared memory of a block"
        ),
        TableColumn("blocks_per_sm", pl.Float64(), "blocks per multiprocessor, from the geometry"),
        TableColumn("warps_per_sm", pl.Float64(), "warps per multiprocessor, from the geometry"),
        TableColumn("occupancy_pct", pl.Float64(), "estimated achieved occupancy in percent"),
        TableColumn("bytes", pl.Int64(), "bytes copied or set"),
        TableColumn("copy_direction", pl.Enum(COPY_DIRECTIONS), "direction of a copy"),
        TableColumn("graph_id", pl.Int64(), "graph whose replay launched it"),
        TableColumn("graph_node_id", pl.Int64(), "node of that graph"),
    ),
)

COLLECTIVES = TraceTable(
    "collectives",
    "Arguments of communication calls, one row per host or device event that carries them.",
    (
        TableColumn(
            "index", pl.UInt32(), "the event in `host` or `device` these arguments belong to"
        ),
        TableColumn("collective", _TEXT, "operation, e.g. allreduce"),
        TableColumn("dtype", _TEXT, "element type"),
        TableColumn("in_elements", pl.Int64(), "elements sent by this rank"),
        TableColumn("out_elements", pl.Int64(), "elements received by this rank"),
        TableColumn("in_split", _TEXT, "send split sizes as text"),
        TableColumn("out_split", _TEXT, "receive split sizes as text"),
        TableColumn("group_size", pl.Int64(), "ranks in the process group"),
        TableColumn("group_name", _TEXT, "process group"),
        TableColumn("group_description", _TEXT, "what the process group is for"),
        TableColumn("group_ranks", _TEXT, "ranks of the process group as text"),
        TableColumn("rank", pl.Int64(), "rank that recorded the call"),
        TableColumn("src_rank", pl.Int64(), "sending rank of a point-to-point call"),
        TableColumn("dst_rank", pl.Int64(), "receiving rank of a point-to-point call"),
        TableColumn("sequence", pl.Int64(), "sequence number inside the process group"),
        TableColumn("comms_id", pl.Int64(), "id of the communicator"),
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
        TableColumn(
            "device_type", pl.Int64(), "0 CPU, 1 CUDA, 20 PrivateUse1, ... (c10::DeviceType)"
        ),
        TableColumn("device", pl.Int64(), "device number, -1 for the host"),
        TableColumn("address", pl.UInt64(), "address of the block"),
        TableColumn("bytes", pl.Int64(), "bytes allocated, negative when freed"),
        TableColumn("total_allocated_bytes", pl.Int64(), "allocated after the event"),
        TableColumn(
            "total_reserved_bytes", pl.Int64(), "reserved by the allocator after the event"
        ),
    ),
)

COUNTERS = TraceTable(
    "counters",
    "Samples of hardware and process counters, from the trace or from a CSV beside it.",
    (
        TableColumn("ts_ns", pl.Int64(), "when the sample was taken, on the trace's clock"),
        TableColumn("counter", _TEXT, "counter name"),
        TableColumn("device", _TEXT, "device or process the sample belongs to, as recorded"),
        TableColumn("value", pl.Float64(), "value in the counter's own unit"),
        TableColumn("source", _TEXT, "`trace`, `profiler_range` or the name of the CSV"),
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
        TableColumn(
            "flow_id", pl.Int64(), "id shared by the ends of one arrow; text ids are hashed"
        ),
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
        TableColumn("key", _TEXT, "argument name as recorded"),
        TableColumn("value", pl.String(), "argument value as JSON text"),
    ),
)

TRACKS = TraceTable(
    "tracks",
    "Names, labels and order of processes and threads.",
    (
        _PID,
        TableColumn("tid", _TEXT, "thread or lane; null for the process itself"),
        TableColumn("name", _TEXT, "name shown for the lane"),
        TableColumn("labels", _TEXT, "labels, e.g. `CPU` or `GPU 0`"),
        TableColumn("sort_index", pl.Int64(), "order of the lanes"),
    ),
)

STEPS = TraceTable(
    "steps",
    "Iterations marked by the profiler on the host, in time order.",
    (
        TableColumn("index", pl.UInt32(), "the marking event in `host`"),
        TableColumn("step", pl.Int64(), "step number"),
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
        TableColumn(
            "launch_id", pl.Int64(), "number the profiler gave the launch inside its process"
        ),
        _PID,
        TableColumn("process", _TEXT, "name of the process"),
        TableColumn("host", _TEXT, "machine the process ran on"),
        TableColumn("device", pl.Int32(), "device number"),
        TableColumn("compute_capability", _TEXT, "generation of the device, e.g. 9.0"),
        TableColumn("context", _TEXT, "device context, as recorded"),
        TableColumn("stream", _TEXT, "stream or queue, as recorded"),
        _NAME,
        *(
            TableColumn(f"{shape}_{axis}", pl.Int64(), f"{things} in {axis}")
            for shape, things in (("grid", "blocks"), ("block", "threads of a block"))
            for axis in "xyz"
        ),
        TableColumn("dur_ns", pl.Int64(), "length in ns; null where it was not measured"),
        TableColumn("tensor_pct", pl.Float64(), "tensor pipe active, percent of its peak"),
        TableColumn("dram_pct", pl.Float64(), "device memory traffic, percent of its peak"),
        TableColumn(
            "sm_pct", pl.Float64(), "busiest unit of the multiprocessors, percent of its peak"
        ),
        TableColumn("occupancy_pct", pl.Float64(), "warps in flight, percent of the most possible"),
    ),
)

KERNEL_METRICS = TraceTable(
    "kernel_metrics",
    "Further metrics of `kernel_calls`, one row per launch and metric.",
    (
        TableColumn("index", pl.UInt32(), "the launch in `kernel_calls`"),
        TableColumn("metric", _TEXT, "name of the metric as recorded"),
        TableColumn(
            "value", pl.Float64(), "value in the base unit: ns, bytes, hertz, percent, counts"
        ),
        TableColumn("unit", _TEXT, "the base unit the value is in; empty for counts"),
    ),
)

BEHAVIOUR = TraceTable(
    "behaviour",
    "What each function cost in each cycle of a run, and how loaded its resources were meanwhile: "
    "one row per cycle, process, function, device and metric. Read from a behaviour table; "
    "computed from a timeline by `timesink behaviour`.",
    (
        TableColumn("cycle", pl.Int64(), "number of the cycle in its process, from 1"),
        TableColumn("cycle_type", pl.Enum(CYCLE_TYPES), "what sort of cycle it is"),
        _PID,
        TableColumn("host", _TEXT, "machine the process ran on"),
        TableColumn("function", _TEXT, "name of the function, as recorded"),
        TableColumn("metric", _TEXT, "counter; null when the function has none in that cycle"),
        TableColumn("device", _TEXT, "`Host` or the accelerator, e.g. `GPU 7`"),
        TableColumn("function_class", _TEXT, "class that says which counters matter to it"),
        TableColumn(
            "beta_pct", pl.Float64(), "time of the function, percent of the cycle's length"
        ),
        TableColumn("mu", pl.Float64(), "counter while it ran, mean weighted by time, in `unit`"),
        TableColumn("sigma", pl.Float64(), "spread of the counter while it ran, in `unit`"),
        TableColumn("unit", _TEXT, "unit of mu and sigma, with a factor where needed: `0.01 MHz`"),
        TableColumn("dur_ns", pl.Int64(), "time of the function in the cycle, all calls together"),
        TableColumn("calls", pl.Int64(), "calls in the cycle"),
        TableColumn(
            "interpolated",
            pl.Enum(INTERPOLATED),
            "calls whose counter value was interpolated: fewer than three samples fell into them",
        ),
        TableColumn("anchor", _TEXT, "what marks the cycle: a call, an annotation, a kernel"),
        TableColumn("cycle_ts_ns", pl.Int64(), "start of the cycle"),
        TableColumn("cycle_dur_ns", pl.Int64(), "length of the cycle"),
        TableColumn("short_name", _TEXT, "the function's name as people say it"),
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
