"""How busy each device was from the first step to the last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    device_numbers,
    event_ranges,
    host_columns,
    once_per_trace,
)
from timesink.analyses.kernels.table import kernel_launches, operator_tensor_core_share
from timesink.analyses.steps import find_steps, window
from timesink.model import intervals
from timesink.model.arrays import Flags, Floats, Ints
from timesink.model.intervals import IntervalSet
from timesink.model.schema import BUSY_KINDS
from timesink.model.trace import Trace

SCHEMA = {
    "device": pl.Int64(),
    "window_ns": pl.Int64(),
    "utilisation": pl.Float64(),
    "any_activity": pl.Float64(),
    "steps_ns": pl.Int64(),
    "within_steps": pl.Float64(),
    "sm_efficiency": pl.Float64(),
    "occupancy_pct": pl.Float64(),
    "tensor_core_ratio": pl.Float64(),
}

INTERVAL_SCHEMA = {"start_ns": pl.Int64(), "end_ns": pl.Int64(), "value": pl.Float64()}


@once_per_trace
def device_utilisation(trace: Trace) -> pl.DataFrame:
    """One row per device that ran kernels; ratios from 0 to 1, null where nothing tells.

    * `utilisation`: time with a kernel running, of `window_ns`, which lasts from the start of
      the first complete step to the end of the last, gaps between steps included;
    * `any_activity`: the same with copies and memsets;
    * `within_steps`: time with a kernel running inside steps, of `steps_ns`, the steps alone;
    * `sm_efficiency`: multiprocessors in use by blocks per SM, over the window;
    * `occupancy_pct`: achieved occupancy, weighted by kernel time inside the window;
    * `tensor_core_ratio`: of the time of kernels launched by operators, anywhere in the trace.
    """
    steps = find_steps(trace).filter("complete")
    frame = _Frame(window(steps), steps.select("start_ns", "end_ns").to_numpy())
    ratios = operator_tensor_core_share(trace)
    ratio_of = dict(ratios.select("device", "ratio").iter_rows())
    rows = [
        {
            "device": device,
            **_measure(trace, device, frame),
            "tensor_core_ratio": (ratio_of.get(device) or 0.0) if ratio_of else None,
        }
        for device in kernel_devices(trace)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def kernel_devices(trace: Trace) -> list[int]:
    """Numbers of the devices that ran kernels, in order; -1 for kernels on an unknown device."""
    devices: list[int] = kernel_launches(trace)["device"].unique().sort().to_list()
    return devices


def kernel_ranges(trace: Trace, device: int) -> IntervalSet:
    """When each kernel of a device ran, communication included; not merged."""
    mine = _launches_on(trace, device)
    return event_ranges(mine)


def sm_efficiency_intervals(trace: Trace, device: int) -> pl.DataFrame:
    """Share of the multiprocessors in use while kernels of known size run, over time.

    Each kernel uses as many as it has blocks per SM; together they use all of them at most.
    """
    return _efficiency_by_device(trace).get(device, pl.DataFrame(schema=INTERVAL_SCHEMA))


@once_per_trace
def _efficiency_by_device(trace: Trace) -> dict[int, pl.DataFrame]:
    return {device: _efficiency(_launches_on(trace, device)) for device in kernel_devices(trace)}


def _efficiency(launches: pl.DataFrame) -> pl.DataFrame:
    blocks = pl.col("blocks_per_sm")
    sized = launches.filter((blocks > 0) & blocks.is_finite())
    start = sized["ts_ns"].to_numpy()
    bounds, sums = intervals.sweep(
        start, start + sized["dur_ns"].to_numpy(), sized["blocks_per_sm"].to_numpy()
    )
    used = sums > 0
    pieces = {
        "start_ns": bounds[:-1][used],
        "end_ns": bounds[1:][used],
        "value": np.minimum(sums[used], 1.0),
    }
    return pl.DataFrame(pieces, schema=INTERVAL_SCHEMA)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What ratios are taken of."""

    window: tuple[int, int]
    steps: IntervalSet

    @property
    def window_ns(self) -> int:
        return self.window[1] - self.window[0]

    @property
    def steps_ns(self) -> int:
        return int((self.steps[:, 1] - self.steps[:, 0]).sum())

    def covered(self, ranges: IntervalSet) -> tuple[int, int]:
        """How much of the window and of the steps the ranges cover."""
        in_window, *in_steps = intervals.coverage_within(
            ranges, np.vstack([self.window, self.steps])
        ).tolist()
        return in_window, sum(in_steps)


def _measure(trace: Trace, device: int, frame: _Frame) -> dict[str, int | float | None]:
    running, running_in_steps = frame.covered(kernel_ranges(trace, device))
    events = device_columns(trace)
    mine = events["kind"].is_in(BUSY_KINDS).to_numpy() & (device_numbers(trace) == device)
    active, _ = frame.covered(event_ranges(events, mine))
    return {
        "window_ns": frame.window_ns,
        "utilisation": _part(running, frame.window_ns),
        "any_activity": _part(active, frame.window_ns),
        "steps_ns": frame.steps_ns,
        "within_steps": _part(running_in_steps, frame.steps_ns),
        "sm_efficiency": _mean_efficiency(sm_efficiency_intervals(trace, device), frame),
        "occupancy_pct": _mean_occupancy(_launches_on(trace, device), frame),
    }


