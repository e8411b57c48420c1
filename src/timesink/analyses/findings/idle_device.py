"""Devices that stand still for most of a step, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from timesink.analyses.breakdown import average_step
from timesink.analyses.columns import host_columns
from timesink.analyses.device.idle_causes import CAUSES, holding_calls, idle_causes, idle_ranges
from timesink.analyses.device.utilisation import device_utilisation
from timesink.analyses.findings.communication import LEAST_SHARE as LEAST_TALKING
from timesink.analyses.findings.data_loading import LEAST_SHARE as LEAST_LOADING
from timesink.analyses.findings.evidence import longest_by_name
from timesink.analyses.findings.finding import Evidence, Finding
from timesink.analyses.findings.per_step import Steps, complete_steps
from timesink.analyses.findings.tiny_kernels import tiny_kernels
from timesink.analyses.names import device_word
from timesink.model import intervals, units
from timesink.model.trace import Trace

LEAST_UTILISATION = 0.5
COPY_BOUND_SHARE = 0.25
"""Copies that take this much of a step, beside kernels, are the reason themselves."""
_MOST_NAMED = 4

_BECAUSE = {
    "data_loading": "data loading",
    "communication": "communication on the host",
    "sync": "synchronisation: the host waits for results before it queues more",
    "runtime_call": "long runtime calls that hold up the host",
    "stalled": "a host that runs no operator and makes no runtime call",
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
    "blocking copies, torch.cuda.synchronize(); collect metrics on the device and read them "
    "rarely.",
    "runtime_call": "Make long runtime calls once, before the loop: allocate and pin memory "
    "ahead, let kernels and libraries load in warm-up steps, keep the caching allocator from "
    "giving memory back.",
    "stalled": "Find out what the program does between its operators: files, locks, logging, "
    "sleeping, garbage collection, other processes; with_stack=True records its functions.",
    "host": "Give each launch more work (larger batches, fused or compiled kernels), or take the "
    "launches off the host (torch.compile, CUDA graphs).",
    "queued": "Look for events and streams that wait for each other in the gaps of the trace.",
    "copies": "Keep data on the device, pin host memory, and copy on a stream of its own.",
}
_BOUND = {
    "data_loading": "input-bound",
    "communication": "communication-bound",
    "sync": "sync-bound",
    "runtime_call": "runtime-bound",
    "stalled": "host-stalled",
    "host": "launch-bound",
    "queued": "dependency-bound",
    "copies": "copy-bound",
}


@dataclass(frozen=True, slots=True)
class _Idle:
    """One device that runs kernels less than half of the time, and the main cause."""

    device: int
    utilisation: float
    """Inside the steps."""
    cause: str
    lost_ns: int
    """To that cause, in all steps."""
    causes: dict[str, int]
    """Idle time by cause."""


def low_utilisation(trace: Trace) -> list[Finding]:
    """Devices that run kernels less than half of the time inside steps, by their main cause.

    Devices with the same main cause share a finding.  Where nothing tells why a device waits,
    nothing is said.

    >>> import timesink
    >>> len(low_utilisation(timesink.open(timesink.sample()))) <= 1
    True
    """
    if not complete_steps(trace).length_ns:
        return []
    said = _said_elsewhere(trace)
    found: dict[str, list[_Idle]] = {}
    for device in _idle_devices(trace):
        if device.cause in _BOUND and device.cause not in said:
            found.setdefault(device.cause, []).append(device)
    return [
        _finding(trace, sorted(devices, key=lambda one: -one.lost_ns)) for devices in found.values()
    ]


def _said_elsewhere(trace: Trace) -> set[str]:
    """Causes that have a rule of their own, where that rule speaks up."""
    average, said = average_step(trace), set()
    if average["data_loader_ns"] > LEAST_LOADING * average["total_ns"]:
        said.add("data_loading")
    if average["communication_ns"] > LEAST_TALKING * average["total_ns"]:
        said.add("communication")
    if tiny_kernels(trace):
        said.add("host")
    return said


def _idle_devices(trace: Trace) -> list[_Idle]:
    lazy = device_utilisation(trace).filter(pl.col("within_steps") < LEAST_UTILISATION)
    used = dict(lazy.select("device", "within_steps").rows())
    return [
        _main_cause(row, used[row["device"]])
        for row in idle_causes(trace).to_dicts()
        if row["device"] in used and row["idle_ns"]
    ]


def _main_cause(row: dict[str, Any], utilisation: float) -> _Idle:
    causes = {cause: row[f"{cause}_ns"] for cause in CAUSES}
    cause = max(causes, key=lambda name: causes[name])
    lost = causes[cause]
    copying = row["steps_ns"] - row["idle_ns"] - round(utilisation * row["steps_ns"])
    if copying > COPY_BOUND_SHARE * row["steps_ns"] and copying > lost:
        cause, lost = "copies", copying
    return _Idle(row["device"], utilisation, cause, lost, causes)


# -- in words --------------------------------------------------------------------------------------


def _finding(trace: Trace, devices: list[_Idle]) -> Finding:
    steps, worst = complete_steps(trace), devices[0]
    names, many = _names(trace, devices), len(devices) > 1
    lost = worst.lost_ns / steps.count
    doing = "busy with copies" if worst.cause == "copies" else "idle"
    return Finding(
        rule=f"low-utilisation-{_BOUND[worst.cause]}",
        title=f"{names} {'are' if many else 'is'} {doing} most of the time",
        sentence=f"{names} {'run' if many else 'runs'} kernels {_utilisation(devices)} of the time"
        f"{' inside steps' if steps.marked else ''}. Main cause: {_BECAUSE[worst.cause]}; "
        f"{'on the worst of them ' if many else ''}{units.duration_ns(lost)} of {steps.each} "
        f"({units.share(lost, steps.length_ns)}).",
        advice=_ADVICE[worst.cause],
        share=lost / steps.length_ns,
        gain_ns=lost,
        gain_basis="the device works through all of this time",
        evidence=(
            *_calls(trace, worst),
            *(_evidence(trace, device, steps) for device in devices),
        ),
    )


def _name(trace: Trace, device: int) -> str:
    return f"{device_word(trace)} {device}" if device >= 0 else device_word(trace)


def _names(trace: Trace, devices: list[_Idle]) -> str:
    """The device, the devices, or how many there are."""
    numbers = sorted(device.device for device in devices)
    if len(numbers) == 1:
        return _name(trace, numbers[0])
    if len(numbers) > _MOST_NAMED:
        return f"{len(numbers)} {device_word(trace)}s ({numbers[0]} to {numbers[-1]})"
    return f"{device_word(trace)}s {', '.join(map(str, numbers))}"


def _utilisation(devices: list[_Idle]) -> str:
    least = min(device.utilisation for device in devices)
    most = max(device.utilisation for device in devices)
    low, high = units.share(least, 1), units.share(most, 1)
    return low if low == high else f"{low} to {high}"


def _evidence(trace: Trace, device: _Idle, steps: Steps) -> Evidence:
    idle = {"idle": sum(device.causes.values()), **device.causes}
    numbers = {f"{name}_us_per_step": ns / steps.count / 1000 for name, ns in idle.items() if ns}
    name = _name(trace, device.device)
    return Evidence("device", name, {"utilisation_pct": 100 * device.utilisation, **numbers})


def _calls(trace: Trace, idle: _Idle) -> tuple[Evidence, ...]:
    """The calls that held up the host while the device was idle."""
    if idle.cause not in ("sync", "runtime_call"):
        return ()
    calls, ranges = holding_calls(trace), idle_ranges(trace)[idle.device]
    mine = calls.waits == (idle.cause == "sync")
    # A gap may begin where a wait ends: touching counts.
    frames = calls.ranges[mine] + np.array([0, 1])
    rows = calls.row[mine][intervals.coverage_within(ranges, frames) > 0]
    return longest_by_name("call", host_columns(trace).select("name", "dur_ns")[rows])
