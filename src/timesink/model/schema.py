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
class Column:
    """One column: its name (with unit), dtype and meaning in a sentence."""

    name: str
    dtype: PolarsDataType
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the trace model."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> dict[str, PolarsDataType]:
        return {column.name: column.dtype for column in self.columns}

    def empty(self) -> pl.DataFrame:
        return _empty(self).clone()


@cache  # every trace has many empty tables, and making one takes longer than reading a small file
def _empty(table: Table) -> pl.DataFrame:
    return pl.DataFrame(schema=table.schema)


_TEXT = pl.Categorical()

_INDEX = Column("index", pl.UInt32(), "position of the event in the source, counted from 0")
_TS = Column("ts_ns", pl.Int64(), "start, in ns on the clock named by the trace's metadata")
_DUR = Column("dur_ns", pl.Int64(), "length in ns; never negative")
_NAME = Column("name", _TEXT, "name as recorded")
_CATEGORY = Column("category", _TEXT, "category as recorded, before it was mapped to a kind")
_PID = Column("pid", _TEXT, "process, as recorded")
_TID = Column("tid", _TEXT, "thread or lane inside the process, as recorded")

HOST = Table(
    "host",
    "What the processors did: operators, annotations, Python, runtime and driver calls.",
    (
        _INDEX,
        Column("kind", pl.Enum(HOST_KINDS), "what sort of activity it is"),
        _CATEGORY,
        _NAME,
        _PID,
        _TID,
        _TS,
        _DUR,
        Column("external_id", pl.Int64(), "id that ties an operator to its runtime calls"),
        Column("correlation", pl.Int64(), "id that ties a runtime call to its device work"),
        Column("sequence_number", pl.Int64(), "autograd sequence number, forward and backward"),
        Column("fwd_thread_id", pl.Int64(), "thread of the forward pass, on backward operators"),
        Column("input_dims", _TEXT, "input shapes as JSON text"),
        Column("input_types", _TEXT, "input dtypes as JSON text"),
        Column("concrete_inputs", _TEXT, "scalar input values as JSON text"),
        Column("call_stack", _TEXT, "Python frames separated by ';', outermost last as recorded"),
        Column("module_hierarchy", _TEXT, "module path as recorded on the operator"),
        Column("python_id", pl.Int64(), "id of a Python call"),
        Column("python_parent_id", pl.Int64(), "id of the calling Python call"),
        Column("python_module_id", pl.Int64(), "which nn.Module instance, on module calls"),
    ),
)

DEVICE = Table(
    "device",
    "What the accelerators did: kernels, copies, memsets, collectives, device-side annotations.",
    (
        _INDEX,
        Column("kind", pl.Enum(DEVICE_KINDS), "what sort of activity it is"),
        _CATEGORY,
        _NAME,
        _PID,
        _TID,
        _TS,
        _DUR,
        Column("device", pl.Int32(), "device number inside the process"),
        Column("stream", _TEXT, "stream or queue, as recorded"),
        Column("correlation", pl.Int64(), "id of the runtime call that launched it"),
        Column("external_id", pl.Int64(), "id of the operator that launched it"),
        Column("grid_x", pl.Int64(), "blocks in x (ROCm: work-groups)"),
        Column("grid_y", pl.Int64(), "blocks in y"),
        Column("grid_z", pl.Int64(), "blocks in z"),
        Column("block_x", pl.Int64(), "threads of a block in x"),
        Column("block_y", pl.Int64(), "threads of a block in y"),
        Column("block_z", pl.Int64(), "threads of a block in z"),
        Column("registers_per_thread", pl.Int64(), "registers of one thread"),
        Column("shared_memory_bytes", pl.Int64(), "static and dynamic shared memory of a block"),
        Column("blocks_per_sm", pl.Float64(), "blocks per multiprocessor, from the geometry"),
        Column("warps_per_sm", pl.Float64(), "warps per multiprocessor, from the geometry"),
        Column("occupancy_pct", pl.Float64(), "estimated achieved occupancy in percent"),
        Column("bytes", pl.Int64(), "bytes copied or set"),
        Column("copy_direction", pl.Enum(COPY_DIRECTIONS), "direction of a copy"),
        Column("graph_id", pl.Int64(), "graph whose replay launched it"),
        Column("graph_node_id", pl.Int64(), "node of that graph"),
    ),
)

