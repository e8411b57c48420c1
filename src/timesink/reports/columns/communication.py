"""Columns of the tables about communication, of one worker and of all of a span."""

from __future__ import annotations

from timesink.reports.columns import Columns, ColumnSpec

_GROUP = ColumnSpec("name of the process group")
_SEQUENCE = ColumnSpec("its number among the calls of the group")
_MEANS = ColumnSpec("what it does: `all_reduce`, `all_gather`, `send`, ...", "collective")

CALLS: Columns = {
    "record": ColumnSpec("number of the row"),
    "name": ColumnSpec("name of the call as recorded", "call"),
    "collective": _MEANS,
    "library": ColumnSpec("`nccl`, `gloo`, ...", "library"),
    "step": ColumnSpec("step of the call; null in none", "step"),
    "group": _GROUP,
    "group_ranks": ColumnSpec("ranks of the group, as recorded"),
    "group_size": ColumnSpec("number of ranks in the group", "ranks"),
    "sequence": _SEQUENCE,
    "src_rank": ColumnSpec("rank that sends"),
    "dst_rank": ColumnSpec("rank that receives"),
    "dtype": ColumnSpec("type of the elements", "type"),
    "size_bytes": ColumnSpec("what the rank puts in", "size"),
    "out_bytes": ColumnSpec("what it gets out"),
    "start_ns": ColumnSpec("when the call or its first kernel starts", "start"),
    "end_ns": ColumnSpec("when the call or its last kernel ends"),
    "host_start_ns": ColumnSpec("when the call starts; null where only kernels are known"),
    "host_end_ns": ColumnSpec("when the call ends"),
    "latency_ns": ColumnSpec("time covered by the call and its kernels together", "latency"),
}

WORKERS: Columns = {
    "worker": ColumnSpec("name of the worker", "worker"),
    "step": ColumnSpec("number of the step", "step"),
    "complete": ColumnSpec("false where the recording ends before the step does", "whole"),
    "communication_ns": ColumnSpec(
        "time with communication; the two below add up to it", "communication"
    ),
    "transfer_ns": ColumnSpec("part in which all took part; null for a single worker", "transfer"),
    "waiting_ns": ColumnSpec("part spent waiting for others; null for a single worker", "waiting"),
}

STATISTICS: Columns = {
    "worker": ColumnSpec("name of the worker", "worker"),
    "name": ColumnSpec("name of the call as recorded", "call"),
    "collective": _MEANS,
    "calls": ColumnSpec("number of calls", "calls"),
    "size_bytes": ColumnSpec("what the rank put in, added up", "size"),
    "latency_ns": ColumnSpec("time covered by the calls and their kernels", "latency"),
    "transfer_ns": ColumnSpec("part in which all took part", "transfer"),
    "algorithm_bytes_per_s": ColumnSpec(
        "what the collective is about, over its transfer", "algorithm"
    ),
    "bus_bytes_per_s": ColumnSpec("what the busiest link moved, over its transfer", "bus"),
}

MISMATCHES: Columns = {
    "name": ColumnSpec("name of the call as recorded", "call"),
    "collective": _MEANS,
    "group": _GROUP,
    "sequence": _SEQUENCE,
    "size_bytes": ColumnSpec("what a rank puts in", "size"),
    "step": ColumnSpec("step of the call", "step"),
    "present": ColumnSpec("workers that made the call", "present"),
    "missing": ColumnSpec("workers that did not", "missing"),
}

OVERLAP: Columns = {
    "name": ColumnSpec("number of the step"),
    "start_ns": ColumnSpec("when it starts"),
    "end_ns": ColumnSpec("when its device work is done"),
    "complete": ColumnSpec("false where the recording ends before the step does"),
    "marked": ColumnSpec("false where no steps were recorded"),
    "computation_ns": ColumnSpec("time with kernels running; operators where there are none"),
    "communication_ns": ColumnSpec("time with communication"),
    "overlap_ns": ColumnSpec("time with both"),
    "other_ns": ColumnSpec("time with neither"),
}
"""Of the JSON alone: `distributed.overlap`."""
