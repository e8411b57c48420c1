"""Kernels that only move bytes, and move them as fast as the memory can."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from timesink.analyses.kernel_advice.advice import (
    COMPILED,
    MATTERS,
    Advice,
    DeviceCalls,
    listed,
    main_families,
    mean,
    most_of,
    named,
    total,
)

_MOVERS = ("elementwise", "copy", "normalisation", "optimizer")
_FOREACH = re.compile(
    r"^\S*multi_tensor_apply(?!.*(fused|adam|lamb|sgd))", re.IGNORECASE | re.DOTALL
)


def memory_bound(device: DeviceCalls) -> Iterator[Advice]:
    part = device.calls.filter(
        pl.col("family").is_in(_MOVERS),
        pl.col("dram_pct") >= device.high_pct,
        pl.col("sm_pct") < device.low_pct,
        ~pl.col("images"),
        ~pl.col("turned"),
    )
    if not device.speaks(part):
        return
    yield device.advice(
        "memory-bound-elementwise",
        part,
        f"{device.told(part)} in {listed(main_families(part))} kernels near the memory roof, "
        f"DRAM at {mean(part, 'dram_pct'):.0f} % and SM at {mean(part, 'sm_pct'):.0f} %.",
        f"Only fewer bytes help: {_fewer_bytes(part)}.",
    )


def _fewer_bytes(part: pl.DataFrame) -> str:
    optimizer = part.filter(named(part, _FOREACH), pl.col("family") == "optimizer")
    others = part.filter(pl.col("family") != "optimizer")
    tried = []
    if total(optimizer) >= MATTERS * total(part) and _has_arguments(optimizer):
        tried.append("an optimizer in one pass (fused=True)")
    if others.height and not most_of(others, named(others, COMPILED)):
        tried.append("fusion (torch.compile)")
    return ", ".join([*tried, "smaller data types"])


def _has_arguments(part: pl.DataFrame) -> bool:
    """Whether full names tell what the kernels apply."""
    return bool(part["name"].cast(pl.String()).str.contains("<", literal=True).any())
