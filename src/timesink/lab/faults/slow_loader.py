"""Batches come too slowly."""

from __future__ import annotations

from timesink.lab.faults.fault import CODE, LOADER, Fault

FAULT = Fault(
    name="slow_loader",
    kind=CODE,
    summary="one process loads all batches, and sleeps over each example",
    strength="100 ms per batch",
    cause=("data_loading",),
    needs=(LOADER,),
    switches={"loader_ms": 100},
)
