"""Others read and write the memory of the device."""

from __future__ import annotations

from timesink.lab.faults.fault import GPU, LOAD, Fault

FAULT = Fault(
    name="hbm_copies",
    kind=LOAD,
    summary="another process copies within the memory of the device",
    strength="2 GiB at a time, without a pause",
    # Whoever copies keeps the device busy as well.
    anomaly=("hbm_contention", "gpu_contention"),
    needs=(GPU,),
    load=("device_copies",),
)