COLLECTIVES = Table(
    "collectives",
    "Arguments of communication calls, one row per host or device event that carries them.",
    (
        Column("index", pl.UInt32(), "the event in `host` or `device` these arguments belong to"),
        Column("collective", _TEXT, "operation, e.g. allreduce"),
        Column("dtype", _TEXT, "element type"),
        Column("in_elements", pl.Int64(), "elements sent by this rank"),
        Column("out_elements", pl.Int64(), "elements received by this rank"),
        Column("in_split", _TEXT, "send split sizes as text"),
        Column("out_split", _TEXT, "receive split sizes as text"),
        Column("group_size", pl.Int64(), "ranks in the process group"),
        Column("group_name", _TEXT, "process group"),
        Column("group_description", _TEXT, "what the process group is for"),
        Column("group_ranks", _TEXT, "ranks of the process group as text"),
        Column("rank", pl.Int64(), "rank that recorded the call"),
        Column("src_rank", pl.Int64(), "sending rank of a point-to-point call"),
        Column("dst_rank", pl.Int64(), "receiving rank of a point-to-point call"),
        Column("sequence", pl.Int64(), "sequence number inside the process group"),
        Column("comms_id", pl.Int64(), "id of the communicator"),
    ),
)

MEMORY = Table(
    "memory",
    "Allocations (positive bytes) and frees (negative bytes).",
    (
        _INDEX,
        _TS,
        _PID,
        _TID,
        Column("device_type", pl.Int64(), "0 CPU, 1 CUDA, 20 PrivateUse1, ... (c10::DeviceType)"),
        Column("device", pl.Int64(), "device number, -1 for the host"),
        Column("address", pl.UInt64(), "address of the block"),
        Column("bytes", pl.Int64(), "bytes allocated, negative when freed"),
        Column("total_allocated_bytes", pl.Int64(), "allocated after the event"),
        Column("total_reserved_bytes", pl.Int64(), "reserved by the allocator after the event"),
    ),
)

COUNTERS = Table(
    "counters",
    "Samples of hardware and process counters, from the trace or from a CSV beside it.",
    (
        Column("ts_ns", pl.Int64(), "when the sample was taken, on the trace's clock"),
        Column("counter", _TEXT, "counter name"),
        Column("device", _TEXT, "device or process the sample belongs to, as recorded"),
        Column("value", pl.Float64(), "value in the counter's own unit"),
        Column("source", _TEXT, "`trace`, `profiler_range` or the name of the CSV"),
        Column("index", pl.UInt32(), "source event, null for samples from a CSV"),
    ),
)

FLOWS = Table(
    "flows",
    "Ends of the arrows between events: launch to kernel, forward to backward.",
    (
        _INDEX,
        Column("kind", pl.Enum(FLOW_KINDS), "what the arrow means"),
        Column("phase", pl.Enum(FLOW_PHASES), "which end of the arrow this is"),
        Column("flow_id", pl.Int64(), "id shared by the ends of one arrow; text ids are hashed"),
        _CATEGORY,
        _PID,
        _TID,
        _TS,
    ),
)

EVENT_ARGS = Table(
    "event_args",
    "Arguments that only a few events carry (Triton, synchronisation, vendor specials).",
    (
        Column("index", pl.UInt32(), "the event these arguments belong to"),
        Column("key", _TEXT, "argument name as recorded"),
        Column("value", pl.String(), "argument value as JSON text"),
    ),
)

TRACKS = Table(
    "tracks",
    "Names, labels and order of processes and threads.",
    (
        _PID,
        Column("tid", _TEXT, "thread or lane; null for the process itself"),
        Column("name", _TEXT, "name shown for the lane"),
        Column("labels", _TEXT, "labels, e.g. `CPU` or `GPU 0`"),
        Column("sort_index", pl.Int64(), "order of the lanes"),
    ),
)

