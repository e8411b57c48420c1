"""What of a load others make: the counter without what the process itself does.

A counter of a device or a link sees everybody.  How much of it is the process's own is known from
its own counters where there are such, and else from the trace: by how much its work per time grew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from timesink.analyses.diagnosis.anomalies.context import Context, Work
from timesink.analyses.diagnosis.anomalies.hardware import capacity_of
from timesink.analyses.diagnosis.anomalies.readings import Reading

_LEAST_BUSY = 0.002
"""Own work below this share of the cycle is too little to scale anything by."""
_ALL = 100.0
_ROUNDING = 5.0
"""Percent by which two counters of the same load may differ: they are not sampled at once."""
_OF_A_CORE = "% of a core"


def of_others(reading: Reading, context: Context) -> Reading:
    """The reading without the load of the process itself, as far as that is known."""
    take_off = TAKEN_OFF.get(reading.resource.own)
    return reading if take_off is None else take_off(reading, context)


def _device_time(reading: Reading, context: Context) -> Reading:
    """Time in which a device is busy: without the process's own time on it.

    A device that runs many short kernels counts as busy for longer than they take, so the share
    may also grow in proportion to them; of both ways the one counts that leaves less to others.
    The process's own counter stands in where the trace has no device: some samplers write the use
    of the whole device there.
    """
    busy = _own_share(reading, context)
    if busy is not None:
        subtracted = reading.less(_ALL * busy[0], _ALL * busy[1])
        return min(subtracted, _scaled(reading, context), key=lambda one: one.rise)
    own = context.reading("own_device_use", reading.device)
    return reading if own is None else reading.less(own.base_mean, own.new_mean)


def _scaled(reading: Reading, context: Context) -> Reading:
    """The process's own part changes with its time on the device."""
    busy = _own_share(reading, context)
    if busy is None or busy[0] < _LEAST_BUSY:
        return reading
    ratio = busy[1] / busy[0]
    if ratio >= 1 or reading.unit != "%":
        return _at_equal_load(reading, ratio)
    # What of it was the process's own was so for as long as it worked, at most.
    own = min(reading.base_mean, _ALL * busy[0])
    return reading.less(0.0, own * (ratio - 1.0))


def _own_share(reading: Reading, context: Context) -> tuple[float, float] | None:
    """Share of the cycle the process's own work on a device takes, at the pace of BASE.

    Kernels that others interrupt last longer: what they last beyond that is not their own.  A
    process that does less leaves a device idle, and does not make others of what is not.
    """
    busy = context.busy(reading.device)
    if busy is None:
        return None
    return busy[0], max(busy) / context.interrupted(reading.device)


def _at_equal_load(reading: Reading, ratio: float) -> Reading:
    """What it would read without more load of the process, if all of BASE was its own.

    Less of it is not taken into account: much of BASE may be of others.
    """
    return reading.less(0.0, reading.base_mean * max(ratio - 1.0, 0.0))


def _cpu(reading: Reading, context: Context) -> Reading:
    """Use of all cores without the process's own.

    A program that seems to use more than all of them was counted against those it may use, of a
    machine that has more.
    """
    own = context.reading("own_cpu_use", reading.device)
    if own is None:
        return reading
    if own.unit != _OF_A_CORE:
        return reading.less(own.base_mean, own.new_mean)
    if context.cores and own.base_mean / context.cores <= reading.base_mean + _ROUNDING:
        return reading.less(own.base_mean / context.cores, own.new_mean / context.cores)
    return _at_equal_load(reading, own.new_mean / own.base_mean if own.base_mean > 0 else 1.0)


def _copies(reading: Reading, context: Context) -> Reading:
    """Traffic of PCIe without more copies of the process."""
    return _without_calls(reading, context, context.copies(reading.device))


def _communication(reading: Reading, context: Context) -> Reading:
    """Traffic between devices without more communication of the process."""
    return _without_calls(reading, context, context.communication(reading.device))


def _without_calls(reading: Reading, context: Context, work: Work) -> Reading:
    """Own traffic grows with own calls per time; what was not there before is own while it runs."""
    base_ns, new_ns = context.cycles_ns
    if base_ns <= 0 or new_ns <= 0 or work.calls_new <= 0:
        return reading
    if work.calls_base > 0:
        rates = work.calls_base / base_ns, work.calls_new / new_ns
        return _at_equal_load(reading, rates[1] / rates[0])
    seen = max(reading.base_mean, reading.new_mean)
    capacity = capacity_of(reading.resource.scale, context.hardware(reading.device), seen)
    return reading.less(0.0, min(work.new_ns / new_ns, 1.0) * capacity)


TAKEN_OFF: Mapping[str, Callable[[Reading, Context], Reading]] = {
    "device_time": _device_time,
    "scaled": _scaled,
    "cpu": _cpu,
    "copies": _copies,
    "communication": _communication,
}
"""By the column `own` of ``resources.csv``."""
