"""Which runtime or driver call launched which device work: the one rule that all else asks.

Device work joins its call by correlation id.  Ids repeat from process to process, so where device
work carries a process that makes calls, calls of that process count.  Many profilers write the
number of the device in its place, which may be the number of a process as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model.intervals import Ints
from timesink.model.vendors import DEVICE_LABEL

LAUNCH_KINDS = ("runtime", "driver")


class _Launches(NamedTuple):
    """Calls with an id, by id and start."""

    place: NDArray[np.intp]
    id: Ints
    start: Ints


def match_launches(calls: pl.DataFrame, device: pl.DataFrame, tracks: pl.LazyFrame) -> Ints:
    """For each row of `device` the place of its call among `calls`, -1 for none."""
    processes = [name for name in calls["pid"].unique().sort() if name]
    wanted, moment = _ids(device), device["ts_ns"].to_numpy()
    if len(processes) < 2:
        return _latest(_by_id(calls, np.arange(calls.height)), wanted, moment)
    by_process = {name: _by_id(calls, _rows_of(calls["pid"], name)) for name in processes}
    place, ids, start = (
        np.concatenate(column) for column in zip(*by_process.values(), strict=True)
    )
    order = np.lexsort((place, start, ids))
    found = _latest(_Launches(place[order], ids[order], start[order]), wanted, moment)
    labels = tracks.filter(pl.col("tid").is_null()).select("pid", "labels", "name").collect()
    devices = {pid for pid, *texts in labels.rows() if any(map(_names_device, texts))}
    numbers = device["device"].cast(pl.String)
    for name, mine in by_process.items():
        own = _rows_of(device["pid"], name)
        if name in devices or not len(mine.place) or not len(own):
            continue
        within = _latest(mine, wanted[own], moment[own])
        if 2 * int((within >= 0).sum()) < int((found[own] >= 0).sum()):
            continue  # the calls of others explain more: the number is not that of the process
        as_device = (numbers[own] == name).fill_null(value=False).to_numpy()
        found[own] = np.where((within < 0) & as_device, found[own], within)
    return found


def _names_device(text: str | None) -> bool:
    return DEVICE_LABEL.match(text or "") is not None


def _ids(events: pl.DataFrame) -> Ints:
    ids = events["correlation"]
    return (ids.fill_null(0) if ids.null_count() else ids).to_numpy()


def _rows_of(process: pl.Series, name: str) -> NDArray[np.intp]:
    return np.flatnonzero((process == name).fill_null(value=False).to_numpy())


def _by_id(calls: pl.DataFrame, rows: NDArray[np.intp]) -> _Launches:
    """The calls among the rows of one process."""
    start, ids = calls["ts_ns"].to_numpy(), _ids(calls)
    end = start + calls["dur_ns"].to_numpy()
    place = rows[ids[rows] > 0]
    place = place[np.lexsort((-end[place], start[place], ids[place]))]
    ids, start, end = ids[place], start[place], end[place]
    # A runtime call encloses the driver call it makes, which has its id: the outer one launches.
    outer = np.ones(len(place), dtype=np.bool_)
    outer[1:] = (ids[1:] != ids[:-1]) | (start[1:] >= end[:-1])
    return _Launches(place[outer], ids[outer], start[outer])


def _latest(calls: _Launches, wanted: Ints, moment: Ints) -> Ints:
    """Of the calls with the wanted id the latest before the moment, else the first; -1 for none."""
    first = np.searchsorted(calls.id, wanted)
    beyond = np.searchsorted(calls.id, wanted, side="right")
    found = np.full(len(wanted), -1, dtype=np.int64)
    known = np.flatnonzero((beyond > first) & (wanted > 0))
    low, high = first[known], beyond[known] - 1
    while (low < high).any():
        middle = (low + high + 1) // 2
        reached = calls.start[middle] <= moment[known]
        low, high = np.where(reached, middle, low), np.where(reached, high, middle - 1)
    found[known] = calls.place[low]
    return found
