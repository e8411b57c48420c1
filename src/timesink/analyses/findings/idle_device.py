"""Devices that stand still for most of a step, and why."""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.breakdown import average_step
from timesink.analyses.device.idle_causes import CAUSES, idle_causes
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.findings.communication import LEAST_SHARE as LEAST_TALKING
from timesink.analyses.findings.data_loading import LEAST_SHARE as LEAST_LOADING
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.names import device_word
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.trace import Trace

LEAST_UTILISATION = 0.5
COPY_BOUND_SHARE = 0.25
"""Copies that take this much of a step, beside kernels, are the reason themselves."""

_BECAUSE = {
    "data_loading": "data loading",
    "communication": "communication on the host",
    "sync": "synchronisation: the host waits for results before it queues more",
    "stalled": "a host that does nothing the profiler records",
    "host": "launches: the host is slower than the device",
    "queued": "dependencies: work was queued and waited for other streams or events",
    "copies": "copies between host and device",
}
_ADVICE = {
    "data_loading": "Speed up the input pipeline first: more DataLoader workers, prefetching, "
    "pinned memory.",
    "communication": "Overlap communication with computation, or use a library that works on the "
    "devices.",
    "sync": "Remove calls that wait: .item(), .cpu(), printing tensors, conditions on values, "
    "torch.cuda.synchronize(); collect metrics on the device and read them rarely.",
    "stalled": "Find out what the program does then (record with with_stack=True): files, locks, "
    "logging, sleeping, garbage collection, other processes.",
    "host": "Give each launch more work (larger batches, fused or compiled kernels), or take the "
    "launches off the host (torch.compile, CUDA graphs).",
    "queued": "Look at the gaps in the trace: events and streams that wait for each other.",
    "copies": "Keep data on the device, pin host memory, and copy on a stream of its own.",
}
_BOUND = {
    "data_loading": "input-bound",
    "communication": "communication-bound",
    "sync": "sync-bound",
    "stalled": "host-stalled",
    "host": "launch-bound",
    "queued": "dependency-bound",
    "copies": "copy-bound",
}


def low_utilisation(trace: Trace) -> list[Finding]:
    """Devices that run kernels less than half of the time, with the main cause."""
    average = average_step(trace)
    if not average or not average["total_ns"]:
        return []
    lazy = device_utilisation(trace).filter(pl.col("utilisation") < LEAST_UTILISATION)
    reasons = {row["device"]: row for row in idle_causes(trace).to_dicts()}
    found = [
        _finding(trace, row, reasons[row["device"]], average)
        for row in lazy.to_dicts()
        if row["device"] in reasons and reasons[row["device"]]["idle_ns"]
    ]
    said = _said_elsewhere(average)
    return [finding for finding in found if finding.rule not in said]


def _said_elsewhere(average: dict[str, float]) -> set[str]:
    """Causes that have a rule of their own, where that rule speaks up."""
    said = set()
    if average["data_loader_ns"] > LEAST_LOADING * average["total_ns"]:
        said.add("low-utilisation-input-bound")
    if average["communication_ns"] > LEAST_TALKING * average["total_ns"]:
        said.add("low-utilisation-communication-bound")
    return said


def _finding(
    trace: Trace, usage: dict[str, Any], idle: dict[str, Any], average: dict[str, float]
) -> Finding:
    cause = max(CAUSES, key=lambda name: idle[f"{name}_ns"])
    copying = usage["any_activity"] - usage["utilisation"]
    part = idle[f"{cause}_ns"]
    if copying > COPY_BOUND_SHARE and copying * idle["steps_ns"] > part:
        cause, part = "copies", copying * idle["steps_ns"]
    name = f"{device_word(trace)} {usage['device']}"
    steps = max(1, find_steps(trace).filter("complete").height)
    return Finding(
        rule=f"low-utilisation-{_BOUND[cause]}",
        title=f"{name} is idle most of the time",
        sentence=f"{name} runs kernels {units.share(usage['utilisation'], 1)} of the time. Main "
        f"cause: {_BECAUSE[cause]}; {units.duration_ns(part / steps)} of each "
        f"{units.duration_ns(average['total_ns'])} step "
        f"({units.share(part, idle['steps_ns'])}).",
        advice=_ADVICE[cause],
        share=part / idle["steps_ns"] if idle["steps_ns"] else 0.0,
        gain_ns=part / steps,
        gain_basis="the device works through all of this time",
        evidence=(
            Evidence(
                "device",
                name,
                {
                    "utilisation_pct": 100 * usage["utilisation"],
                    "idle_us_per_step": idle["idle_ns"] / steps / 1000,
                    **{f"{c}_us_per_step": idle[f"{c}_ns"] / steps / 1000 for c in CAUSES},
                },
            ),
        ),
    )
