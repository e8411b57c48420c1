"""What each function of a rank did in all of its steps: a row per function, never per call."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import device_columns, device_names, host_columns, host_names
from timesink.analyses.kernel_names.normalised import normalised_name
from timesink.analyses.roles import is_communication
from timesink.analyses.texts import Texts
from timesink.model import intervals
from timesink.model.intervals import IntervalSet
from timesink.model.trace import Trace

PLACES = ("kernel", "copy", "host", "loading", "waiting")
FUNCTION_SCHEMA = {
    "place": pl.Enum(PLACES),
    "function": pl.String(),
    "calls": pl.Int64(),
    "dur_ns": pl.Int64(),
    "typical_ns": pl.Float64(),
    "work": pl.Float64(),
}
"""`typical_ns` is the median of the calls, `work` the blocks or bytes they were given."""

_GRID = ("grid_x", "grid_y", "grid_z")


def function_times(trace: Trace, bounds: IntervalSet) -> pl.DataFrame:
    """Rows of `FUNCTION_SCHEMA`: kernels, copies and host calls that start in the steps.

    >>> import timesink
    >>> found = function_times(timesink.open(timesink.sample()), np.array([[0, 2**62]]))
    >>> sorted(found["place"].cast(str).unique())
    ['copy', 'host', 'kernel', 'waiting']
    """
    known: dict[str, int] = {}
    calls = pl.concat([_device_calls(trace, bounds, known), _host_calls(trace, bounds, known)])
    found = calls.group_by("what").agg(
        calls=pl.len(),
        dur_ns=pl.col("dur_ns").sum(),
        typical_ns=pl.col("dur_ns").median(),
        work=pl.col("work").sum(),
    )
    function, place = np.divmod(found["what"].to_numpy(), len(PLACES))
    return (
        found.with_columns(
            place=pl.Series(PLACES, dtype=FUNCTION_SCHEMA["place"]).gather(place),
            function=pl.Series([*known], dtype=pl.String).gather(function),
        )
        .sort("place", "function")
        .select(pl.col(name).cast(dtype) for name, dtype in FUNCTION_SCHEMA.items())
    )


def _device_calls(trace: Trace, bounds: IntervalSet, known: dict[str, int]) -> pl.DataFrame:
    device = device_columns(trace)
    kind = pl.col("kind")
    sorts = device.select(kernel=kind == "kernel", copy=kind.is_in(["memcpy", "memset"]))
    kernel = sorts["kernel"].to_numpy() & ~is_communication(trace)
    rows = np.flatnonzero((kernel | sorts["copy"].to_numpy()) & _inside(device, bounds))
    blocks = pl.col(_GRID[0]).cast(pl.Float64)
    for axis in _GRID[1:]:
        blocks = blocks * pl.col(axis).fill_null(1)
    given = pl.coalesce(pl.col("bytes").cast(pl.Float64), blocks).fill_null(0.0)
    work = trace.lazy("device").select(work=given).collect()["work"].to_numpy()[rows]
    place = np.where(kernel[rows], PLACES.index("kernel"), PLACES.index("copy"))
    return _calls(device, device_names(trace), rows, place=place, work=work, known=known)


def _host_calls(trace: Trace, bounds: IntervalSet, known: dict[str, int]) -> pl.DataFrame:
    """Operators, runtime calls, those that wait for the device, and data loading."""
    host, named = host_columns(trace), host_names(trace)
    of_program = pl.col("kind").is_in(["operator", "runtime", "driver"])
    calls = host.select(of_program).to_series().to_numpy()
    loads = named.matching(names.is_data_loader)
    waits = named.matching(names.waits_for_device) & calls
    waits[_made_by_collectives(trace, np.flatnonzero(waits))] = False
    chosen = (calls & ~named.matching(_tells_nothing)) | loads
    rows = np.flatnonzero(chosen & _inside(host, bounds))
    on_host, loading, waiting = (PLACES.index(name) for name in ("host", "loading", "waiting"))
    place = np.where(loads[rows], loading, np.where(waits[rows], waiting, on_host))
    work = np.zeros(len(rows))
    return _calls(host, named, rows, place=place, work=work, known=known)


def _made_by_collectives(trace: Trace, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of some host rows that lie in a collective of their thread: the program waits not."""
    host = host_columns(trace)
    talking = host_names(trace).rows(names.is_collective_call)
    start, end = host["ts_ns"].to_numpy(), (host["ts_ns"] + host["dur_ns"]).to_numpy()
    thread = host["tid"].to_numpy()
    inside = np.zeros(len(rows), dtype=np.bool_)
    for one in np.intersect1d(thread[rows], thread[talking]):
        calls = talking[thread[talking] == one]
        ranges = intervals.merge(np.stack([start[calls], end[calls]], axis=1))
        place = np.searchsorted(ranges[:, 0], start[rows], side="right") - 1
        inside |= (thread[rows] == one) & (place >= 0) & (end[rows] <= ranges[place, 1])
    return rows[inside]


def _calls(
    events: pl.DataFrame,
    named: Texts,
    rows: NDArray[np.intp],
    *,
    place: NDArray[np.intp],
    work: NDArray[np.float64],
    known: dict[str, int],
) -> pl.DataFrame:
    """Some events, with a number for place and function: numbers are grouped faster than texts."""
    plain = [known.setdefault(normalised_name(text), len(known)) for text in named.texts]
    function = np.array(plain, dtype=np.int64)[named.codes[rows]] if len(rows) else rows
    return pl.DataFrame(
        {
            "what": function * len(PLACES) + place,
            "dur_ns": events["dur_ns"].to_numpy()[rows],
            "work": work,
        },
        schema={"what": pl.Int64, "dur_ns": pl.Int64, "work": pl.Float64},
    )


def _tells_nothing(name: str) -> bool:
    return names.is_collective_call(name) or names.is_profiler_step(name)


def _inside(events: pl.DataFrame, bounds: IntervalSet) -> NDArray[np.bool_]:
    """Which events start in a step; steps are in order and apart."""
    start = events["ts_ns"].to_numpy()
    if not len(bounds):
        return np.zeros(len(start), dtype=np.bool_)
    step = np.searchsorted(bounds[:, 0], start, side="right") - 1
    inside: NDArray[np.bool_] = (step >= 0) & (start < bounds[np.maximum(step, 0), 1])
    return inside
