"""Kernels that hardly use anything: too small to last, or too little to do at once."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.analyses.kernel_advice.advice import (
    MATTERS,
    PRODUCTS,
    Advice,
    DeviceCalls,
    fusing,
    mean,
    most_of,
    total,
)
from timesink.model import units

TINY_NS = 5_000
"""About what one launch costs the host."""
USUAL_MULTIPROCESSORS = 100
"""Of devices that do not say how many they have."""


def _both_low(device: DeviceCalls) -> pl.DataFrame:
    # Without a counter of SM the class overstates what is low.
    low = (pl.col("class") == "both_low") & pl.col("sm_pct").is_not_null()
    return device.calls.filter(low, ~pl.col("images"), ~pl.col("turned"))


def tiny_kernels(device: DeviceCalls) -> Iterator[Advice]:
    part = _both_low(device).filter(pl.col("dur_ns") < TINY_NS)
    if not device.speaks(part):
        return
    launches = units.share(total(part, "weight"), total(device.calls, "weight"))
    yield device.advice(
        "tiny-kernels",
        part,
        f"{device.told(part)} and {launches} of the launches are kernels below "
        f"{units.duration_ns(TINY_NS)} that hardly use the device; in the run itself they cost "
        "more: a launch takes about as long.",
        f"Launch fewer: {fusing(part)}CUDA graphs, larger batches, a fused optimizer (fused=True).",
        gain_ns=total(part, "headroom"),
        gain_basis="all ran at their nearest roof",
    )


def low_use(device: DeviceCalls) -> Iterator[Advice]:
    part = _both_low(device).filter(pl.col("dur_ns") >= TINY_NS)
    if not device.speaks(part):
        return
    limit = device.multiprocessors or USUAL_MULTIPROCESSORS
    enough = "" if device.multiprocessors is None else ", its number of multiprocessors"
    blocks = pl.col("grid_x") * pl.col("grid_y") * pl.col("grid_z")
    few = part.select((blocks < limit).fill_null(value=False)).to_series()
    used = f"SM at {mean(part, 'sm_pct'):.0f} % and DRAM at {mean(part, 'dram_pct'):.0f} %"
    said = f"{device.told(part)} in kernels that keep {used} of peak"
    if most_of(part, few):
        filled = units.share(total(part.filter(few)), total(part))
        said += f", {filled} of that with fewer than {limit} blocks{enough}"
    yield device.advice(
        "low-use",
        part,
        f"{said}.",
        _more_at_once(part, few),
        gain_ns=total(part, "headroom"),
        gain_basis="all ran at their nearest roof",
    )


def _more_at_once(part: pl.DataFrame, few: pl.Series) -> str:
    if most_of(part, few):
        return "Give them more to do at once: larger batches, channels_last, another algorithm."
    others = part.filter(~pl.col("family").is_in(list(PRODUCTS)))
    fuses = total(others) >= MATTERS * total(part) and fusing(others)
    return (
        "They may wait for latency, caches, atomics or too few warps: larger batches"
        f"{', fusion (torch.compile)' if fuses else ''}; `ncu --set full` says more."
    )
