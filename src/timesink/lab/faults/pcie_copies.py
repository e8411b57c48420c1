"""Others fill the link between host and device."""

from __future__ import annotations

from timesink.lab.faults.fault import GPU, LOAD, Fault

FAULT = Fault(
    name="pcie_copies",
    kind=LOAD,
    summary="another process copies between host and device",
    strength="pinned memory, both ways at once, without a pause",
    # What it costs depends on how much the workload copies, so no cause is asked for.
    anomaly=("pcie_contention",),
    needs=(GPU,),
    load=("link_copies",),
)
