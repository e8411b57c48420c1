"""What each function of a rank did in all of its steps: a row per function, never per call."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses import names
from timesink.analyses.columns import (
    device_columns,
    device_kinds,
    device_names,
    host_columns,
    host_kinds,
    host_lanes,
    host_names,
    start_and_end,
)
from timesink.analyses.kernel_names.normalised import normalised_name
from timesink.analyses.kernels.table import launched_blocks
from timesink.analyses.ranks.operator_work import operator_work
from timesink.analyses.roles import is_communication
from timesink.analyses.texts import Texts
from timesink.model import intervals
from timesink.model.arrays import Flags, Floats, Ints
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
"""`typical_ns` is the median of the calls, `work` the blocks or bytes they were given; of
operators, where there is no device, what the shapes of their inputs tell."""


def function_times(trace: Trace, bounds: IntervalSet) -> pl.DataFrame:
    """Rows of `FUNCTION_SCHEMA`: kernels, copies and host calls that start in the steps."""
    known: dict[str, int] = {}
    parts = (_device_calls(trace, bounds, known), _host_calls(trace, bounds, known))
    what, length, work = (np.concatenate(pair) for pair in zip(*parts, strict=True))
    if not len(what):
        return pl.DataFrame(schema=FUNCTION_SCHEMA)
    order = np.lexsort((length, what))
    what, length, work = what[order], length[order], work[order]
    first = np.flatnonzero(np.diff(what, prepend=-1))
    many = np.diff(first, append=len(what))
    function, place = np.divmod(what[first], len(PLACES))
    texts = [*known]
    named = [texts[number] for number in function.tolist()]
    sorting = sorted(range(len(named)), key=lambda row: (place[row], named[row]))
    return pl.DataFrame(
        {
            "place": [PLACES[place[row]] for row in sorting],
            "function": [named[row] for row in sorting],
            "calls": many[sorting],
            "dur_ns": np.add.reduceat(length, first)[sorting],
            "typical_ns": ((length[first + (many - 1) // 2] + length[first + many // 2]) / 2)[
                sorting
            ],
            "work": np.add.reduceat(work, first)[sorting],
        },
        schema=FUNCTION_SCHEMA,
    )


_Calls: TypeAlias = tuple[Ints, Ints, Floats]
"""Of each call a number for place and function, its length and its work."""


def _device_calls(trace: Trace, bounds: IntervalSet, known: dict[str, int]) -> _Calls:
    device, kinds = device_columns(trace), device_kinds(trace)
    kernel = kinds.among("kernel") & ~is_communication(trace)
    rows = np.flatnonzero((kernel | kinds.among("memcpy", "memset")) & _inside(device, bounds))
    given = pl.coalesce(pl.col("bytes").cast(pl.Float64), launched_blocks()).fill_null(0.0)
    work = trace.lazy("device").select(work=given).collect()["work"].to_numpy()[rows]
    place = np.where(kernel[rows], PLACES.index("kernel"), PLACES.index("copy"))
    return _calls(device, device_names(trace), rows, place=place, work=work, known=known)


def _host_calls(trace: Trace, bounds: IntervalSet, known: dict[str, int]) -> _Calls:
    """Operators, runtime calls, those that wait for the device, and data loading."""
    host, named = host_columns(trace), host_names(trace)
    calls = host_kinds(trace).among("operator", "runtime", "driver")
    loads = named.matching(names.is_data_loader)
    waits = named.matching(names.waits_for_device) & calls
    waits[_made_by_collectives(trace, np.flatnonzero(waits))] = False
    chosen = (calls & ~named.matching(_tells_nothing)) | loads
    rows = np.flatnonzero(chosen & _inside(host, bounds))
    on_host, loading, waiting = (PLACES.index(name) for name in ("host", "loading", "waiting"))
    place = np.where(loads[rows], loading, np.where(waits[rows], waiting, on_host))
    # Beside a device it is its kernels that tell how much there is to do.
    alone = not device_columns(trace).height
    work = operator_work(trace)[rows] if alone else np.zeros(len(rows))
    return _calls(host, named, rows, place=place, work=work, known=known)


def _made_by_collectives(trace: Trace, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of some host rows that lie in a collective of their thread: the program waits not."""
    host = host_columns(trace)
    talking = host_names(trace).rows(names.is_collective_call)
    start, end = start_and_end(host)
    thread, _ = host_lanes(trace)
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
    work: Floats,
    known: dict[str, int],
) -> _Calls:
    """Some events, with a number for place and function: numbers are grouped faster than texts."""
    plain = [known.setdefault(normalised_name(text), len(known)) for text in named.texts]
    function = np.array(plain, dtype=np.int64)[named.codes[rows]] if len(rows) else rows
    return function * len(PLACES) + place, events["dur_ns"].to_numpy()[rows], work


def _tells_nothing(name: str) -> bool:
    return names.is_collective_call(name) or names.is_profiler_step(name)


def _inside(events: pl.DataFrame, bounds: IntervalSet) -> Flags:
    """Which events start in a step; steps are in order and apart."""
    start = events["ts_ns"].to_numpy()
    return np.asarray(intervals.holding(start, bounds[:, 0], bounds[:, 1]) >= 0)
