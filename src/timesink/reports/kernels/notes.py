"""What to know before believing the numbers of a report on kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from timesink.analyses.kernel_calls.calls import has_counters
from timesink.analyses.kernel_calls.sampling import Sampling
from timesink.analyses.kernel_calls.usage import DeviceUse
from timesink.analyses.names import device_word
from timesink.model import units
from timesink.model.trace import Trace
from timesink.reports.kernels.headline import can_be_measured


def find_notes(
    trace: Trace,
    calls: pl.DataFrame,
    devices: Sequence[DeviceUse],
    sampling: Sampling | None,
) -> Iterator[str]:
    """One sentence each, without a full stop; what trace health says already is left out."""
    if not has_counters(trace):
        yield no_counters(trace)
    elif any(use.timed for use in devices):
        yield "durations are of kernels replayed one by one, not of the program's own run"
    if sampling is not None:
        yield from _sampled(calls, sampling)
    if any(use.axis == "tensor" and use.headroom_ns is not None for use in devices):
        yield (
            "no SM counter: the tensor pipe stands in for it, which overstates `both low` and the "
            "headroom of kernels that use other pipes"
        )
    if len(devices) > 1:
        yield f"{len(devices)} {device_word(trace)}s: their times are not added up"
    yield from _profiler_notes(trace)


def no_counters(trace: Trace) -> str:
    """Why nothing is known of how well kernels use the hardware, and what to do about it."""
    said = "a timeline has no hardware counters"
    if not can_be_measured(trace):
        return said
    return (
        f"{said}: record them with `timesink ncu -- PROGRAM`, then "
        f"`timesink kernels COUNTERS --trace {Path(trace.metadata.source).name}`"
    )


def _sampled(calls: pl.DataFrame, sampling: Sampling) -> Iterator[str]:
    seen, names = calls.height, calls["short_name"].n_unique()
    # Of each kernel the first launch is measured, however rarely it runs.
    missing = "kernels that run rarely may be missing, and " if sampling.per == "launch" else ""
    yield (
        f"a sample: {sampling} was measured, {units.counted(seen, 'launches')} of "
        f"{units.counted(names, 'kernels')} seen; totals are scaled, intervals hold in 95 of 100 "
        f"cases; {missing}the order of launches cannot be rebuilt"
    )
    if sampling.per == "launch":
        yield (
            f"if the program repeats itself every {sampling.every} launches, or a number that "
            f"shares a factor with {sampling.every}, the sample always meets the same kernels"
        )


def _profiler_notes(trace: Trace) -> Iterator[str]:
    said = trace.metadata.extra.get("profiler_notes")
    known = [entry.example for entry in trace.health if entry.example]
    for note in said if isinstance(said, list | tuple) else ():
        text = str(note).removeprefix("Note: ")
        if not any(example.endswith(text) for example in known):
            yield f"the profiler says: {text}"
