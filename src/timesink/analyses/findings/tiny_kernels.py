"""Many kernels too short to be worth their launch."""

from __future__ import annotations

import polars as pl

from timesink.analyses.breakdown import average_step
from timesink.analyses.columns import device_columns
from timesink.analyses.device.idle_causes import idle_causes
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.trace import Trace

TINY_NS = 5_000
"""About what one launch costs the host."""
LEAST_TINY = 0.5
FEWEST_PER_STEP = 50
LEAST_SHARE = 0.02


def tiny_kernels(trace: Trace) -> list[Finding]:
    """Kernels shorter than their launch, in numbers that keep the device waiting."""
    average = average_step(trace)
    device = device_columns(trace)
    kernels = device.filter(device["kind"] == "kernel")
    if not average or not average["total_ns"] or kernels.is_empty():
        return []
    tiny = kernels.filter(pl.col("dur_ns") < TINY_NS)
    steps = max(1, find_steps(trace).filter("complete").height)
    waited = int(idle_causes(trace)["host_ns"].sum()) / steps
    part = tiny.height / kernels.height
    share = min(1.0, waited * part / average["total_ns"])
    if part < LEAST_TINY or tiny.height / steps < FEWEST_PER_STEP or share < LEAST_SHARE:
        return []
    return [
        Finding(
            rule="tiny-kernels",
            title="Many tiny kernels",
            sentence=f"{units.share(tiny.height, kernels.height)} of the kernels "
            f"({units.count(tiny.height // steps)} a step) run less than "
            f"{units.duration_ns(TINY_NS)}, about what a launch costs; the device waits "
            f"{units.duration_ns(waited)} a step for launches.",
            advice="Fuse them: torch.compile, fused optimizers (fused=True), CUDA graphs for "
            "fixed shapes, larger batches.",
            share=share,
            gain_ns=waited * part,
            gain_basis="the waits for launches shrink with the number of tiny kernels",
            evidence=_evidence(tiny, steps),
        )
    ]


def _evidence(tiny: pl.DataFrame, steps: int) -> tuple[Evidence, ...]:
    often = (
        tiny.group_by("name")
        .agg(pl.len().alias("calls"), pl.col("dur_ns").mean().alias("mean_ns"))
        .sort("calls", "name", descending=[True, False])
        .head(3)
    )
    return tuple(
        Evidence("kernel", str(name), {"calls_per_step": calls / steps, "mean_us": mean / 1000})
        for name, calls, mean in often.rows()
    )
