"""A device that another process shares, seen from equal launches that all take longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.comparison import Pair
from timesink.model import units
from timesink.model.diagnosis import ProgramChange
from timesink.model.findings import Evidence, Finding
from timesink.model.schema import HOST_DEVICE
from timesink.model.vendors import is_gpu
from timesink.rules import catalogue
from timesink.rules.counter_levels import CounterReading, readings
from timesink.rules.environment import counter_evidence
from timesink.rules.resource_load import Context

_CAUSE = "gpu_contention"
_LEAST_LONGER = 1.25
"""Times as long as nearly all kernels must take: sharing a device costs far more, other things of
a device at the same clock (its temperature, its other memory) less."""
_CONTEXT_BYTES = 100 << 20
"""What any process takes of a device's memory to use it at all: contexts take 200 MB and more."""
_MEMORY = ("others_device_memory", "own_device_memory", "device_memory")
"""Counters of memory in use, those first that say whose it is."""
_WHOSE = {
    "others_device_memory": "Another program uses {device}",
    "own_device_memory": "A second process of the program uses {device}",
    "device_memory": "Another process uses {device}",
}


def shared_devices(
    pair: Pair,
    anatomies: tuple[Anatomy, Anatomy],
    anomalies: Sequence[Finding],
    program: ProgramChange | None,
) -> Iterator[Finding]:
    """Devices that a further process shares, of equal programs, where no other anomaly is known.

    Counters of use do not show it: the program itself kept the device busy before, and a process of
    its own counts as the program.  What a process takes of the memory does.
    """
    if program is None or not program.same:
        return
    base, new = anatomies
    context = Context(pair, base, new, readings(pair, base, new))
    odd = {anomaly.device for anomaly in anomalies}
    for device in sorted({reading.device for reading in context.readings} - odd - {HOST_DEVICE}):
        ratio = context.interrupted(device)
        memory = next(filter(None, (_more_memory(device, name, context) for name in _MEMORY)), None)
        if ratio >= _LEAST_LONGER and memory is not None:
            yield _shared(device, ratio, memory, context)


def _more_memory(device: str, resource: str, context: Context) -> CounterReading | None:
    """A counter of memory in use that rose by what a further process takes, at least."""
    reading = context.reading(resource, device)
    return reading if reading is not None and reading.rise >= _CONTEXT_BYTES else None


def _shared(device: str, ratio: float, memory: CounterReading, context: Context) -> Finding:
    texts = catalogue()["causes"][_CAUSE]
    clock = context.reading("device_clock", device)
    longer = f"nearly all kernels take {ratio:.2f} times as long for equal launches"
    amounts = units.amounts(memory.base_mean, memory.new_mean, memory.unit)
    return Finding(
        _CAUSE,
        f"{_WHOSE[memory.resource.resource].format(device=device)}: {memory.metric} {amounts}, and "
        f"{longer} at an unchanged clock.",
        texts["advice" if is_gpu(device) else "plain"],
        share=1 - 1 / ratio,
        evidence=(
            counter_evidence(memory, context),
            Evidence("kernel", f"{longer} on {device}", device=device, base=1.0, new=ratio),
            *([counter_evidence(clock, context)] if clock is not None else []),
        ),
        q_value=0.0,
        **memory.levels,
    )
