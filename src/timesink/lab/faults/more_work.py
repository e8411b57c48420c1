"""The model is larger."""

from __future__ import annotations

from timesink.lab.faults.fault import CODE, Fault

FAULT = Fault(
    name="more_work",
    kind=CODE,
    summary="the model has more layers",
    strength="a fifth more, one at least",
    # More layers are more launches of the same kernels.
    cause=("workload_change", "kernel_change"),
    switches={"more_depth": 0.2},
)
