"""What is known of the machines that made recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from timesink.reports.comparison.runs import SideRun


def facts_of(runs: Sequence[SideRun]) -> dict[str, Any]:
    """Devices and versions the recordings and their recorder name, each once.

    >>> facts_of([])
    {'devices': [], 'processor': None, 'versions': {}, 'world_size': None}
    """
    traces = [run.trace.metadata for run in runs if run.trace is not None]
    recorders = [run.recorded for run in runs if run.recorded is not None]
    named = [one.versions for one in traces] + [one.versions for one in recorders]
    devices = {device.name for one in traces for device in one.devices}
    devices |= {device.name for one in recorders for device in one.devices if device.name}
    sizes = [one.distributed.world_size for one in traces if one.distributed.world_size]
    return {
        "devices": sorted(devices),
        "processor": next((one.host.cpu for one in recorders if one.host.cpu), None),
        # Traces say `torch_version`, the recorder says `torch`: the same thing is named once.
        "versions": {
            str(name).removesuffix("_version"): str(value)
            for each in named
            for name, value in each.items()
        },
        "world_size": max(sizes, default=None),
    }
