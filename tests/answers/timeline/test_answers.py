"""What is told about slices and ranges of the timeline."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import polars as pl
import pytest

import builders
import timesink
from timelines import trace_of
from timesink.analyses.timeline.layout import Layout, WholeLayout
from timesink.answers.plugin.query import Query
from timesink.answers.timeline import opening
from timesink.answers.timeline.opening import Timeline, open_timeline, to_arrays
from timesink.answers.timeline.routes import ROUTES, export
from timesink.errors import TimesinkError
from timesink.model.trace import Trace


@cache
def timeline() -> Timeline:
    return open_timeline(timesink.open(timesink.sample()))


def ask(route: str, **params: object) -> Any:
    return ROUTES[route](timeline(), Query({key: str(value) for key, value in params.items()}))


def head_of(answer: bytes) -> Any:
    return json.loads(answer[4 : 4 + int.from_bytes(answer[:4], "little")])


def track_named(name: str) -> int:
    [track] = [track.id for track in timeline().layout.lanes.tracks if track.name == name]
    return track


def row_named(table: pl.DataFrame, name: str) -> int:
    return int((table["name"].cast(pl.String) == name).arg_max() or 0)


# -- one slice -------------------------------------------------------------------------------------


def test_a_kernel_tells_its_launch_and_its_operator() -> None:
    trace = timeline().trace
    number = int((trace.device["kind"] == "kernel").arg_max() or 0) + 60
    answer = ask("slice", id=trace.host.height + number)
    assert answer["name"] == trace.device["name"][number]
    assert answer["self_ns"] == answer["dur_ns"]
    [flow] = answer["flows"]
    launch = trace.host.row(flow["place"]["id"], named=True)
    assert launch["correlation"] == trace.device["correlation"][number]
    assert {link["page"] for link in answer["links"]} == {"kernels", "operators"}
    facts = dict(answer["facts"])
    assert facts["where"] == "GPU 0, stream 7"
    assert facts["operator"].startswith("aten::")
    back = ask("slice", id=flow["place"]["id"])
    assert (answer["id"], "to") in [
        (back_flow["place"]["id"], back_flow["direction"]) for back_flow in back["flows"]
    ]


def test_an_operator_tells_its_shapes_its_callers_and_its_own_time() -> None:
    trace = timeline().trace
    number = row_named(trace.host, "aten::cudnn_convolution")
    answer = ask("slice", id=number)
    assert [place["name"] for place in answer["around"]][-2:] == [
        "aten::convolution",
        "aten::_convolution",
    ]
    assert dict(answer["facts"])["Input Dims"] == trace.host["input_dims"][number]
    row = trace.host.row(number, named=True)
    inside = trace.host.filter(
        pl.col("tid") == row["tid"],
        pl.col("ts_ns") > row["ts_ns"],
        pl.col("ts_ns") + pl.col("dur_ns") < row["ts_ns"] + row["dur_ns"],
    )
    assert 0 < answer["self_ns"] == row["dur_ns"] - inside["dur_ns"].sum()


def test_forward_leads_to_backward() -> None:
    flows = ask("flows", **{"from": 0, "to": timeline().layout.length_ns})
    passes = [
        (tail["name"], head["name"])
        for tail, head in zip(flows["from"], flows["to"], strict=True)
        if head["track"] == track_named("thread 1550 (python3)")
    ]
    assert passes
    assert all("Backward" in head or "AccumulateGrad" in head for _, head in passes)


def test_rare_arguments_are_facts(tmp_path: Path) -> None:
    fused = builders.operator("triton_fused", 10, 5, kernel_backend="triton", num_warps=4)
    file = builders.write(tmp_path / "a.json", builders.kineto([fused]))
    answer = ROUTES["slice"](open_timeline(timesink.open(file)), Query({"id": "0"}))
    assert dict(answer["facts"])["num_warps"] == "4"


# -- ranges and names ------------------------------------------------------------------------------


def test_aggregate_cuts_at_the_edges_of_the_range() -> None:
    first, last = 3_000_000, 20_000_000
    totals = ask("aggregate", tracks=track_named("stream 7"), **{"from": first, "to": last})
    zero = timeline().layout.start_ns
    begin, end = pl.col("ts_ns") - zero, pl.col("ts_ns") - zero + pl.col("dur_ns")
    inside = pl.min_horizontal(end, last) - pl.max_horizontal(begin, first)
    expected = (
        timeline()
        .trace.device.filter((pl.col("kind") != "annotation") & (begin < last) & (end > first))
        .group_by(pl.col("name", "kind").cast(pl.String))
        .agg(calls=pl.len(), total_ns=inside.sum(), longest_ns=inside.max())
    )
    names = totals.table.select("name", "kind", "calls", "total_ns", "longest_ns")
    assert sorted(names.rows()) == sorted(expected.rows())
    assert totals.table["self_ns"].is_sorted(descending=True)
    share = totals.table["share_pct"][0]
    assert share == pytest.approx(100 * totals.table["total_ns"][0] / (last - first))


def test_a_share_is_of_the_tracks_a_name_is_on() -> None:
    kernel = {"kind": "kernel", "name": "gemm", "device": 0, "pid": "0", "ts_ns": 0}
    idle = {**kernel, "name": "end", "stream": "7", "ts_ns": 8, "dur_ns": 2}
    streams = [{**kernel, "stream": stream, "dur_ns": 6} for stream in ("7", "9")]
    totals = ROUTES["aggregate"](open_timeline(trace_of(device=[*streams, idle])), Query())
    assert totals.table.select("name", "total_ns", "share_pct").rows() == [
        ("gemm", 12, 60.0),
        ("end", 2, 20.0),
    ]


def test_what_frames_the_recording_is_in_no_aggregate() -> None:
    kinds = set(timeline().layout.lanes.kinds)
    assert set(ask("aggregate").table["kind"]) == kinds - {"trace"} < kinds


def test_a_range_leaves_out_the_calls_around_it() -> None:
    call = {"kind": "python_function", "pid": "1", "tid": "1"}
    spans = {"main": (0, 100), "step": (10, 80), "forward": (20, 30), "loss": (60, 20)}
    host = [{**call, "name": name, "ts_ns": ts, "dur_ns": dur} for name, (ts, dur) in spans.items()]
    kernel = {"kind": "kernel", "name": "gemm", "device": 0, "pid": "0", "ts_ns": 0, "dur_ns": 100}
    timeline = open_timeline(trace_of(host=host, device=[{**kernel, "stream": "7"}]))

    def names(first: int, last: int) -> list[str]:
        query = Query({"from": str(first), "to": str(last)})
        return sorted(ROUTES["aggregate"](timeline, query).table["name"])

    assert names(15, 85) == ["forward", "gemm", "loss"]
    assert names(0, 100) == ["forward", "gemm", "loss", "step"]
    # Within one call the range is about that call.
    assert names(25, 40) == ["forward", "gemm"]


def test_totals_of_a_range_count_no_time_twice() -> None:
    call = {"kind": "python_function", "pid": "1", "tid": "1"}
    spans = [("call", 0, 90), ("layer", 5, 80), ("call", 10, 30), ("call", 50, 30), ("end", 95, 5)]
    host = [{**call, "name": name, "ts_ns": ts, "dur_ns": dur} for name, ts, dur in spans]
    totals = ROUTES["aggregate"](open_timeline(trace_of(host=host)), Query())
    names = totals.table.select("name", "calls", "self_ns", "total_ns", "share_pct", "mean_ns")
    assert names.rows() == [
        ("call", 3, 70, 90, 70.0, 50.0),
        ("layer", 1, 20, 80, 20.0, 80.0),
        ("end", 1, 5, 5, 5.0, 5.0),
    ]


def test_kernels_carry_their_short_names() -> None:
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"
    kernel = {"kind": "kernel", "device": 0, "pid": "0", "stream": "7", "dur_ns": 5}
    device = [{**kernel, "name": name, "ts_ns": 0}, {**kernel, "name": "gemm", "ts_ns": 9}]
    answer = ROUTES["slices"](open_timeline(trace_of(device=device)), Query())
    head = head_of(answer)
    assert sorted(head["names"].values()) == ["gemm", name]
    assert list(head["short"].values()) == ["vectorized_elementwise_kernel<FillFunctor>"]


def test_search_finds_parts_of_names_whatever_their_case() -> None:
    answer = ask("search", q="Conv2D")
    recorded = [getattr(timeline().trace, table)["name"] for table in ("host", "device")]
    names = [name for column in recorded for name in column.cast(pl.String).to_list()]
    matching = [name for name in names if "conv2d" in name.lower()]
    assert answer["total"] == len(matching) == len(answer["hits"])
    times = [hit["from_ns"] for hit in answer["hits"]]
    assert times == sorted(times)
    assert {entry["name"]: entry["count"] for entry in answer["names"]} == Counter(matching)


def test_search_gives_the_first_hits_of_a_range() -> None:
    middle = timeline().layout.length_ns // 2
    answer = ask("search", q="a", **{"from": middle})
    assert len(answer["hits"]) == 1000 < answer["total"]
    everything = timeline().layout.lanes.slices
    assert min(hit["from_ns"] for hit in answer["hits"]) >= middle
    assert everything.start.min() < middle
    assert ask("search", q="") == ask("search", q="nothing is called so")


# -- files -----------------------------------------------------------------------------------------


def test_a_range_is_exported_with_its_arguments(tmp_path: Path) -> None:
    file = tmp_path / "range.pt.trace.json"
    file.write_bytes(b"".join(export(timeline(), Query({"from": "3e6", "to": "20e6"}))))
    part, original = timesink.open(file, cache=False), timeline().trace
    first = timeline().layout.start_ns + 3_000_000
    last = timeline().layout.start_ns + 20_000_000
    overlaps = (pl.col("ts_ns") <= last) & (pl.col("ts_ns") + pl.col("dur_ns") >= first)
    for table in ("host", "device"):
        # Slices that cross others are written to lanes beside theirs.
        expected = original.lazy(table).filter(overlaps).drop("index", "tid").collect()
        assert getattr(part, table).drop("index", "tid").equals(expected)
    assert 0 < part.memory.height < original.memory.height


def test_the_whole_is_exported(tmp_path: Path) -> None:
    file = tmp_path / "whole.pt.trace.json"
    file.write_bytes(b"".join(export(timeline(), Query())))
    again = timesink.open(file, cache=False)
    assert again.host.drop("index").equals(timeline().trace.host.drop("index"))


def test_small_recordings_are_laid_out_at_once() -> None:
    assert timeline().layout is timeline().full_layout


# -- kept ------------------------------------------------------------------------------------------


@pytest.fixture
def small_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(opening, "_WORTH_KEEPING", 0)
    return tmp_path / "cache"


def test_a_timeline_is_laid_out_once(
    small_is_kept: Path, monkeypatch: pytest.MonkeyPatch, sample_copy: Path
) -> None:
    laid_out = open_timeline(timesink.open(sample_copy)).full_layout
    assert len(list(small_is_kept.rglob("timeline-*"))) == 1
    monkeypatch.setattr(opening, "layout_of", lambda _: pytest.fail("laid out again"))
    reopened = open_timeline(timesink.open(sample_copy))
    before, after = to_arrays(timeline().full_layout), to_arrays(reopened.full_layout)
    assert before.about == after.about == to_arrays(laid_out).about
    for name, array in before.arrays.items():
        assert np.array_equal(array, after.arrays[name]), name


@pytest.mark.usefixtures("small_is_kept")
def test_the_first_picture_does_not_wait_for_the_rest(
    monkeypatch: pytest.MonkeyPatch, sample_copy: Path
) -> None:
    may_finish, rest = Event(), opening.whole_layout

    def later(trace: Trace, layout: Layout) -> WholeLayout:
        assert may_finish.wait(60)
        return rest(trace, layout)

    monkeypatch.setattr(opening, "whole_layout", later)
    opened = open_timeline(timesink.open(sample_copy))
    routes, everything = ("tracks", "slices", "counters"), Query({"pixels": "5000"})
    first = [ROUTES[route](opened, everything) for route in routes]
    assert len(opened.layout.levels) == 1
    may_finish.set()
    assert len(opened.full_layout.levels) > 1
    assert opened.layout is opened.full_layout
    assert first == [ROUTES[route](opened, everything) for route in routes]


def test_a_damaged_file_is_made_again(small_is_kept: Path, sample_copy: Path) -> None:
    assert open_timeline(timesink.open(sample_copy)).full_layout.levels
    [file] = small_is_kept.rglob("timeline-*")
    file.write_bytes(file.read_bytes()[:-8])
    again = open_timeline(timesink.open(sample_copy))
    assert len(again.layout.lanes.slices) == len(timeline().layout.lanes.slices)


def test_what_older_code_kept_is_removed(small_is_kept: Path, sample_copy: Path) -> None:
    timesink.open(sample_copy)
    [folder] = (small_is_kept / "traces").iterdir()
    old = folder / "timeline-of-older-code"
    old.write_bytes(b"old")
    assert open_timeline(timesink.open(sample_copy)).full_layout.levels
    assert not old.exists()


def test_errors_are_sentences() -> None:
    with pytest.raises(TimesinkError) as raised:
        ask("slices", tracks="first")
    assert raised.value.hint


# -- two clocks ------------------------------------------------------------------------------------


def on_own_clock(route: str, **params: object) -> Any:
    opened = open_timeline(timeline().trace, is_corrected=True)
    return ROUTES[route](opened, Query({key: str(value) for key, value in params.items()}))


def test_the_own_timeline_has_the_same_slices_and_is_shorter() -> None:
    recorded, corrected = ask("tracks"), on_own_clock("tracks")
    assert corrected["length_ns"] < recorded["length_ns"]
    assert [track["name"] for track in corrected["tracks"]] == [
        track["name"] for track in recorded["tracks"]
    ]
    number = row_named(timeline().trace.host, "aten::convolution")
    here, there = ask("slice", id=number), on_own_clock("slice", id=number)
    assert (here["name"], here["facts"]) == (there["name"], there["facts"])
    assert there["dur_ns"] < here["dur_ns"]


def test_the_clock_tells_what_recording_cost() -> None:
    clock = ask("clock")
    assert clock["source"] == "estimated"
    assert clock["own_cycle_us"] < clock["recorded_cycle_us"]
    assert clock["recording_ns"] > 0


def test_a_moment_is_found_on_the_other_clock_and_back() -> None:
    number = row_named(timeline().trace.host, "aten::convolution")
    here, there = ask("slice", id=number), on_own_clock("slice", id=number)
    start, end = here["from_ns"], here["from_ns"] + here["dur_ns"]
    moved = ask("other_clock", **{"from": start, "to": end})
    assert moved["from_ns"] == pytest.approx(there["from_ns"], abs=1000)
    back = on_own_clock("other_clock", **{"from": moved["from_ns"], "to": moved["to_ns"]})
    # Calls that begin one after the other may begin at once by themselves.
    assert back["from_ns"] == pytest.approx(start, abs=20_000)


def test_the_path_changes_tracks_where_it_is_asked_for() -> None:
    path = ask("path")
    assert 0 < path["total"] == len(path["from"]) == len(path["to"])
    pairs = list(zip(path["from"], path["to"], strict=True))
    assert all(tail["track"] != head["track"] for tail, head in pairs)
    last = pairs[-1][1]
    later = ask("path", **{"from": last["from_ns"] + last["dur_ns"] + 1})
    assert later["total"] == 0


def test_overlays_are_told_as_slices_are() -> None:
    for name in ("recording", "path"):
        head = head_of(ask("overlay", of=name, pixels=100))
        assert 0 < head["slices"] < head_of(ask("slices", pixels=100))["slices"]
    assert head_of(on_own_clock("overlay", of="recording"))["slices"] == 0
    with pytest.raises(TimesinkError, match="'of'"):
        ask("overlay", of="nothing")
