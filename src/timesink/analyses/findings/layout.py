"""Tensors turned around for convolutions, back and forth."""

from __future__ import annotations

import re

import polars as pl

from timesink.analyses.columns import device_columns, device_names
from timesink.analyses.findings.evidence import longest_by_name
from timesink.analyses.findings.finding import Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.model import intervals, units
from timesink.model.trace import Trace

LEAST_SHARE = 0.02
_CONVERSION = re.compile(r"nchw\w*to\w*nhwc|nhwc\w*to\w*nchw", re.IGNORECASE)


def layout_conversions(trace: Trace) -> list[Finding]:
    """Kernels that only change the memory layout of images, because a library wants another.

    >>> import timesink
    >>> [finding.rule for finding in layout_conversions(timesink.open(timesink.sample()))]
    ['layout-conversions']
    """
    steps = complete_steps(trace)
    kernels = _conversions(trace, steps)
    if kernels.is_empty():
        return []
    ranges = intervals.from_starts(kernels["ts_ns"].to_numpy(), kernels["dur_ns"].to_numpy())
    per_step = steps.per_step_ns(ranges)
    if per_step <= LEAST_SHARE * steps.length_ns:
        return []
    often = units.counted(round(kernels.height / steps.count), "kernels")
    return [
        Finding(
            rule="layout-conversions",
            title="Images are converted between memory layouts",
            sentence=f"{often}{steps.a_step} only turn tensors between NCHW and NHWC: "
            f"{units.duration_ns(per_step)} of {steps.each} "
            f"({units.share(per_step, steps.length_ns)}).",
            advice="Keep model and inputs in the layout the convolutions want: "
            ".to(memory_format=torch.channels_last).",
            share=per_step / steps.length_ns,
            gain_ns=per_step,
            gain_basis="no conversion is left",
            evidence=longest_by_name("kernel", kernels),
        )
    ]


def _conversions(trace: Trace, steps: Steps) -> pl.DataFrame:
    rows = device_names(trace).rows(lambda name: _CONVERSION.search(name) is not None)
    events = device_columns(trace).select("name", "kind", "ts_ns", "dur_ns")[rows]
    kernels = events.filter(events["kind"] == "kernel")
    return kernels.filter(pl.Series(steps.hold(kernels["ts_ns"].to_numpy()), dtype=pl.Boolean))
