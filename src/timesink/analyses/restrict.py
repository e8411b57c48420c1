"""A trace cut down to some of its steps."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.breakdown import step_breakdown
from timesink.analyses.columns import device_columns, host_columns
from timesink.analyses.links import link_launches
from timesink.analyses.once import remember
from timesink.analyses.steps import find_steps, step_at, step_names
from timesink.errors import NotFoundError, UsageError
from timesink.model.arrays import Flags, Ints
from timesink.model.trace import Trace

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def chosen_steps(names: list[str], wanted: str) -> list[str]:
    """Steps of a choice such as `5-8` or `5,7,10-12`."""
    numbers: set[int] = set()
    for part in wanted.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise UsageError(f"{wanted!r} is not a choice of steps", "try --steps 5-8 or 5,7,9")
        first, last = int(found[1]), int(found[2] or found[1])
        numbers.update(int(name) for name in names if first <= int(name) <= last)
    return [name for name in names if int(name) in numbers]


def within_steps(trace: Trace, wanted: str) -> Trace:
    """The part of a trace that belongs to some of its steps.

    Host events are kept that lie in one of the steps, and device work that was launched there;
    device work without a launch, memory records, flows and counters by their time.  A step keeps
    the bounds and the parts it has in the whole trace.
    """
    steps = find_steps(trace)
    kept = chosen_steps(steps["name"].to_list(), wanted)
    if not kept:
        held = ", ".join(steps["name"].head(12)) or "no step"
        raise NotFoundError(
            f"{trace.metadata.source}: none of the steps {wanted}", f"the trace holds {held}"
        )
    chosen = steps.filter(pl.col("name").is_in(kept))
    on_host = chosen.select("host_start_ns", "host_end_ns").to_numpy()
    on_device = chosen.select("start_ns", "end_ns").to_numpy()
    frames = {
        name: _at_times(trace.lazy(name), on_device) for name in ("memory", "flows", "counters")
    }
    # By name: steps touch, so the end of one is the time of the next.
    frames["steps"] = trace.lazy("steps").filter(step_names().is_in(kept))
    host, device = _host_rows(trace, on_host), _device_rows(trace, on_host, on_device)
    frames["host"] = trace.host.filter(pl.Series(host)).lazy()
    frames["device"] = trace.device.filter(pl.Series(device)).lazy()
    part = replace(trace, frames={**trace.frames, **frames})
    parts = step_breakdown(trace).filter(steps["name"].is_in(kept))
    remember(part, find_steps, _counted(chosen))
    remember(part, step_breakdown, _counted(parts))
    return part


def _counted(steps: pl.DataFrame) -> pl.DataFrame:
    """Cut steps count as well where no other was asked for; averages would be empty."""
    return steps if steps["complete"].any() else steps.with_columns(complete=pl.lit(value=True))


def _at_times(frame: pl.LazyFrame, bounds: Ints) -> pl.LazyFrame:
    inside = pl.any_horizontal(
        pl.col("ts_ns").is_between(int(start), int(end), closed="left") for start, end in bounds
    )
    return frame.filter(inside)


def _inside(start: Ints, end: Ints, bounds: Ints) -> Flags:
    return np.asarray(step_at(start, end, bounds) >= 0)


def _host_rows(trace: Trace, bounds: Ints) -> Flags:
    host = host_columns(trace)
    start = host["ts_ns"].to_numpy()
    return _inside(start, start + host["dur_ns"].to_numpy(), bounds)


def _device_rows(trace: Trace, on_host: Ints, on_device: Ints) -> Flags:
    device, call = device_columns(trace), link_launches(trace).call_row
    start = device["ts_ns"].to_numpy()
    by_time = _inside(start, start + device["dur_ns"].to_numpy(), on_device)
    launched = _host_rows(trace, on_host)
    if not len(launched):
        return by_time
    return np.where(call >= 0, launched[call], by_time)
