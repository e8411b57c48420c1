"""Roles of made-up programs: what each of their cycles runs, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from behaviour_rows import table_of
from timesink.comparison.results import Process

Calls = Mapping[str, int]

GEMM = "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn"
NORM = "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)"
ATTENTION = "void flash_fwd_kernel<Flash_fwd_kernel_traits<64>>(Flash_fwd_params)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
EMBED = "void at::native::(anonymous namespace)::indexSelectSmallIndex<float, long>(int)"
SAMPLE = "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024>(float*)"
CONVOLUTION = "void cudnn::cnn::wgrad_alg0_engine<float, 128, 5>(int)"
POOLING = "void at::native::(anonymous namespace)::max_pool_forward_nchw<float>(int)"

LAYER = {GEMM: 4, NORM: 2, ATTENTION: 1, ADD: 3}
ONCE = {EMBED: 1, SAMPLE: 1}


def batch(layers: int) -> Calls:
    """All that a model with so many layers runs for one batch."""
    return {name: calls * layers for name, calls in LAYER.items()} | ONCE


def role(
    cycles: Sequence[Calls], label: str = "base", device: str = "GPU 0", **more: Any
) -> Process:
    """A role whose cycles run these kernels, each 1 us long; `more` replaces columns of theirs.

    Every cycle is on the CPU as well, and takes 1 ms for each 10 calls.
    """
    of_cycle = {key: more[key] for key in ("anchor", "cycle_type") if key in more}
    rows, start = [], 0
    for number, calls in enumerate(cycles, 1):
        length = 100_000 * max(1, sum(calls.values()))
        cycle = {"cycle": number, "cycle_ts_ns": start, "cycle_dur_ns": length}
        rows.append(row(cycle, "oncpu", "Host", "oncpu", 1000) | of_cycle)
        rows += [
            row(cycle, name, device, "gpu_compute", many) | more for name, many in calls.items()
        ]
        start += length
    return Process(label, f"{label}.csv", "1", table_of(rows))


def row(cycle: Mapping[str, Any], name: str, device: str, sort: str, calls: int) -> dict[str, Any]:
    share = 100 * calls * 1000 / cycle["cycle_dur_ns"]
    return {
        **cycle, "cycle_type": "generic", "pid": "1", "function": name, "short_name": name,
        "device": device, "function_class": sort, "dur_ns": calls * 1000, "calls": calls,
        "beta_pct": share, "interpolated": "none", "anchor": "step",
    }  # fmt: skip


def without(original: Process, condition: pl.Expr) -> Process:
    """The role without some of its rows."""
    return replace(original, behaviour=original.behaviour.filter(~condition))
