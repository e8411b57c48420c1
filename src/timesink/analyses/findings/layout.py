"""Tensors turned around for convolutions, back and forth."""

from __future__ import annotations

import re

from timesink.analyses.breakdown import average_step
from timesink.analyses.columns import device_columns, device_names
from timesink.analyses.findings.evidence import longest_by_name
from timesink.analyses.findings.finding import Finding
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.trace import Trace

LEAST_SHARE = 0.02
_CONVERSION = re.compile(r"nchw\w*to\w*nhwc|nhwc\w*to\w*nchw", re.IGNORECASE)


def layout_conversions(trace: Trace) -> list[Finding]:
    """Kernels that only change the memory layout of images, because a library wants another."""
    average = average_step(trace)
    rows = device_names(trace).rows(lambda name: _CONVERSION.search(name) is not None)
    if not average or not average["total_ns"] or not len(rows):
        return []
    kernels = device_columns(trace).select("name", "dur_ns")[rows]
    steps = max(1, find_steps(trace).filter("complete").height)
    per_step, total = int(kernels["dur_ns"].sum()) / steps, average["total_ns"]
    if per_step <= LEAST_SHARE * total:
        return []
    return [
        Finding(
            rule="layout-conversions",
            title="Images are converted between memory layouts",
            sentence=f"{units.count(kernels.height // steps)} kernels a step only turn tensors "
            f"between NCHW and NHWC: {units.duration_ns(per_step)} of each "
            f"{units.duration_ns(total)} step ({units.share(per_step, total)}).",
            advice="Keep model and inputs in the layout the convolutions want: "
            ".to(memory_format=torch.channels_last).",
            share=min(1.0, per_step / total),
            gain_ns=per_step,
            gain_basis="no conversion is left",
            evidence=longest_by_name("kernel", kernels),
        )
    ]
