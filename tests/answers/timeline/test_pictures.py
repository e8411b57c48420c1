"""What the trace view is drawn from, as a browser gets it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import timesink
from timesink.answers.plugin.query import Query
from timesink.answers.timeline.opening import Timeline, open_timeline
from timesink.answers.timeline.routes import ROUTES
from timesink.errors import NotFoundError, UsageError

_DTYPES = {"f64": "<f8", "u32": "<u4", "i32": "<i4", "u16": "<u2", "u8": "u1"}


@cache
def timeline() -> Timeline:
    return open_timeline(timesink.open(timesink.sample()))


def ask(route: str, **params: object) -> Any:
    return ROUTES[route](timeline(), Query({key: str(value) for key, value in params.items()}))


def slices(**params: object) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The head and the arrays, decoded as the browser does."""
    answer: bytes = ask("slices", **params)
    length = int.from_bytes(answer[:4], "little")
    place = 4 + length
    assert place % 8 == 0
    head = json.loads(answer[4:place])
    arrays = {}
    for name, sort, count in head["arrays"]:
        arrays[name] = np.frombuffer(answer, _DTYPES[sort], count, place)
        place += -(-arrays[name].nbytes // 8) * 8
    assert place == len(answer)
    return head, arrays


def test_tracks_tell_where_the_recording_starts_and_its_steps() -> None:
    answer = ask("tracks")
    trace = timeline().trace
    assert int(answer["start_ns"]) <= min(trace.host["ts_ns"].min(), trace.device["ts_ns"].min())
    assert [step["name"] for step in answer["steps"]] == ["3", "4"]
    assert [track["id"] for track in answer["tracks"]] == list(range(len(answer["tracks"])))
    json.dumps(answer)


def test_slices_close_by_are_the_recorded_events() -> None:
    start, until = 3_000_000, 3_050_000
    head, arrays = slices(**{"from": start, "to": until, "pixels": 8192})
    assert head["resolution_ns"] <= 8
    trace, zero = timeline().trace, timeline().layout.start_ns
    times = pl.col("ts_ns") - zero, pl.col("dur_ns")
    events = pl.concat([trace.host.select(times), trace.device.select(times)])
    inside = (pl.col("ts_ns") < until) & (pl.col("ts_ns") + pl.col("dur_ns") > start)
    expected = events.filter(inside)
    got = pl.DataFrame({"ts_ns": arrays["start"], "dur_ns": arrays["dur"]}).cast(pl.Int64)
    assert sorted(got.rows()) == sorted(expected.rows())
    names = {head["names"][str(code)] for code in arrays["name"]}
    assert "aten::conv2d" in names


def test_slices_from_afar_are_few_and_stand_for_all() -> None:
    head, arrays = slices(pixels=50)
    assert head["slices"] == len(arrays["id"]) < 1500
    assert arrays["count"].sum() == ask("tracks")["events"]
    assert (arrays["busy"] <= arrays["dur"]).all()
    assert ((arrays["id"] == -1) == (arrays["count"] > 1)).all()
    lanes = list(zip(arrays["track"].tolist(), arrays["row"].tolist(), strict=True))
    assert lanes == sorted(lanes)


def test_slices_of_chosen_tracks_only() -> None:
    assert set(slices(tracks="0", pixels=500)[1]["track"].tolist()) == {0}
    assert slices(tracks="")[0]["slices"] == 0


def test_counters_keep_the_peak() -> None:
    answer = ask("counters", pixels=20)
    tracks = {track["id"]: track for track in ask("tracks")["tracks"]}
    assert len(answer["tracks"]) == 3
    for curve in answer["tracks"]:
        assert max(curve["high"]) == tracks[curve["track"]]["highest"]
        assert min(curve["low"]) == tracks[curve["track"]]["lowest"]
        assert len(curve["x"]) == len(curve["mean"]) <= 40


def test_flows_are_bounded_and_lead_between_the_asked_tracks() -> None:
    names = [track["name"] for track in ask("tracks")["tracks"]]
    stream, thread = names.index("stream 7"), names.index("thread 1525 (python3)")
    answer = ask("flows")
    assert answer["total"] > len(answer["from"]) == len(answer["to"]) == 500
    between = ask("flows", tracks=f"{stream},{thread}", **{"from": 0, "to": 5_000_000})
    assert {place["track"] for place in between["from"]} == {thread}
    assert {place["track"] for place in between["to"]} == {stream}
    assert ask("flows", tracks="")["total"] == 0


@pytest.mark.parametrize(
    "params",
    [
        {"from": "soon"},
        {"from": "nan"},
        {"to": "1e99"},
        {"from": 9, "to": 3},
        {"tracks": "1,x"},
        {"tracks": "999"},
        {"pixels": "wide"},
    ],
)
def test_what_makes_no_sense_is_told(params: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        ask("slices", **params)


def test_slices_that_are_not_there() -> None:
    with pytest.raises(UsageError, match="missing"):
        ask("slice")
    for number in (-1, 10**9):
        with pytest.raises(NotFoundError):
            ask("slice", id=number)
