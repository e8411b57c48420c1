"""Whose samples a counter's are, where its name or its lane says so."""

from __future__ import annotations

import re

import polars as pl

from timesink.model.schema import HOST_DEVICE

_OF_PROCESS = r"^(process_\w+?)_(\d+)$"
_LANE = re.compile(r"^CAT_([A-Z]+)(?:_(\d+))?", re.IGNORECASE)
HOST_OF_PROCESS = r"^(.+)\(\d+\)$"
"""Processes written as `host(1234)`."""
_ACCELERATOR_LANE = "XPU"
OF_THE_HOST = ("CPU", "MEMORY", "NET", "DISK", "HOST")
"""Lanes of the machine itself, without the `CAT_` before them."""


def with_processes_apart(samples: pl.DataFrame) -> pl.DataFrame:
    """Counters that carry a process in their name under the plain name, with it as device."""
    name = pl.col("counter").cast(pl.String)
    pid = name.str.extract(_OF_PROCESS, 2)
    return samples.with_columns(
        counter=pl.coalesce(name.str.extract(_OF_PROCESS, 1), name),
        device=pl.coalesce(pl.format("pid {}", pid), pl.col("device").cast(pl.String)),
    )


def device_of_lane(lane: str) -> str:
    """The device that the lane of a counter stands for; other lanes stand for themselves."""
    found = _LANE.match(lane)
    if found is None:
        return lane
    kind = found[1].upper()
    if kind == _ACCELERATOR_LANE and found[2] is not None:
        return f"GPU {found[2]}"
    return HOST_DEVICE if kind in OF_THE_HOST else lane