STEPS = Table(
    "steps",
    "Iterations marked by the profiler on the host, in time order.",
    (
        Column("index", pl.UInt32(), "the marking event in `host`"),
        Column("step", pl.Int64(), "step number"),
        _NAME,
        _PID,
        _TID,
        _TS,
        _DUR,
    ),
)

KERNEL_CALLS = Table(
    "kernel_calls",
    "Launches measured by a kernel profiler, in launch order: how long, and how much of the "
    "hardware each used. Durations come from replays of single kernels, not from a timeline.",
    (
        Column("index", pl.UInt32(), "position of the launch in the source, counted from 0"),
        Column("launch_id", pl.Int64(), "number the profiler gave the launch inside its process"),
        _PID,
        Column("process", _TEXT, "name of the process"),
        Column("host", _TEXT, "machine the process ran on"),
        Column("device", pl.Int32(), "device number"),
        Column("compute_capability", _TEXT, "generation of the device, e.g. 9.0"),
        Column("context", _TEXT, "device context, as recorded"),
        Column("stream", _TEXT, "stream or queue, as recorded"),
        _NAME,
        *(
            Column(f"{shape}_{axis}", pl.Int64(), f"{things} in {axis}")
            for shape, things in (("grid", "blocks"), ("block", "threads of a block"))
            for axis in "xyz"
        ),
        Column("dur_ns", pl.Int64(), "length in ns; null where it was not measured"),
        Column("tensor_pct", pl.Float64(), "tensor pipe active, percent of its peak"),
        Column("dram_pct", pl.Float64(), "device memory traffic, percent of its peak"),
        Column("sm_pct", pl.Float64(), "busiest unit of the multiprocessors, percent of its peak"),
        Column("occupancy_pct", pl.Float64(), "warps in flight, percent of the most possible"),
    ),
)

KERNEL_METRICS = Table(
    "kernel_metrics",
    "Further metrics of `kernel_calls`, one row per launch and metric.",
    (
        Column("index", pl.UInt32(), "the launch in `kernel_calls`"),
        Column("metric", _TEXT, "name of the metric as recorded"),
        Column("value", pl.Float64(), "value in the base unit: ns, bytes, hertz, percent, counts"),
        Column("unit", _TEXT, "the base unit the value is in; empty for counts"),
    ),
)

BEHAVIOUR = Table(
    "behaviour",
    "What each function cost in each cycle of a run, and how loaded its resources were meanwhile: "
    "one row per cycle, process, function, device and metric. Read from a behaviour table; "
    "computed from a timeline by `timesink behaviour`.",
    (
        Column("cycle", pl.Int64(), "number of the cycle in its process, from 1"),
        Column("cycle_type", pl.Enum(CYCLE_TYPES), "what sort of cycle it is"),
        _PID,
        Column("host", _TEXT, "machine the process ran on"),
        Column("function", _TEXT, "name of the function, as recorded"),
        Column("metric", _TEXT, "counter; null when the function has none in that cycle"),
        Column("device", _TEXT, "`Host` or the accelerator, e.g. `GPU 7`"),
        Column("function_class", _TEXT, "class that says which counters matter to it"),
        Column("beta_pct", pl.Float64(), "time of the function, percent of the cycle's length"),
        Column("mu", pl.Float64(), "counter while it ran, mean weighted by time, in `unit`"),
        Column("sigma", pl.Float64(), "spread of the counter while it ran, in `unit`"),
        Column("unit", _TEXT, "unit of mu and sigma, with a factor where needed: `0.01 MHz`"),
        Column("dur_ns", pl.Int64(), "time of the function in the cycle, all calls together"),
        Column("calls", pl.Int64(), "calls in the cycle"),
        Column(
            "interpolated",
            pl.Enum(INTERPOLATED),
            "calls whose counter value was interpolated: fewer than three samples fell into them",
        ),
        Column("anchor", _TEXT, "what marks the cycle: a call, an annotation, a kernel"),
        Column("cycle_ts_ns", pl.Int64(), "start of the cycle"),
        Column("cycle_dur_ns", pl.Int64(), "length of the cycle"),
        Column("short_name", _TEXT, "the function's name as people say it"),
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
