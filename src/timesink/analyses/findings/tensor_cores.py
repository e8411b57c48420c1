"""Matrix products and convolutions that run beside the tensor cores."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.call_times import node_times
from timesink.analyses.columns import device_columns, device_names
from timesink.analyses.findings.evidence import longest_by_name
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.analyses.forest import OPERATOR, call_forest
from timesink.analyses.kernels.tensor_cores import tensor_core_use
from timesink.analyses.links import link_launches
from timesink.model import intervals, units
from timesink.model.trace import Device, Trace
from timesink.model.vendors import NVIDIA

LEAST_SHARE = 0.02
_MATRIX_KERNEL = re.compile(
    r"gemm|gemv|convol|conv\d|wgrad|dgrad|fprop|winograd|cutlass|scudnn|matmul|_mm", re.IGNORECASE
)
_AROUND_IT = re.compile(r"nchw\w*to|nhwc\w*to|tonchw|tonhwc|reduce|im2col|transpose", re.IGNORECASE)
"""Kernels that prepare or finish the product: no tensor core would help them."""
FIRST_MAJOR = 7
"""NVIDIA devices have tensor cores from compute capability 7.0 on."""
TF32_MAJOR = 8
SPEEDUP = 2.0
"""What half precision or TF32 gives a large matrix product at the very least."""


def tensor_cores_unused(trace: Trace) -> list[Finding]:
    """Kernels of eligible operators that surely do not use tensor cores.

    >>> import timesink
    >>> [finding.rule for finding in tensor_cores_unused(timesink.open(timesink.sample()))]
    []
    """
    steps = complete_steps(trace)
    if not steps.length_ns or not _has_tensor_cores(trace):
        return []
    missed = _missed_kernels(trace, steps)
    ranges = intervals.from_starts(missed["ts_ns"].to_numpy(), missed["dur_ns"].to_numpy())
    per_step = steps.per_step_ns(ranges)
    if per_step <= LEAST_SHARE * steps.length_ns:
        return []
    all_kernels = int(node_times(trace).kernel_self[call_forest(trace).is_operator].sum())
    return [
        Finding(
            rule="tensor-cores-unused",
            title="Tensor cores are not used where they could be",
            sentence=f"Operators that can use tensor cores spend {units.duration_ns(per_step)} "
            f"of {steps.each} in kernels that do not "
            f"({units.share(int(missed['dur_ns'].sum()), all_kernels)} of all kernel time of "
            "operators).",
            advice=_advice(trace),
            share=per_step / steps.length_ns,
            gain_ns=per_step * (1 - 1 / SPEEDUP),
            gain_basis="tensor-core kernels take half the time",
            evidence=_evidence(missed),
        )
    ]


def _advice(trace: Trace) -> str:
    newest = max(map(_major, trace.metadata.devices))
    tf32 = ", or allow TF32 (torch.set_float32_matmul_precision('high'))"
    return (
        f"Use automatic mixed precision (torch.autocast){tf32 if newest >= TF32_MAJOR else ''}; "
        "keep dimensions at multiples of 8."
    )


def _has_tensor_cores(trace: Trace) -> bool:
    devices = trace.metadata.devices
    return trace.metadata.vendor == NVIDIA.name and any(
        _major(device) >= FIRST_MAJOR for device in devices
    )


def _major(device: Device) -> int:
    major = (device.compute_capability or "0").split(".")[0]
    return int(major) if major.isdigit() else 0


def _missed_kernels(trace: Trace, steps: Steps) -> pl.DataFrame:
    """Kernels in the steps, launched by eligible operators, that do not use tensor cores."""
    device, forest, links = device_columns(trace), call_forest(trace), link_launches(trace)
    schema = {
        "operator": pl.String(),
        "name": pl.String(),
        "ts_ns": pl.Int64(),
        "dur_ns": pl.Int64(),
    }
    if not len(forest):
        return pl.DataFrame(schema=schema)
    without = (~tensor_core_use(trace)).fill_null(value=False).to_numpy()
    kernels = device_names(trace).matching(_does_the_product)
    kernels &= (device["kind"] == "kernel").to_numpy()
    by_operator: NDArray[np.bool_] = node_times(trace).eligible_by_name & (forest.role == OPERATOR)
    rows = np.flatnonzero(kernels & without & (links.node >= 0) & by_operator[links.node])
    rows = rows[steps.hold(device["ts_ns"].to_numpy()[rows])]
    operators = pl.Series(forest.names, dtype=pl.String).gather(
        pl.Series(forest.name[links.node[rows]])
    )
    events = device.select("name", "ts_ns", "dur_ns")[rows]
    return events.with_columns(pl.col("name").cast(pl.String), operator=operators).select(
        list(schema)
    )


def _does_the_product(name: str) -> bool:
    return _MATRIX_KERNEL.search(name) is not None and _AROUND_IT.search(name) is None


def _evidence(missed: pl.DataFrame) -> tuple[Evidence, ...]:
    by_operator = (
        missed.group_by("operator")
        .agg(pl.len().alias("calls"), pl.col("dur_ns").sum())
        .sort("dur_ns", "operator", descending=[True, False])
        .head(3)
    )
    operators = (
        Evidence("operator", name, {"kernels": calls, "kernel_us": ns / 1000})
        for name, calls, ns in by_operator.rows()
    )
    return (*operators, *longest_by_name("kernel", missed))
