"""What speaks for an anomaly, so that a user can look it up."""

from __future__ import annotations

import numpy as np

from timesink.analyses.diagnosis.anomalies.context import Context
from timesink.analyses.diagnosis.anomalies.readings import Reading
from timesink.analyses.diagnosis.diagnosis import Evidence
from timesink.model.amounts import amounts, change


def counter_evidence(reading: Reading, context: Context | None = None) -> Evidence:
    """A counter on both sides; with a context, also the cycle that shows it best."""
    base, new = reading.base_mean, reading.new_mean
    cycle, start, end = (None, None, None) if context is None else _where(reading, context)
    return Evidence(
        "counter",
        f"{reading.metric} of {reading.device}: {amounts(base, new, reading.unit)}"
        f" ({change(base, new)})",
        side=None if cycle is None else "new",
        cycle=cycle,
        start_ns=start,
        end_ns=end,
        device=reading.device,
        metric=reading.metric,
        unit=reading.unit or None,
        base=base,
        new=new,
    )


def kernel_evidence(device: str, ratio: float) -> Evidence:
    """Own kernels that take longer, though there are no more of them."""
    return Evidence(
        "kernel",
        f"own kernels on {device} that are launched as often as before take {ratio:.2f} times as"
        " long",
        device=device,
        base=1.0,
        new=ratio,
    )


def _where(reading: Reading, context: Context) -> tuple[int | None, int | None, int | None]:
    """The cycle of NEW in which the counter is farthest in the harmful direction."""
    if not len(reading.cycles) or len(reading.cycles) != len(reading.new):
        return None, None, None
    farthest = np.argmin if reading.resource.harm == "down" else np.argmax
    cycle = int(reading.cycles[int(farthest(reading.new))])
    return cycle, *context.new.span(cycle)
