"""`DataParallel` where `DistributedDataParallel` would do."""

from __future__ import annotations

from timesink.analyses.breakdown import average_step
from timesink.analyses.columns import device_columns, host_columns, host_names
from timesink.analyses.device.numbers import device_numbers
from timesink.analyses.findings.finding import MEDIUM, Evidence, Finding
from timesink.analyses.steps import find_steps
from timesink.model import units
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

NAME = "DataParallel.forward"


def data_parallel(trace: Trace) -> list[Finding]:
    """One process drives several devices, copies the model each step and shares one interpreter."""
    calls = host_columns(trace)[host_names(trace).rows(NAME.__eq__)]
    busy = device_columns(trace)["kind"].is_in(BUSY_KINDS).to_numpy()
    devices = sorted(set(device_numbers(trace)[busy].tolist()))
    if calls.is_empty() or len(devices) < 2:
        return []
    average = average_step(trace)
    steps = max(1, find_steps(trace).filter("complete").height)
    per_step = int(calls["dur_ns"].sum()) / steps
    total = average.get("total_ns", 0.0)
    return [
        Finding(
            rule="data-parallel",
            title="DataParallel drives several devices from one process",
            sentence=f"{NAME} ran {units.counted(calls.height, 'times')} for {len(devices)} "
            f"devices and takes {units.duration_ns(per_step)} of each step on the host.",
            advice="Use DistributedDataParallel with one process per device.",
            share=min(1.0, per_step / total) if total else 0.0,
            evidence=(
                Evidence(
                    "call", NAME, {"calls": calls.height, "host_us_per_step": per_step / 1000}
                ),
                *(Evidence("device", str(number)) for number in devices),
            ),
            least_severity=MEDIUM,
        )
    ]
