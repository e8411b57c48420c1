"""Which accelerator each device event ran on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from timesink.analyses.columns import device_columns
from timesink.analyses.once import once_per_trace
from timesink.model.trace import Trace

UNKNOWN_DEVICE = -1


@once_per_trace
def device_numbers(trace: Trace) -> NDArray[np.int64]:
    """The device of each row of `trace.device`; -1 where nothing tells.

    Readers take it from the event's arguments, else from its lane, its process's label or its
    pid; any number is fine.
    """
    recorded = device_columns(trace)["device"]
    numbers: NDArray[np.int64] = recorded.fill_null(UNKNOWN_DEVICE).cast(int).to_numpy()
    return numbers
