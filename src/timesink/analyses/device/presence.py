"""Whether a recording holds any work of a device."""

from __future__ import annotations

from timesink.analyses.columns import device_columns
from timesink.analyses.once import once_per_trace
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace


@once_per_trace
def has_device_work(trace: Trace) -> bool:
    """Whether a kernel, copy, memset or collective ran; annotations and ranges are no work."""
    return bool(device_columns(trace)["kind"].is_in(BUSY_KINDS).any())
