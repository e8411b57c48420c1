"""Counters that no sampler writes and that follow from what was recorded."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.comparison.pair import Pair
from timesink.analyses.diagnosis.anomalies.readings import Reading
from timesink.analyses.diagnosis.anomalies.resources import Resource, resource_of
from timesink.analyses.statistics.moments import Floats, Integers
from timesink.model.schema import HOST_DEVICE

_RUN_QUEUE = "runq_wait_share"
_FILE_CALLS = "file_call_time"
_BITS = {"power_throttle": 0x4 | 0x80, "thermal_throttle": 0x20 | 0x40}
"""Reasons of NVIDIA's management library: power cap and power brake; heat, told by software and by
hardware.  0x8 (hardware slowdown) is set with either, 0x1 on every idle device."""
_CAUSES = {"power_throttle": "gpu_power_cap", "thermal_throttle": "gpu_thermal"}


def derived(pair: Pair, found: list[Reading]) -> list[Reading]:
    """Waits for cores, reads and writes from traced calls; reasons to slow down from a mask."""
    sides = [_host_times(side.behaviour) for side in (pair.base, pair.new)]
    return [
        *_reading(_RUN_QUEUE, "%", *(_waits(side) for side in sides)),
        *_reading(_FILE_CALLS, "ns", *(_file_calls(side) for side in sides)),
        *_reasons(found),
    ]


def _reading(
    metric: str, unit: str, base: tuple[Integers, Floats], new: tuple[Integers, Floats]
) -> list[Reading]:
    if not len(base[1]) or not len(new[1]):
        return []
    return [Reading(metric, HOST_DEVICE, unit, resource_of(metric), base[1], new[1], new[0])]


def _host_times(behaviour: pl.DataFrame) -> pl.DataFrame:
    """Time and calls per cycle of what the scheduler and the file system were seen to do."""
    kind = pl.col("function_class").cast(pl.String)
    classes = {"waits": "runq", "runs": "oncpu", "files": "disk_read_and_write"}
    times = {name: pl.col("dur_ns").filter(kind == of).sum() for name, of in classes.items()}
    calls = pl.col("calls").filter(kind == classes["files"]).sum()
    return (
        behaviour.lazy()
        .filter(kind.is_in(list(classes.values())))
        .unique(["cycle", "function", "device"], keep="first")
        .group_by("cycle")
        .agg(**times, calls=calls)
        .sort("cycle")
        .collect()
    )


def _waits(times: pl.DataFrame) -> tuple[Integers, Floats]:
    """Share of the time in which threads could run that they waited for a core, in percent."""
    known = times.filter(pl.col("waits") > 0, pl.col("runs") > 0)
    share = known.select(100 * pl.col("waits") / (pl.col("waits") + pl.col("runs"))).to_series()
    return known["cycle"].to_numpy(), share.to_numpy()


def _file_calls(times: pl.DataFrame) -> tuple[Integers, Floats]:
    """How long a read or a write takes."""
    known = times.filter(pl.col("calls") > 0)
    each = known.select(pl.col("files") / pl.col("calls")).to_series()
    return known["cycle"].to_numpy(), each.to_numpy().astype(np.float64)


def _reasons(found: list[Reading]) -> list[Reading]:
    """Share of cycles in which a device gave a reason, in percent, for each sort of reason."""
    masks = [one for one in found if one.resource.resource == "throttle_mask"]
    return [
        Reading(
            f"{mask.metric}: {reason}",
            mask.device,
            "%",
            Resource(mask.metric, reason, _CAUSES[reason], "exogenous", "up", "flag"),
            _with_bits(mask.base, bits),
            _with_bits(mask.new, bits),
            mask.cycles,
        )
        for mask in masks
        for reason, bits in _BITS.items()
    ]


def _with_bits(masks: Floats, bits: int) -> Floats:
    """100 where one of the bits is set; a mean of several masks tells nothing."""
    whole = np.rint(masks)
    known = (masks >= 0) & (np.abs(masks - whole) < 1e-6) & (whole < 2**31)
    numbers = np.where(known, whole, 0).astype(np.int64)
    return np.where(numbers & bits, 100.0, 0.0)
