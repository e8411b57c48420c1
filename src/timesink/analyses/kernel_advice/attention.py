"""Attention put together from products and softmax."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from timesink.analyses.kernel_advice.advice import Advice, DeviceCalls, named, total
from timesink.model import units

LEAST_SOFTMAX_PCT = 3.0
"""A softmax is only part of what a fused attention kernel saves."""
_FEWEST_LAYERS = 4
"""Launches of a softmax from which it belongs to layers, not to a loss."""
_LOG_SOFTMAX = re.compile(
    r"log_?softmax|softmax_warp_\w+<.*,\s*(?:\(int\))?\d+,\s*(?:\(bool\))?(?:1|true),",
    re.IGNORECASE,
)


def attention_not_fused(device: DeviceCalls) -> Iterator[Advice]:
    """By names alone: softmax after softmax between matrix products, and no attention kernel."""
    calls = device.calls
    if (calls["family"] == "attention").any():
        return
    softmax = calls.filter(pl.col("family") == "softmax", ~named(calls, _LOG_SOFTMAX))
    part = softmax.filter(pl.col("weight").sum().over("short_name") >= _FEWEST_LAYERS)
    launches = total(part, "weight")
    products = total(calls.filter(pl.col("family") == "gemm"), "weight")
    if not device.speaks(part, LEAST_SOFTMAX_PCT) or products < 2 * launches:
        return
    yield device.advice(
        "attention-not-fused",
        part,
        f"{device.told(part)} in {units.counted(round(launches), 'softmax kernels')} "
        "among matrix products, and no attention kernel: attention seems to write its scores to "
        "memory.",
        "Try torch.nn.functional.scaled_dot_product_attention, which also saves the masks, "
        "scalings and copies around it.",
        gain_ns=total(part),
        gain_basis="the softmax vanishes into a fused kernel",
    )
