"""Which runtime or driver call launched which device work: the one rule that all else asks.

Device work joins its call by correlation id.  Ids repeat from process to process, so where device
work carries a process that makes calls, calls of that process count.  Many profilers write the
number of the device in its place, which may be the number of a process as well.  Work that carries
no correlation joins a call by the external id that both carry.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.model.intervals import Ints
from timesink.model.schema import BUSY_KINDS
from timesink.model.vendors import DEVICE_LABEL, launches_work

LAUNCH_KINDS = ("runtime", "driver")


class _Launches(NamedTuple):
    """Calls with an id, by id and start."""

    place: NDArray[np.intp]
    id: Ints
    start: Ints


def match_launches(calls: pl.DataFrame, device: pl.DataFrame, tracks: pl.LazyFrame) -> Ints:
    """For each row of `device` the place of its call among `calls`, -1 for none."""
    matched = _match_correlations(calls, device, tracks)
    rows = np.flatnonzero((matched < 0) & has_external_id_only(device))
    if len(rows):
        matched[rows] = match_external_ids(calls, device[rows])
    return matched


def has_external_id_only(device: pl.DataFrame) -> NDArray[np.bool_]:
    """Which rows are work that carries no correlation, not even zero, but an external id.

    >>> work = pl.DataFrame({"correlation": [3, None, None], "external_id": [7, 7, None]})
    >>> has_external_id_only(work.with_columns(kind=pl.lit("kernel"))).tolist()
    [False, True, False]
    """
    if not device["external_id"].max() or not device["correlation"].null_count():
        return np.zeros(device.height, dtype=np.bool_)
    uncorrelated = device["correlation"].is_null().to_numpy()
    works = device["kind"].cast(pl.String).is_in(BUSY_KINDS).fill_null(value=False).to_numpy()
    return np.asarray(works & uncorrelated & (_ids(device, "external_id") > 0))


def match_external_ids(calls: pl.DataFrame, device: pl.DataFrame) -> Ints:
    """For each row of `device` the place of the call that carries its external id; -1 for none.

    Calls that launch by their names go first.  Where an operator's id stands on all of its calls,
    as many launches as pieces of work belong to each other in their order.
    """
    called = calls["name"].unique().cast(pl.String)
    launching = [name for name in called if launches_work(name or "")]
    is_launch = calls["name"].cast(pl.String).is_in(launching).fill_null(value=False).to_numpy()
    ids, start = _ids(calls, "external_id"), calls["ts_ns"].to_numpy()
    wanted, moment = _ids(device, "external_id"), device["ts_ns"].to_numpy()
    matched = np.full(device.height, -1, dtype=np.int64)
    for chosen in (is_launch, ~is_launch):
        place = np.flatnonzero(chosen & (ids > 0))
        place = place[np.lexsort((start[place], ids[place]))]
        candidates = _Launches(place, ids[place], start[place])
        rows = np.flatnonzero(matched < 0)
        rows = rows[np.lexsort((moment[rows], wanted[rows]))]
        first = np.searchsorted(candidates.id, wanted[rows])
        count = np.searchsorted(candidates.id, wanted[rows], side="right") - first
        of_id = np.searchsorted(wanted[rows], wanted[rows])
        works = np.searchsorted(wanted[rows], wanted[rows], side="right") - of_id
        matched[rows] = _latest(candidates, wanted[rows], moment[rows])
        in_order = np.flatnonzero((count > 1) & (count == works))
        matched[rows[in_order]] = place[first[in_order] + in_order - of_id[in_order]]
    return matched


def with_launches_by_external_id(busy: pl.DataFrame, host: pl.DataFrame) -> pl.DataFrame:
    """Device work with the start of its launch, or operator, where only external ids tell it."""
    rows = np.flatnonzero(has_external_id_only(busy))
    start = pl.Series([None] * len(rows), dtype=pl.Int64)
    for kinds in (LAUNCH_KINDS, ("operator",)):
        is_call = host["kind"].cast(pl.String).is_in(kinds) & (host["external_id"] > 0)
        calls = host.filter(is_call).select("name", "ts_ns", "external_id")
        places = pl.Series(match_external_ids(calls, busy[rows]), dtype=pl.Int64)
        start = start.fill_null(calls["ts_ns"].gather(places.replace(-1, None)))
    return busy.with_columns(busy["launch_ts_ns"].scatter(rows, start))


def _match_correlations(calls: pl.DataFrame, device: pl.DataFrame, tracks: pl.LazyFrame) -> Ints:
    """The same by correlation alone."""
    processes = [name for name in calls["pid"].unique().sort() if name]
    wanted, moment = _ids(device), device["ts_ns"].to_numpy()
    if len(processes) < 2:
        return _latest(_by_id(calls, np.arange(calls.height)), wanted, moment)
    by_process = {name: _by_id(calls, _rows_of(calls["pid"], name)) for name in processes}
    place, ids, start = (
        np.concatenate(column) for column in zip(*by_process.values(), strict=True)
    )
    order = np.lexsort((place, start, ids))
    launches = _latest(_Launches(place[order], ids[order], start[order]), wanted, moment)
    labels = tracks.filter(pl.col("tid").is_null()).select("pid", "labels", "name").collect()
    devices = {pid for pid, *texts in labels.rows() if any(map(_names_device, texts))}
    numbers = device["device"].cast(pl.String)
    for name, mine in by_process.items():
        rows = _rows_of(device["pid"], name)
        if name in devices or not len(mine.place) or not len(rows):
            continue
        within = _latest(mine, wanted[rows], moment[rows])
        if 2 * int((within >= 0).sum()) < int((launches[rows] >= 0).sum()):
            continue  # the calls of others explain more: the number is not that of the process
        as_device = (numbers[rows] == name).fill_null(value=False).to_numpy()
        launches[rows] = np.where((within < 0) & as_device, launches[rows], within)
    return launches


def _names_device(text: str | None) -> bool:
    return DEVICE_LABEL.match(text or "") is not None


def _ids(events: pl.DataFrame, column: str = "correlation") -> Ints:
    ids = events[column]
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
    places = np.full(len(wanted), -1, dtype=np.int64)
    candidates = np.flatnonzero((beyond > first) & (wanted > 0))
    low, high = first[candidates], beyond[candidates] - 1
    while (low < high).any():
        middle = (low + high + 1) // 2
        reached = calls.start[middle] <= moment[candidates]
        low, high = np.where(reached, middle, low), np.where(reached, high, middle - 1)
    places[candidates] = calls.place[low]
    return places
