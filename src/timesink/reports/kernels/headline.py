"""The answer in one sentence: how much time kernels leave both SM and memory unused."""

from __future__ import annotations

import polars as pl

from timesink.analyses.kernel_calls.classes import Thresholds
from timesink.analyses.kernel_calls.groups import call_groups
from timesink.analyses.kernel_calls.sampling import Sampling
from timesink.analyses.kernel_calls.usage import DeviceUse, of_device
from timesink.analyses.names import device_word
from timesink.model import units
from timesink.model.trace import Trace
from timesink.model.vendors import NVIDIA, UNKNOWN

_REMEDY = ": `timesink ncu` measures how well each uses the hardware"
_DURATIONS = "; collect gpu__time_duration.sum as well, as `timesink ncu` does"
_AXES = {"sm": "SM", "tensor": "the tensor pipe"}
_WHOLE = 0.995


def headline(
    trace: Trace,
    calls: pl.DataFrame,
    devices: tuple[DeviceUse, ...],
    thresholds: Thresholds,
    sampling: Sampling | None,
) -> str:
    """How long the kernels took, and how much of that the hardware was hardly used."""
    timed = [use for use in devices if use.timed]
    if not devices:
        return "No kernel was recorded."
    if not timed:
        remedy = _DURATIONS if can_be_measured(trace) else ""
        told = f"{units.counted(len(calls), 'kernels')} without a duration: nothing to weigh"
        return f"{told}{remedy}."
    longest = max(timed, key=lambda use: use.total_ns)
    said = f"{_where(trace, devices, longest)}{_amount(longest, sampling)}"
    said = f"{said[0].upper()}{said[1:]}"
    if not longest.total_ns:
        return f"{said}: nothing to weigh."
    if longest.headroom_ns is None:
        return f"{said}{_largest_family(calls, longest)}; {_why_unknown(trace)}."
    return f"{said}: {_unused(longest, thresholds)}; {headroom_sentence(longest)}."


def _why_unknown(trace: Trace) -> str:
    if trace.metadata.format == "ncu":
        return "no metric that was measured says how well they use the hardware"
    return f"no hardware counters{_REMEDY if can_be_measured(trace) else ''}"


def can_be_measured(trace: Trace) -> bool:
    """Whether `timesink ncu` works on the device of a recording, so far as it says.

    >>> import timesink
    >>> can_be_measured(timesink.open(timesink.sample()))
    True
    """
    return trace.metadata.vendor in {NVIDIA.name, UNKNOWN}


def _where(trace: Trace, devices: tuple[DeviceUse, ...], longest: DeviceUse) -> str:
    """Which device is spoken of, where there are several."""
    if len(devices) < 2:
        return ""
    word = device_word(trace)
    place = "one without number" if longest.device is None else f"{word} {longest.device}"
    hosts = {use.host for use in devices}
    host = f" of {longest.host}" if len(hosts) > 1 and longest.host else ""
    return f"{units.count(len(devices))} {word}s; on {place}{host}, the one that worked longest, "


def _amount(use: DeviceUse, sampling: Sampling | None) -> str:
    time = units.brief_ns(use.total_ns)
    if sampling is None:
        more = f" ({units.count(use.untimed)} more without a duration)" if use.untimed else ""
        return f"{units.counted(use.timed, 'kernels')}{more} took {time}"
    low, high = (use.intervals or {}).get("total_ns", (use.total_ns, use.total_ns))
    between = f"{units.brief_ns(low)} to {units.brief_ns(high)}"
    return (
        f"about {units.counted(use.launches, 'kernels')} took {time} "
        f"({between}, estimated from {units.count(use.calls)}: {sampling})"
    )


def _unused(use: DeviceUse, thresholds: Thresholds) -> str:
    third = abs(thresholds.low - 1 / 3) < 0.005
    limit = "a third" if third else f"{units.share(thresholds.low, 1)}"
    share = units.share(use.class_share["both_low"], 1)
    said = (
        f"{share} of the time in kernels that use less than {limit} of both {_AXES[use.axis]} "
        "and DRAM"
    )
    unknown = use.class_share["unknown"]
    return f"{said} ({units.share(unknown, 1)} not measured)" if unknown > 1 - _WHOLE else said


def headroom_sentence(use: DeviceUse) -> str:
    """What is left to gain on a device, of the time of launches with any utilisation."""
    saved, whole = (units.brief_ns(ns) for ns in (use.headroom_ns or 0, use.measured_ns))
    same_unit = saved.rsplit(" ", 1)[-1] == whole.rsplit(" ", 1)[-1]
    shown = saved.rsplit(" ", 1)[0] if same_unit else saved
    return f"{shown} of {whole} would vanish if every kernel ran at its nearest roof"


def _largest_family(calls: pl.DataFrame, use: DeviceUse) -> str:
    family, share = call_groups(of_device(calls, use), "family").select("group", "share_pct").row(0)
    return f", {units.share(share, 100)} of it {family}" if share and family != "other" else ""
