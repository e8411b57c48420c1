"""What to try, from how well the kernels of a device use it: one subject per file.

Every rule rests on counters, or on names alone where it says so: where one it needs was not
measured, or little time is concerned, it stays silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from timesink.analyses.kernel_advice.advice import Advice, DeviceCalls, total
from timesink.analyses.kernel_advice.attention import attention_not_fused
from timesink.analyses.kernel_advice.layout import layout_conversions, with_conversions
from timesink.analyses.kernel_advice.low_use import low_use, tiny_kernels
from timesink.analyses.kernel_advice.memory_bound import memory_bound
from timesink.analyses.kernel_advice.tensor_cores import tensor_cores_unused
from timesink.analyses.kernel_calls.classes import THIRDS, Thresholds
from timesink.analyses.kernel_calls.sampling import call_weight
from timesink.analyses.kernel_calls.usage import DeviceUse, headroom, of_device

__all__ = ["RULES", "Advice", "advise"]

RULES: tuple[Callable[[DeviceCalls], Iterator[Advice]], ...] = (
    tensor_cores_unused,
    tiny_kernels,
    memory_bound,
    layout_conversions,
    low_use,
    attention_not_fused,
)


def advise(
    calls: pl.DataFrame,
    devices: Sequence[DeviceUse],
    thresholds: Thresholds = THIRDS,
    multiprocessors: Mapping[int, int] | None = None,
) -> tuple[Advice, ...]:
    """What to try on each device, first what may bring most.

    The calls have their `class` and their `weight`; `multiprocessors` are by device number.

    >>> import timesink
    >>> report = timesink.kernels(timesink.sample())
    >>> [advice.rule for advice in advise(report.calls, report.devices)]
    ['layout-conversions']
    """
    known = multiprocessors or {}
    return tuple(
        advice
        for use in devices
        for advice in _of_device(
            DeviceCalls(
                use,
                _prepared(of_device(calls, use)),
                thresholds,
                None if use.device is None else known.get(use.device),
            )
        )
    )


def _of_device(device: DeviceCalls) -> list[Advice]:
    whole = total(device.calls)
    found = [advice for rule in RULES for advice in rule(device)]

    def most(advice: Advice) -> float:
        return advice.share_pct * whole / 100 if advice.gain_ns is None else advice.gain_ns

    return sorted(found, key=most, reverse=True)


def _prepared(calls: pl.DataFrame) -> pl.DataFrame:
    timed = calls.with_columns(call_weight().alias("weight")).filter(pl.col("dur_ns").is_not_null())
    return with_conversions(timed).with_columns(
        (pl.col("dur_ns") * pl.col("weight")).alias("time"),
        (headroom() * pl.col("weight")).alias("headroom"),
        pl.col("family").cast(pl.String()),
    )
