"""What the devices of a recording are, as far as it says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from timesink.analyses.behaviour.counter_devices import Devices
from timesink.model.trace import Trace

_CORES = ("cpu_count", "cpu_cores", "num_cpus", "logical_cpus", "cores")
"""Fields in which recorders write how many processor cores there are."""
_AROUND = ("topology", "host", "system", "cpu", "machine")
"""Fields these may be in."""


def hardware_names(
    trace: Trace, devices: Devices, process: str, used: Sequence[int]
) -> dict[str, str]:
    """The hardware of each device of a process, by the label of the device."""
    known = {device.id: device.name for device in trace.metadata.devices if device.name}
    numbers = used or tuple(known)
    return {devices.label(process, number): known[number] for number in numbers if number in known}


def cores_of(trace: Trace) -> int | None:
    """Processor cores of the host; None where the recording does not say.

    All of the machine, as counters of the whole host do not know what a program may use.
    """
    host = None if trace.metadata.run is None else trace.metadata.run.host
    told = None if host is None else host.machine_cores or host.cores
    if told is not None and told >= 1:
        return round(told)
    extra = trace.metadata.extra
    for fields in (extra, *(extra.get(name) for name in _AROUND)):
        found = _whole_number(fields)
        if found is not None:
            return found
    return None


def _whole_number(fields: Any) -> int | None:
    if not isinstance(fields, dict):
        return None
    values = (str(fields.get(name)) for name in _CORES)
    return next((int(one) for one in values if one.isdigit() and int(one) > 0), None)