def _part(amount: float, whole: int) -> float | None:
    return amount / whole if whole else None


def _mean_efficiency(pieces: pl.DataFrame, frame: _Frame) -> float | None:
    length = _length_inside(pieces["start_ns"], pieces["end_ns"], frame.window)
    if not length.any():
        return None
    return _part(float((pieces["value"].to_numpy() * length).sum()), frame.window_ns)


def _mean_occupancy(launches: pl.DataFrame, frame: _Frame) -> float | None:
    known = launches.filter(pl.col("occupancy_pct").is_not_null())
    length = _length_inside(known["ts_ns"], known["ts_ns"] + known["dur_ns"], frame.window)
    return _part(float((known["occupancy_pct"].to_numpy() * length).sum()), int(length.sum()))


def _length_inside(start: pl.Series, end: pl.Series, window: tuple[int, int]) -> Ints:
    return np.asarray(np.clip(end.to_numpy(), *window) - np.clip(start.to_numpy(), *window))


def _launches_on(trace: Trace, device: int) -> pl.DataFrame:
    return kernel_launches(trace).filter(pl.col("device") == device)


# How busy each device was over time, as counter samples to show above a timeline.

UTILISATION = "utilisation"
SM_EFFICIENCY = "sm_efficiency"
SAMPLE_SCHEMA = {
    "ts_ns": pl.Int64(),
    "device": pl.Int64(),
    "counter": pl.String(),
    "value": pl.Float64(),
}

MOST_BUCKETS = 100
_SHORTEST_BUCKET_NS = 1_000
_WHOLE_RECORDING = "PyTorch Profiler (0)"
_NOT_WORK = ("trace", "instant")


@once_per_trace
def utilisation_counters(trace: Trace) -> pl.DataFrame:
    """Samples of `utilisation` and `sm_efficiency` per device, from 0 to 1, as they are shown.

    Utilisation is the part of a bucket with a kernel running, given at the start of the bucket.
    SM efficiency is given wherever it changes.  Each counter starts with a 1 and a 0, so that
    every viewer scales it alike, and falls to 0 at its end.  No rows without kernels.
    """
    samples = [
        pl.DataFrame(
            {"ts_ns": times, "device": device, "counter": counter, "value": values},
            schema=SAMPLE_SCHEMA,
        )
        for device in kernel_devices(trace)
        for counter, times, values in _counters(trace, device)
    ]
    return pl.concat([pl.DataFrame(schema=SAMPLE_SCHEMA), *samples])


@once_per_trace
def timeline(trace: Trace) -> tuple[int, int]:
    """What the recording covers: as the profiler states it, else from first to last event."""
    host = host_columns(trace)
    frames = host[np.flatnonzero((host["kind"] == "trace").to_numpy())]
    stated = frames.filter(pl.col("name") == _WHOLE_RECORDING)
    if stated.height:
        start = int(stated["ts_ns"][0])
        return start, start + int(stated["dur_ns"][0])
    work = ~host["kind"].is_in(_NOT_WORK).to_numpy()
    spans = [_span(host, work), _span(device_columns(trace), np.s_[:])]
    known = [span for span in spans if span is not None]
    return (
        min((start for start, _ in known), default=0),
        max((end for _, end in known), default=0),
    )


def _span(events: pl.DataFrame, chosen: Flags | slice) -> tuple[int, int] | None:
    start = events["ts_ns"].to_numpy()[chosen]
    if not len(start):
        return None
    return int(start.min()), int((start + events["dur_ns"].to_numpy()[chosen]).max())


def buckets(start: int, end: int) -> Ints:
    """Borders of at most a hundred buckets of 1, 10, 100, ... us; the last takes the rest."""
    width = _SHORTEST_BUCKET_NS
    while end - start > MOST_BUCKETS * width:
        width *= 10
    count = max((end - start) // width, 1)
    return np.append(start + width * np.arange(count), end)


def _counters(trace: Trace, device: int) -> Iterator[tuple[str, Ints, Floats]]:
    start, end = timeline(trace)
    borders = buckets(start, end)
    windows = np.stack([borders[:-1], borders[1:]], axis=1)
    covered = intervals.coverage_within(kernel_ranges(trace, device), windows)
    parts = covered / np.maximum(windows[:, 1] - windows[:, 0], 1)
    for counter, (times, values) in (
        (UTILISATION, (borders, np.append(parts, 0.0))),
        (SM_EFFICIENCY, _sm_efficiency(trace, device)),
    ):
        if len(times):
            yield counter, np.insert(times, 0, [start, start]), np.insert(values, 0, [1.0, 0.0])


def _sm_efficiency(trace: Trace, device: int) -> tuple[Ints, Floats]:
    pieces = sm_efficiency_intervals(trace, device)
    times = pieces.select("start_ns", "end_ns").to_numpy().ravel()
    values = np.zeros(2 * pieces.height)
    values[::2] = pieces["value"].to_numpy()
    return times, values
