"""Columns of the tables about communication, of one worker and of all of a span."""

from __future__ import annotations

from timesink.reports.columns import Column, Columns

_GROUP = Column("name of the process group")
_SEQUENCE = Column("its number among the calls of the group")
_MEANS = Column("what it does: `all_reduce`, `all_gather`, `send`, ...", "collective")

CALLS: Columns = {
    "record": Column("number of the row"),
    "name": Column("name of the call as recorded", "call"),
    "collective": _MEANS,
    "library": Column("`nccl`, `gloo`, ...", "library"),
    "step": Column("step of the call; null in none", "step"),
    "group": _GROUP,
    "group_ranks": Column("ranks of the group, as recorded"),
    "group_size": Column("number of ranks in the group", "ranks"),
    "sequence": _SEQUENCE,
    "src_rank": Column("rank that sends"),
    "dst_rank": Column("rank that receives"),
    "dtype": Column("type of the elements", "type"),
    "size_bytes": Column("what the rank puts in", "size"),
    "out_bytes": Column("what it gets out"),
    "start_ns": Column("when the call or its first kernel starts", "start"),
    "end_ns": Column("when the call or its last kernel ends"),
    "host_start_ns": Column("when the call starts; null where only kernels are known"),
    "host_end_ns": Column("when the call ends"),
    "latency_ns": Column("time covered by the call and its kernels together", "latency"),
}

WORKERS: Columns = {
    "worker": Column("name of the worker", "worker"),
    "step": Column("number of the step", "step"),
    "complete": Column("false where the recording ends before the step does", "whole"),
    "communication_ns": Column(
        "time with communication; the two below add up to it", "communication"
    ),
    "transfer_ns": Column("part in which all took part; null for a single worker", "transfer"),
    "waiting_ns": Column("part spent waiting for others; null for a single worker", "waiting"),
}

STATISTICS: Columns = {
    "worker": Column("name of the worker", "worker"),
    "name": Column("name of the call as recorded", "call"),
    "collective": _MEANS,
    "calls": Column("number of calls", "calls"),
    "size_bytes": Column("what the rank put in, added up", "size"),
    "latency_ns": Column("time covered by the calls and their kernels", "latency"),
    "transfer_ns": Column("part in which all took part", "transfer"),
    "algorithm_bytes_per_s": Column("what the collective is about, over its transfer", "algorithm"),
    "bus_bytes_per_s": Column("what the busiest link moved, over its transfer", "bus"),
}

MISMATCHES: Columns = {
    "name": Column("name of the call as recorded", "call"),
    "collective": _MEANS,
    "group": _GROUP,
    "sequence": _SEQUENCE,
    "size_bytes": Column("what a rank puts in", "size"),
    "step": Column("step of the call", "step"),
    "present": Column("workers that made the call", "present"),
    "missing": Column("workers that did not", "missing"),
}

OVERLAP: Columns = {
    "name": Column("number of the step"),
    "start_ns": Column("when it starts"),
    "end_ns": Column("when its device work is done"),
    "complete": Column("false where the recording ends before the step does"),
    "marked": Column("false where no steps were recorded"),
    "computation_ns": Column("time with kernels running; operators where there are none"),
    "communication_ns": Column("time with communication"),
    "overlap_ns": Column("time with both"),
    "other_ns": Column("time with neither"),
}
"""Of the JSON alone: `distributed.overlap`."""
