"""Counters of accelerators, from the management library that knows the devices of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from timesink.recorder import amd_counters, nvidia_counters
from timesink.recorder.counter_catalogue import GPU_COUNTERS
from timesink.recorder.counter_probes import CounterSource, Probe, ProbeContext, UnavailableError

_MAKERS = (nvidia_counters, amd_counters)


def _probes(context: ProbeContext) -> Iterator[Probe]:
    """Counters of all devices the program can see, of the first maker that has some."""
    reasons = []
    for maker in _MAKERS:
        try:
            yield from maker.probes(context)
        except UnavailableError as error:  # noqa: PERF203
            reasons.append(str(error))
        else:
            return
    raise UnavailableError("; ".join(reasons))


GPU_SOURCE = CounterSource(tuple(each.name for each in GPU_COUNTERS), _probes)
"""Opened in a thread: a management library may take seconds to start."""


def describe_devices(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every device the program can see, under the label its counters have."""
    for maker in _MAKERS:
        try:
            told = os.environ if environment is None else environment
            return list(maker.describe(told))
        except UnavailableError:  # noqa: PERF203
            continue
    return []
