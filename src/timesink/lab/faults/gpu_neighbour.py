"""Another program computes on the device."""

from __future__ import annotations

from timesink.lab.faults.fault import GPU, LOAD, Fault

FAULT = Fault(
    name="gpu_neighbour",
    kind=LOAD,
    summary="another process multiplies large matrices on the device",
    strength="products of 8192 x 8192, without a pause",
    # Two who compute draw more power than one: a device at its limit lowers its clock.
    anomaly=("gpu_contention", "gpu_power_cap"),
    cause=("gpu_contention", "gpu_power_cap"),
    needs=(GPU,),
    load=("device_products",),
)
