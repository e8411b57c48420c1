"""Short steps of operators with shapes on a device of known peaks, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import timesink
from builders import Event, kernel, operator, runtime, step
from cases import read
from timesink.analyses.kernels.peaks import choose_peaks
from timesink.analyses.work.calls import modelled_calls
from timesink.analyses.work.efficiency import Efficiency
from timesink.model.findings import Finding
from timesink.model.trace import Trace
from timesink.rules.efficiency import proven_findings

H200 = {"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}]}
MI300X, MI355X = (
    {"deviceProperties": [{"id": 0, "name": f"AMD Instinct {name}"}]}
    for name in ("MI300X", "MI355X")
)
HALF, FLOAT, DOUBLE = "c10::Half", "float", "double"
RULES = {
    *("attention-not-fused", "wide-products", "odd-dimensions", "small-products", "few-rows"),
    *("unfilled-waves", "unfused-chains", "largest-headroom"),
}


class Call(NamedTuple):
    """An operator on tensors of one type, with one kernel of so many microseconds."""

    name: str
    dims: list[list[int]]
    us: float
    kernel: str = "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT"
    type: str = HALF
    strides: list[list[int]] | None = None
    types: tuple[str, ...] = ()
    grid: tuple[int, int, int] = (9, 1, 1)


def run(*calls: Call, device: Mapping[str, Any] = H200, peaks: str | None = None) -> list[Finding]:
    """What is said of a step of these calls; the host launches all of them ahead of the device."""
    trace = trace_of_calls(*calls, device=device)
    calls_efficiency = Efficiency(trace, choose_peaks(trace, peaks=peaks), modelled_calls(trace))
    return [finding for finding in proven_findings(trace, calls_efficiency) if finding.id in RULES]


def trace_of_calls(*calls: Call, device: Mapping[str, Any] = H200) -> Trace:
    """A step of these calls, each with its kernel."""
    events: list[Event] = []
    starts = accumulate((call.us for call in calls), initial=float(len(calls)))
    for number, (call, start) in enumerate(zip(calls, starts, strict=False), 1):
        arguments: dict[str, Any] = {
            "External id": number,
            "Input Dims": call.dims,
            "Input type": list(call.types) or [call.type] * len(call.dims),
        }
        if call.strides:
            arguments["Input Strides"] = call.strides
        events += [
            operator(call.name, number, 0.8, **arguments),
            runtime("cudaLaunchKernel", number + 0.1, 0.5, number),
            kernel(call.kernel, start, call.us, number, grid=list(call.grid), block=[128, 1, 1]),
        ]
    return read(step(1, 0, len(calls) + 2), *events, **device)


@lru_cache(maxsize=8)
def findings_by_rule(path: Path) -> dict[str, Finding]:
    """What is said of a recording, by rule."""
    return {finding.id: finding for finding in timesink.analyze(path).findings}


def good(us: float = 1400) -> Call:
    """A product of matrices at four fifths of the peak."""
    return Call("aten::mm", [[8192, 8192], [8192, 8192]], us)
