"""Many kernels too short to be worth their launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import device_columns
from timesink.analyses.device.idle_causes import idle_causes
from timesink.analyses.device.numbers import device_numbers
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.analyses.once import once_per_trace
from timesink.model import units
from timesink.model.trace import Trace

TINY_NS = 5_000
"""About what one launch costs the host."""
LEAST_TINY = 0.5
FEWEST_PER_STEP = 50
LEAST_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class _Usage:
    """Kernels of one device inside the steps, and how long it waits for launches."""

    tiny: pl.DataFrame
    kernels: int
    waited_ns: float
    """Per step."""

    @property
    def part(self) -> float:
        return self.tiny.height / self.kernels if self.kernels else 0.0

    @property
    def lost_ns(self) -> float:
        return self.waited_ns * self.part


@once_per_trace
def tiny_kernels(trace: Trace) -> list[Finding]:
    """Kernels shorter than their launch, in numbers that keep the device waiting.

    Of several devices the one that loses most counts.

    >>> import timesink
    >>> tiny_kernels(timesink.open(timesink.sample()))
    []
    """
    steps, idle = complete_steps(trace), idle_causes(trace)
    waited = {
        device: ns / steps.count
        for device, ns in idle.select("device", "host_ns").rows()
        if ns >= LEAST_SHARE * steps.length_ns * steps.count > 0
    }
    devices = (_usage(trace, device, steps, ns) for device, ns in waited.items())
    found = [used for used in devices if _too_many(used, steps)]
    return [_finding(max(found, key=lambda used: used.lost_ns), steps)] if found else []


def _usage(trace: Trace, device: int, steps: Steps, waited_ns: float) -> _Usage:
    events = device_columns(trace)
    kernels = (events["kind"] == "kernel").to_numpy() & (device_numbers(trace) == device)
    rows = np.flatnonzero(kernels)
    rows = rows[steps.hold(events["ts_ns"].to_numpy()[rows])]
    tiny = rows[events["dur_ns"].to_numpy()[rows] < TINY_NS]
    return _Usage(events.select("name", "dur_ns")[tiny], len(rows), waited_ns)


def _too_many(used: _Usage, steps: Steps) -> bool:
    often = used.tiny.height >= FEWEST_PER_STEP * steps.count
    return often and used.part >= LEAST_TINY and used.lost_ns >= LEAST_SHARE * steps.length_ns


def _finding(used: _Usage, steps: Steps) -> Finding:
    return Finding(
        rule="tiny-kernels",
        title="Many tiny kernels",
        sentence=f"{units.share(used.tiny.height, used.kernels)} of the kernels "
        f"({units.count(used.tiny.height // steps.count)}{steps.a_step}) run less than "
        f"{units.duration_ns(TINY_NS)}, about what a launch costs; the device waits "
        f"{units.duration_ns(used.waited_ns)} of {steps.each} for launches.",
        advice="Fuse tiny kernels: torch.compile, fused optimizers (fused=True), CUDA graphs for "
        "fixed shapes, larger batches.",
        share=used.lost_ns / steps.length_ns,
        gain_ns=used.lost_ns,
        gain_basis="the waits for launches shrink with the number of tiny kernels",
        evidence=_evidence(used.tiny, steps.count),
    )


def _evidence(tiny: pl.DataFrame, steps: int) -> tuple[Evidence, ...]:
    often = (
        tiny.group_by("name")
        .agg(pl.len().alias("calls"), pl.col("dur_ns").mean().alias("mean_ns"))
        .with_columns(pl.col("name").cast(pl.String).fill_null(""))
        .sort("calls", "name", descending=[True, False])
        .head(3)
    )
    return tuple(
        Evidence("kernel", name, {"calls_per_step": calls / steps, "mean_us": mean / 1000})
        for name, calls, mean in often.rows()
    )
