"""Which accelerator each device event ran on."""

from __future__ import annotations

import numpy as np

from timesink.analyses.columns import device_columns
from timesink.analyses.once import once_per_trace
from timesink.model.arrays import Ints
from timesink.model.trace import Trace

UNKNOWN_DEVICE = -1


@once_per_trace
def device_numbers(trace: Trace) -> Ints:
    """The device of each row of `trace.device`; -1 where nothing tells.

    Readers take it from the event's arguments, else from its lane, its process's label or its
    pid; any number is fine.
    """
    recorded = device_columns(trace)["device"]
    return np.asarray(recorded.fill_null(UNKNOWN_DEVICE).cast(int).to_numpy())
