"""Columns of the tables about memory."""

from __future__ import annotations

from timesink.reports.columns import Columns, ColumnSpec

_DEVICE = ColumnSpec("`CPU`, `GPU0`, ...", "device")
_SOURCE = ColumnSpec("`recorded`: the allocator's totals; `summed`: changes added up by timesink")

BY_OPERATOR: Columns = {
    "device": _DEVICE,
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
    "device": _DEVICE,
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
    "device": _DEVICE,
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
    "device": _DEVICE,
    "ts_ns": ColumnSpec("time of the record; in text since the start of the trace", "at"),
    "allocated_bytes": ColumnSpec("allocated from then on", "allocated"),
    "reserved_bytes": ColumnSpec("held by the allocator from then on", "reserved"),
    "source": _SOURCE,
}

EVENTS: Columns = {
    "device": _DEVICE,
    "operator": ColumnSpec("operator that took the block; null outside of every one", "operator"),
    "caller": ColumnSpec("call around that operator", "caller"),
    "bytes": ColumnSpec("size of the block", "size"),
    "allocated_ts_ns": ColumnSpec("when it was taken; null before the recording", "taken"),
    "released_ts_ns": ColumnSpec("when it was given back; null if it stays", "released"),
    "duration_ns": ColumnSpec("how long it was kept", "kept"),
}
