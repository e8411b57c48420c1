"""Columns of the tables about memory."""

from __future__ import annotations

from timesink.reports.columns import Column, Columns

_DEVICE = Column("`CPU`, `GPU0`, ...", "device")
_SOURCE = Column("`recorded`: the allocator's totals; `summed`: changes added up by timesink")

BY_OPERATOR: Columns = {
    "device": _DEVICE,
    "name": Column("name of the operator", "operator"),
    "calls": Column("number of calls, whatever the device", "calls"),
    "size_increase_bytes": Column("taken less given back, with all it called", "increase"),
    "self_size_increase_bytes": Column("the same by itself", "self"),
    "allocation_count": Column("number of allocations, with all it called"),
    "self_allocation_count": Column("the same by itself", "allocations"),
    "allocation_bytes": Column("taken, with all it called", "allocated"),
    "self_allocation_bytes": Column("the same by itself", "self allocated"),
}

PEAKS: Columns = {
    "device": _DEVICE,
    "source": _SOURCE,
    "peak_allocated_bytes": Column("most that was allocated", "peak allocated"),
    "peak_allocated_ts_ns": Column("when", "at"),
    "peak_step": Column("step the host was in then; null in none", "step"),
    "reserved_at_peak_bytes": Column("what the allocator held then"),
    "peak_reserved_bytes": Column("most that the allocator held", "peak reserved"),
    "peak_reserved_ts_ns": Column("when"),
    "fragmentation_bytes": Column("held but not allocated at the peak of allocation", "unused"),
    "capacity_bytes": Column("memory of the device", "capacity"),
}

LIVE: Columns = {
    "device": _DEVICE,
    "category": Column(
        "`forward`, `backward`, `optimizer`, `data_loader`, `outside_operators`, "
        "`before_recording`, or `no_addresses` (nothing tells)",
        "category",
    ),
    "operator": Column("operator that took it", "operator"),
    "module": Column("innermost module around that", "module"),
    "blocks": Column("number of blocks; null where it is not known", "blocks"),
    "bytes": Column("their size; the rows of a device add up to its peak", "size"),
}

CURVE: Columns = {
    "device": _DEVICE,
    "ts_ns": Column("time of the record; in text since the start of the trace", "at"),
    "allocated_bytes": Column("allocated from then on", "allocated"),
    "reserved_bytes": Column("held by the allocator from then on", "reserved"),
    "source": _SOURCE,
}

EVENTS: Columns = {
    "device": _DEVICE,
    "operator": Column("operator that took the block; null outside of every one", "operator"),
    "caller": Column("call around that operator", "caller"),
    "bytes": Column("size of the block", "size"),
    "allocated_ts_ns": Column("when it was taken; null before the recording", "taken"),
    "released_ts_ns": Column("when it was given back; null if it stays", "released"),
    "duration_ns": Column("how long it was kept", "kept"),
}
