"""The host reads numbers back all the time."""

from __future__ import annotations

from timesink.lab.faults.fault import CODE, GPU, Fault

FAULT = Fault(
    name="extra_sync",
    kind=CODE,
    summary="`.item()` in every layer",
    strength="16 per layer",
    cause=("synchronisation",),
    needs=(GPU,),
    switches={"reads_per_layer": 16},
)
