"""`DataParallel` where `DistributedDataParallel` would do."""

from __future__ import annotations

from timesink.analyses.columns import device_columns, host_columns, host_names
from timesink.analyses.device.numbers import device_numbers
from timesink.analyses.findings.finding import MEDIUM, Evidence, Finding
from timesink.analyses.findings.per_step import complete_steps
from timesink.model import intervals, units
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

NAME = "DataParallel.forward"


def data_parallel(trace: Trace) -> list[Finding]:
    """One process drives several devices, copies the model each step and shares one interpreter.

    >>> import timesink
    >>> data_parallel(timesink.open(timesink.sample()))
    []
    """
    calls = host_columns(trace)[host_names(trace).rows(NAME.__eq__)]
    if calls.is_empty():
        return []
    busy = device_columns(trace)["kind"].is_in(BUSY_KINDS).to_numpy()
    devices = sorted(set(device_numbers(trace)[busy].tolist()))
    steps = complete_steps(trace)
    if len(devices) < 2 or not steps.length_ns:
        return []
    ranges = intervals.from_starts(calls["ts_ns"].to_numpy(), calls["dur_ns"].to_numpy())
    per_step = steps.per_step_ns(ranges)
    return [
        Finding(
            rule="data-parallel",
            title="DataParallel drives several devices from one process",
            sentence=f"{NAME} ran {units.counted(calls.height, 'times')} for {len(devices)} "
            f"devices and takes {units.duration_ns(per_step)} of {steps.each} on the host.",
            advice="Use DistributedDataParallel with one process per device.",
            share=per_step / steps.length_ns,
            evidence=(
                Evidence(
                    "call", NAME, {"calls": calls.height, "host_us_per_step": per_step / 1000}
                ),
                *(Evidence("device", str(number)) for number in devices),
            ),
            least_severity=MEDIUM,
        )
    ]
