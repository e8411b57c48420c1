"""Some layers compute in 32 bits."""

from __future__ import annotations

from timesink.lab.faults.fault import CODE, GPU, Fault

FAULT = Fault(
    name="wrong_precision",
    kind=CODE,
    summary="linear layers compute in 32 bits",
    strength="every fourth layer in training, all layers in decoding",
    cause=("kernel_change",),
    # A CPU may be faster in 32 bits.
    needs=(GPU,),
    switches={"full_precision": 1},
)
