"""What ranks spend a step on is what the union of their events is, as their own tables have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import timesink
from timesink.analyses.device_utilisation import overlap_by_step
from timesink.analyses.ranks.rank_set import ranks_of_traces
from timesink.analyses.ranks.tables import rank_rows
from timesink.analyses.steps import find_steps, is_communication
from timesink.model.trace import Trace

SHARES = ("exposed_communication_ns", "overlap_ns", "idle_ns")
COMMUNICATING = ("hta/nccl_parser_config", "tracelens/mi300/resnet_act_checkpoint.json.gz")
WITHOUT_COLLECTIVES = ("kineto/resnet50_num_workers_4",)


def mean_unions(trace: Trace, moved_on_host: pl.Series | None = None) -> dict[str, float]:
    """Exposed and hidden communication and idle time of a mean step, moment by moment.

    A moment lies between two borders of events, so that nothing starts or ends inside it.
    """
    device = trace.device.with_columns(end_ns=pl.col("ts_ns") + pl.col("dur_ns"))
    works = pl.col("kind").is_in(["kernel", "memcpy", "memset", "collective"])
    talks = pl.Series(is_communication(trace))
    copies = pl.col("kind").is_in(["memcpy", "memset"])
    busy, computing = device.filter(works), device.filter(works & ~copies & ~talks)
    talking = device.filter(talks)
    if moved_on_host is not None:
        talking = trace.host.filter(moved_on_host).with_columns(
            end_ns=pl.col("ts_ns") + pl.col("dur_ns")
        )
    steps = find_steps(trace).filter("complete")
    sums = dict.fromkeys(SHARES, 0)
    for start, end in steps.select("start_ns", "end_ns").iter_rows():
        borders = np.unique(np.concatenate([*map(_times, (busy, talking)), [start, end]]))
        borders = borders[(borders >= start) & (borders <= end)]
        length = np.diff(borders)
        works_then, computes_then, talks_then = (
            _is_covered(events, borders) for events in (busy, computing, talking)
        )
        sums["exposed_communication_ns"] += int(length[talks_then & ~computes_then].sum())
        sums["overlap_ns"] += int(length[talks_then & computes_then].sum())
        sums["idle_ns"] += int(length[~works_then & ~talks_then].sum())
    return {name: value / steps.height for name, value in sums.items()}


def _times(events: pl.DataFrame) -> np.ndarray:
    return events.select("ts_ns", "end_ns").to_numpy().ravel()


def _is_covered(events: pl.DataFrame, borders: np.ndarray) -> np.ndarray:
    """Whether anything goes on between each of the borders and the next."""
    level = np.zeros(len(borders) + 1, dtype=np.int64)
    for name, sign in (("ts_ns", 1), ("end_ns", -1)):
        place = np.searchsorted(borders, events[name].to_numpy(), side="left")
        np.add.at(level, np.minimum(place, len(borders)), sign)
    return np.cumsum(level)[: len(borders) - 1] > 0


def table_row(traces: dict[str, Trace], worker: str) -> dict[str, float]:
    rows = rank_rows(ranks_of_traces(traces)).filter(worker=worker)
    return rows.select(SHARES).row(0, named=True)


def overlap_row(trace: Trace) -> dict[str, float]:
    """The mean of the complete steps in the table of overlap."""
    steps = overlap_by_step(trace).filter("complete")
    assert steps["device"].n_unique() == 1
    hidden = pl.col("communication_ns") - pl.col("exposed_communication_ns")
    return steps.with_columns(overlap_ns=hidden).select(pl.col(SHARES).mean()).row(0, named=True)


def recording_at(place: Path) -> Trace:
    return timesink.open(min(place.iterdir()) if place.is_dir() else place)


@pytest.mark.parametrize("place", [*COMMUNICATING, *WITHOUT_COLLECTIVES])
def test_a_recorded_rank_is_told_as_by_itself(shared_root: Path, place: str):
    trace = recording_at(shared_root / "data" / place)
    row = table_row({"alone": trace}, "alone")
    assert row == pytest.approx(overlap_row(trace))
    assert row == pytest.approx(mean_unions(trace))
    assert (row["exposed_communication_ns"] > 0) == (place in COMMUNICATING)
