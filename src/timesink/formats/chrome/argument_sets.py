"""Which arguments of which kind of event are kept, under which column, as what.  Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from timesink.model import vendors

ValueType = Literal["int", "float", "lane", "text"]


@dataclass(frozen=True, slots=True)
class Argument:
    """A column, the argument names it may come from (first wins), and how to keep it."""

    column: str
    keys: tuple[str, ...]
    type: ValueType


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """The arguments of one kind of event."""

    kept: tuple[Argument, ...]
    rare: tuple[tuple[str, ...], ...] = ()
    """Families of keys few events carry; they become rows of `event_args` or `collectives`.
    The first key of a family is on every event that has any of them, and is no column."""
    ignored: tuple[str, ...] = ()
    """Keys that repeat other fields or mean nothing outside the profiler."""
    in_brief: tuple[str, ...] = ()
    """Columns that a brief reading keeps."""

    @property
    def known(self) -> frozenset[str]:
        kept = (key for argument in self.kept for key in argument.keys)
        return frozenset((*kept, *self.rare_keys, *self.ignored))

    @property
    def rare_keys(self) -> frozenset[str]:
        return frozenset(key for family in self.rare for key in family)


_EXTERNAL_ID = Argument("external_id", ("External id", "external id"), "int")
_CORRELATION = Argument(
    "correlation", ("correlation", *vendors.every("correlation_arguments")), "int"
)

FLOW_PHASE_NAMES = {"s": "start", "t": "step", "f": "end"}
COLLECTIVE_KEYS = {
    "Collective name": "collective",
    "dtype": "dtype",
    "In msg nelems": "in_elements",
    "Out msg nelems": "out_elements",
    "In split size": "in_split",
    "Out split size": "out_split",
    "Group size": "group_size",
    "Process Group Name": "group_name",
    "Process Group Description": "group_description",
    "Process Group Ranks": "group_ranks",
    "Rank": "rank",
    "Src Rank": "src_rank",
    "Dst Rank": "dst_rank",
    "Seq": "sequence",
    "Comms Id": "comms_id",
}
_COLLECTIVE = (*COLLECTIVE_KEYS, "Global rank start", "Global rank stride", "Process Group ID")
_TRITON_KEYS = (
    *("kernel_backend", "kernel_file", "kernel_hash", "kernel_kwargs", "kernel_name"),
    *("kernel_num_gb", "kernel_flop", "num_warps", "num_stages"),
)

_INPUT_COLUMNS = ("input_dims", "input_types")

OPERATOR = ArgumentSet(
    kept=(
        _EXTERNAL_ID,
        Argument("sequence_number", ("Sequence number",), "int"),
        Argument("fwd_thread_id", ("Fwd thread id",), "int"),
        Argument("input_dims", ("Input Dims", "Input dims"), "text"),
        Argument("input_types", ("Input type",), "text"),
        Argument("concrete_inputs", ("Concrete Inputs",), "text"),
        Argument("call_stack", ("Call stack",), "text"),
        Argument("module_hierarchy", ("Module Hierarchy",), "text"),
    ),
    rare=(_COLLECTIVE, (*_TRITON_KEYS, "stream", "grid")),
    ignored=(
        *("Ev Idx", "Record function id", "Input Strides", "Trace name", "Trace iteration"),
        *("Profiler Event Index", "Device", "finished", "Op count", "scope", "critical"),
    ),
    in_brief=("external_id",),
)
INPUTS = ArgumentSet(
    kept=tuple(argument for argument in OPERATOR.kept if argument.column in _INPUT_COLUMNS)
)
"""What a brief reading keeps of chosen operators only."""
PYTHON = ArgumentSet(
    kept=(
        Argument("python_id", ("Python id",), "int"),
        Argument("python_parent_id", ("Python parent id",), "int"),
        Argument("python_module_id", ("Python module id",), "int"),
    ),
    ignored=("Ev Idx", "finished", "External id"),
    in_brief=("python_module_id",),
)
RUNTIME = ArgumentSet(
    kept=(
        _CORRELATION,
        _EXTERNAL_ID,
        Argument("grid", ("grid",), "text"),
        Argument("block", ("block",), "text"),
        Argument("shared_memory_bytes", ("shared memory",), "int"),
    ),
    ignored=(
        *("cbid", "cid", "kernel", "external ts", "src", "dst"),
        *("kind", "bytes", "size", "ptr", "stream", "critical"),
    ),
    # The geometry is that of the kernel, where the kernel itself has none.
    in_brief=("correlation", "external_id", "grid", "block"),
)
DEVICE = ArgumentSet(
    kept=(
        Argument("device", ("device", *vendors.every("device_arguments")), "lane"),
        Argument("stream", ("stream", *vendors.every("stream_arguments")), "lane"),
        _CORRELATION,
        _EXTERNAL_ID,
        Argument("grid", ("grid",), "text"),
        Argument("block", ("block",), "text"),
        Argument("registers_per_thread", ("registers per thread",), "int"),
        Argument("shared_memory_bytes", ("shared memory",), "int"),
        Argument("blocks_per_sm", ("blocks per SM",), "float"),
        Argument("warps_per_sm", ("warps per SM",), "float"),
        Argument("occupancy_pct", ("est. achieved occupancy %",), "float"),
        Argument("bytes", ("bytes", "size"), "int"),
        Argument("direction", ("direction", "kind"), "text"),
        Argument("graph_id", ("graph id",), "int"),
        Argument("graph_node_id", ("graph node id",), "int"),
        Argument("task_type", ("Task Type",), "text"),
    ),
    rare=(_COLLECTIVE, *vendors.every("rare_arguments")),
    ignored=(
        *("queued", "context", "memory bandwidth (GB/s)", "theoretical occupancy %", "packet_ptr"),
        *("k_work_ptr", "row", "column", "sqid", "critical"),
        *vendors.every("ignored_arguments"),
    ),
    in_brief=(
        *("device", "stream", "correlation", "external_id"),
        *("grid", "bytes", "direction", "task_type"),
    ),
)
MEMORY = ArgumentSet(
    kept=(
        Argument("device_type", ("Device Type",), "int"),
        Argument("device", ("Device Id",), "int"),
        Argument("address", ("Addr",), "lane"),
        Argument("bytes", ("Bytes",), "int"),
        Argument("total_allocated_bytes", ("Total Allocated",), "int"),
        Argument("total_reserved_bytes", ("Total Reserved",), "int"),
    ),
    ignored=("Ev Idx", "finished"),
)
LANE_METADATA = ArgumentSet(
    kept=(
        Argument("lane_name", ("name",), "lane"),
        Argument("labels", ("labels",), "lane"),
        Argument("sort_index", ("sort_index",), "int"),
    ),
    in_brief=("lane_name", "labels", "sort_index"),
)
