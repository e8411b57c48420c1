"""Products that leave the tensor cores idle."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from timesink.analyses.kernel_advice.advice import (
    PRODUCTS,
    Advice,
    DeviceCalls,
    listed,
    main_families,
    mean,
    named,
    total,
)

IDLE_TENSOR_PCT = 5.0
SPEEDUP = 2.0
"""What half precision or TF32 gives a large matrix product at the very least."""
_FIRST_TENSOR_CORES, _FIRST_TF32 = 7, 8
_NO_PRODUCT = re.compile(
    r"gemv|reduce|im2col|col2im|transpose|depthwise|grouped_direct|winograd\w*transform|"
    r"scan|wkv|dot_do_o|convert_dq|merge|combine|preprocess|f64|dgemm|zgemm|double",
    re.IGNORECASE,
)
"""Kernels around a product, products tensor cores do not speed up, and double precision."""


def tensor_cores_unused(device: DeviceCalls) -> Iterator[Advice]:
    major = _major(device.use.compute_capability)
    if major is not None and major < _FIRST_TENSOR_CORES:
        return
    calls = device.calls
    part = calls.filter(
        pl.col("family").is_in(list(PRODUCTS)),
        pl.col("tensor_pct") < IDLE_TENSOR_PCT,
        pl.col("sm_pct") >= device.low_pct,
        # At the memory roof other units would wait as well.
        (pl.col("dram_pct") < device.high_pct).fill_null(value=True),
        ~named(calls, _NO_PRODUCT),
    )
    if not device.speaks(part):
        return
    what = listed([PRODUCTS[family] for family in main_families(part)])
    yield device.advice(
        "tensor-cores-unused",
        part,
        f"{device.told(part)} in {what} that leave the tensor cores idle and keep SM at "
        f"{mean(part, 'sm_pct'):.0f} % of its peak.",
        _precision(major, convolves="convolution" in main_families(part)),
        gain_ns=total(part) * (1 - 1 / SPEEDUP),
        gain_basis="tensor-core kernels take half the time",
    )


def _precision(major: int | None, *, convolves: bool) -> str:
    if major is not None and major < _FIRST_TF32:
        return "Run them in fp16 (torch.autocast)."
    images = ", torch.backends.cudnn.allow_tf32 for convolutions" if convolves else ""
    return (
        f'Allow TF32 (torch.set_float32_matmul_precision("high"){images}) or run them in bf16 or '
        "fp16 (torch.autocast)."
    )


def _major(capability: str | None) -> int | None:
    major = (capability or "").split(".")[0]
    return int(major) if major.isdigit() else None
