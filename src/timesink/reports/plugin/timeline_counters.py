"""Utilisation over time as counter events of the Chrome format."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from timesink.analyses.device.utilisation_counters import (
    SM_EFFICIENCY,
    UTILISATION,
    utilisation_counters,
)
from timesink.analyses.names import device_word
from timesink.model.trace import Trace
from timesink.writers.chrome_json import Event


def counter_events(trace: Trace) -> Iterator[Event]:
    """The counters of every device, on the clock of the trace's file."""
    word = device_word(trace)
    quantities = {UTILISATION: f"{word} Utilization", SM_EFFICIENCY: "Est. SM Efficiency"}
    titles = {UTILISATION: "Utilization", SM_EFFICIENCY: "Est. SM Efficiency"}
    offset = trace.metadata.clock_offset_ns
    for ts_ns, device, counter, value in utilisation_counters(trace).iter_rows():
        yield {
            "ph": "C",
            "name": f"{word} {device} {titles[counter]}",
            "pid": device,
            "ts": _microseconds(ts_ns - offset),
            "args": {quantities[counter]: value},
        }


def _microseconds(ns: int) -> int | Decimal:
    """Exact: times since 1970 in microseconds with decimals do not fit a float."""
    whole, rest = divmod(ns, 1000)
    return Decimal(ns).scaleb(-3) if rest else whole
