"""What is told about slices and ranges of the timeline."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import builders
import timesink
from timesink.errors import TimesinkError
from timesink.reports.plugin.query import Query
from timesink.reports.timeline import ROUTES, Timeline, export, open_timeline, opening
from timesink.reports.timeline.keeping import to_arrays


@cache
def timeline() -> Timeline:
    return open_timeline(timesink.open(timesink.sample()))


def ask(route: str, **params: object) -> Any:
    return ROUTES[route](timeline(), Query({key: str(value) for key, value in params.items()}))


def row_named(table: pl.DataFrame, name: str) -> int:
    return int((table["name"].cast(pl.String) == name).arg_max() or 0)


# -- one slice -------------------------------------------------------------------------------------


def test_a_kernel_tells_its_launch_and_its_operator() -> None:
    trace = timeline().trace
    number = int((trace.device["kind"] == "kernel").arg_max() or 0) + 60
    told = ask("slice", id=trace.host.height + number)
    assert told["name"] == trace.device["name"][number]
    assert told["self_ns"] == told["dur_ns"]
    [flow] = told["flows"]
    launch = trace.host.row(flow["place"]["id"], named=True)
    assert launch["correlation"] == trace.device["correlation"][number]
    assert {link["page"] for link in told["links"]} == {"kernels", "operators"}
    facts = dict(told["facts"])
    assert facts["where"] == "GPU 0, stream 7"
    assert facts["operator"].startswith("aten::")
    back = ask("slice", id=flow["place"]["id"])
    assert (told["id"], "to") in [(one["place"]["id"], one["direction"]) for one in back["flows"]]


def test_an_operator_tells_its_shapes_its_callers_and_its_own_time() -> None:
    trace = timeline().trace
    number = row_named(trace.host, "aten::cudnn_convolution")
    told = ask("slice", id=number)
    assert [place["name"] for place in told["around"]][-2:] == [
        "aten::convolution",
        "aten::_convolution",
    ]
    assert dict(told["facts"])["Input Dims"] == trace.host["input_dims"][number]
    own = trace.host.row(number, named=True)
    inside = trace.host.filter(
        pl.col("tid") == own["tid"],
        pl.col("ts_ns") > own["ts_ns"],
        pl.col("ts_ns") + pl.col("dur_ns") < own["ts_ns"] + own["dur_ns"],
    )
    assert 0 < told["self_ns"] == own["dur_ns"] - inside["dur_ns"].sum()


def test_forward_leads_to_backward() -> None:
    flows = ask("flows", **{"from": 0, "to": timeline().layout.length_ns})
    passes = [
        (tail["name"], head["name"])
        for tail, head in zip(flows["from"], flows["to"], strict=True)
        if head["track"] == 1
    ]
    assert passes
    assert all("Backward" in head or "AccumulateGrad" in head for _, head in passes)


def test_rare_arguments_are_facts(tmp_path: Path) -> None:
    fused = builders.operator("triton_fused", 10, 5, kernel_backend="triton", num_warps=4)
    file = builders.write(tmp_path / "a.json", builders.kineto([fused]))
    told = ROUTES["slice"](open_timeline(timesink.open(file)), Query({"id": "0"}))
    assert dict(told["facts"])["num_warps"] == "4"


# -- ranges and names ------------------------------------------------------------------------------


def test_aggregate_cuts_at_the_edges_of_the_range() -> None:
    first, last = 3_000_000, 20_000_000
    found = ask("aggregate", tracks="3", **{"from": first, "to": last})
    zero = timeline().layout.start_ns
    begin, end = pl.col("ts_ns") - zero, pl.col("ts_ns") - zero + pl.col("dur_ns")
    inside = pl.min_horizontal(end, last) - pl.max_horizontal(begin, first)
    expected = (
        timeline()
        .trace.device.filter((pl.col("kind") != "annotation") & (begin < last) & (end > first))
        .group_by(pl.col("name", "kind").cast(pl.String))
        .agg(calls=pl.len(), total_ns=inside.sum(), longest_ns=inside.max())
    )
    told = found.table.select("name", "kind", "calls", "total_ns", "longest_ns")
    assert sorted(told.rows()) == sorted(expected.rows())
    assert found.table["total_ns"].is_sorted(descending=True)
    share = found.table["share_pct"][0]
    assert share == pytest.approx(100 * found.table["total_ns"][0] / (last - first))


def test_search_finds_parts_of_names_whatever_their_case() -> None:
    found = ask("search", q="Conv2D")
    recorded = [getattr(timeline().trace, table)["name"] for table in ("host", "device")]
    names = [name for column in recorded for name in column.cast(pl.String).to_list()]
    matching = [name for name in names if "conv2d" in name.lower()]
    assert found["total"] == len(matching) == len(found["hits"])
    times = [hit["from_ns"] for hit in found["hits"]]
    assert times == sorted(times)
    assert {entry["name"]: entry["count"] for entry in found["names"]} == Counter(matching)


def test_search_gives_the_first_hits_of_a_range() -> None:
    middle = timeline().layout.length_ns // 2
    found = ask("search", q="a", **{"from": middle})
    assert len(found["hits"]) == 1000 < found["total"]
    everything = timeline().layout.lanes.slices
    assert min(hit["from_ns"] for hit in found["hits"]) >= middle
    assert everything.start.min() < middle
    assert ask("search", q="") == ask("search", q="nothing is called so")


# -- files -----------------------------------------------------------------------------------------


def test_a_range_is_exported_with_its_arguments(tmp_path: Path) -> None:
    file = tmp_path / "range.pt.trace.json.gz"
    file.write_bytes(b"".join(export(timeline(), Query({"from": "3e6", "to": "20e6"}))))
    part, whole = timesink.open(file, cache=False), timeline().trace
    first = timeline().layout.start_ns + 3_000_000
    last = timeline().layout.start_ns + 20_000_000
    overlaps = (pl.col("ts_ns") <= last) & (pl.col("ts_ns") + pl.col("dur_ns") >= first)
    for table in ("host", "device"):
        # Slices that cross others are written to lanes beside theirs.
        expected = whole.lazy(table).filter(overlaps).drop("index", "tid").collect()
        assert getattr(part, table).drop("index", "tid").equals(expected)
    assert 0 < part.memory.height < whole.memory.height


def test_the_whole_is_exported(tmp_path: Path) -> None:
    file = tmp_path / "whole.pt.trace.json.gz"
    file.write_bytes(b"".join(export(timeline(), Query())))
    again = timesink.open(file, cache=False)
    assert again.host.drop("index").equals(timeline().trace.host.drop("index"))


# -- kept ------------------------------------------------------------------------------------------


@pytest.fixture
def small_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(opening, "_WORTH_KEEPING", 0)
    return tmp_path


def test_a_timeline_is_laid_out_once(small_is_kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = open_timeline(timesink.open(timesink.sample()))
    assert len(list(small_is_kept.rglob("timeline-*"))) == 1
    monkeypatch.setattr(opening, "layout_of", lambda _: pytest.fail("laid out again"))
    kept = open_timeline(timesink.open(timesink.sample()))
    before, after = to_arrays(timeline().layout), to_arrays(kept.layout)
    assert before.about == after.about == to_arrays(laid_out.layout).about
    for name, array in before.arrays.items():
        assert np.array_equal(array, after.arrays[name]), name


def test_a_damaged_file_is_made_again(small_is_kept: Path) -> None:
    open_timeline(timesink.open(timesink.sample()))
    [file] = small_is_kept.rglob("timeline-*")
    file.write_bytes(file.read_bytes()[:-8])
    again = open_timeline(timesink.open(timesink.sample()))
    assert len(again.layout.lanes.slices) == len(timeline().layout.lanes.slices)


def test_what_older_code_kept_is_removed(small_is_kept: Path) -> None:
    timesink.open(timesink.sample())
    [folder] = (small_is_kept / "traces").iterdir()
    old = folder / "timeline-of-older-code"
    old.write_bytes(b"old")
    open_timeline(timesink.open(timesink.sample()))
    assert not old.exists()


def test_errors_are_sentences() -> None:
    with pytest.raises(TimesinkError) as raised:
        ask("slices", tracks="first")
    assert raised.value.hint
