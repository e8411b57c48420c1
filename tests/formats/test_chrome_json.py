"""A trace as Chrome JSON: valid, exact, and the same when it is read again."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import timesink
from answers import damage
from builders import (
    BASE_NS,
    DIALECTS,
    complete,
    flow,
    instant,
    kernel,
    kineto,
    operator,
    process_name,
    runtime,
    to_bytes,
    training_trace,
    write,
)
from thinning import every_nth
from timesink.errors import OutputError
from timesink.formats.chrome.writer import write_chrome_json
from timesink.model.schema import TABLES

_EXTRA_LANE = r" \(overlap \d+\)$"


def write_and_read(trace: timesink.Trace, folder: Path) -> timesink.Trace:
    write_chrome_json(trace, folder / "out.json")
    return timesink.open(folder / "out.json", cache=False, jobs=1)


def written_events(trace: timesink.Trace, folder: Path) -> list[dict[str, Any]]:
    write_chrome_json(trace, folder / "out.json")
    listed: list[dict[str, Any]] = json.loads((folder / "out.json").read_bytes())["traceEvents"]
    return listed


def comparable(trace: timesink.Trace, name: str) -> pl.DataFrame:
    """A table without places in the file: rows in order of content, events by name and start."""
    table = trace.lazy(name).collect().cast({pl.Categorical: pl.String, pl.Enum: pl.String})
    if name in ("collectives", "event_args"):
        both = [trace.lazy(owner).select("index", "name", "ts_ns") for owner in ("host", "device")]
        owners = pl.concat(both).collect().cast({pl.Categorical: pl.String})
        table = table.join(owners, on="index", how="left")
    if name in ("device", "flows", "tracks"):
        is_extra = table["tid"].str.contains(_EXTRA_LANE).fill_null(value=False)
        table = table.with_columns(pl.col("tid").str.replace(_EXTRA_LANE, ""))
        table = table.filter(~is_extra) if name == "tracks" else table
    return table.drop("index", strict=False).sort(pl.all(), nulls_last=True)


def assert_same_tables(first: timesink.Trace, second: timesink.Trace) -> None:
    for name in TABLES:
        assert comparable(first, name).equals(comparable(second, name)), name


@pytest.fixture(scope="module")
def sample_written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled recording as it is written."""
    file = tmp_path_factory.mktemp("written") / "out.json"
    write_chrome_json(timesink.open(timesink.sample()), file)
    return file


# -- there and back ------------------------------------------------------------------------------


def test_sample_comes_back_the_same(sample_written: Path):
    sample = timesink.open(timesink.sample())
    again = timesink.open(sample_written, cache=False, jobs=1)
    assert_same_tables(sample, again)
    assert {entry.code: entry.count for entry in again.health} == {
        entry.code: entry.count for entry in sample.health
    }
    for field in ("vendor", "devices", "distributed", "versions", "extra", "clock"):
        assert getattr(again.metadata, field) == getattr(sample.metadata, field)


@pytest.mark.parametrize("dialect", every_nth(DIALECTS, 2))
def test_every_dialect_comes_back_the_same(tmp_path: Path, dialect: str):
    trace = timesink.open(write(tmp_path / "trace.json", DIALECTS[dialect]()))
    again = write_and_read(trace, tmp_path)
    assert_same_tables(trace, again)
    assert again.metadata.vendor == trace.metadata.vendor


def test_memory_counters_and_flows_come_back(tmp_path: Path):
    trace = timesink.open(write(tmp_path / "trace.json", training_trace(2)))
    again = write_and_read(trace, tmp_path)
    assert_same_tables(trace, again)
    assert min(again.memory.height, again.counters.height, again.flows.height) > 0


def test_collectives_and_rare_arguments_come_back(tmp_path: Path):
    collective = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024}
    triton = {"kernel_backend": "triton", "kernel_hash": "00ff", "num_warps": 4}
    document = kineto(
        [
            operator("triton_add", 100, 10, **triton),
            kernel("ncclDevKernel_AllReduce", 120, 30, 5, **collective, **{"Group size": 8}),
            instant("Iteration Start", 90),
        ]
    )
    trace = timesink.open(write(tmp_path / "trace.json", document))
    assert (trace.collectives.height, trace.event_args.height) == (1, 3)
    assert_same_tables(trace, write_and_read(trace, tmp_path))


def test_damaged_trace_is_written_sound(tmp_path: Path):
    text = to_bytes(training_trace(3)).replace(b'"aten::linear"', b'"aten::\x01linear"', 1)
    text = text.replace(b'"dur":900', b'"dur":NaN', 1)
    trace = timesink.open(write(tmp_path / "trace.json", text[: len(text) * 2 // 3]))
    assert {"control_characters", "nan_value", "truncated_tail"} <= damage(trace).keys()
    again = write_and_read(trace, tmp_path)
    assert_same_tables(trace, again)
    assert damage(again) == {}


# -- the text itself -----------------------------------------------------------------------------


def test_times_beyond_float64_are_exact(tmp_path: Path):
    start = 1_794_703_861_110_517
    document = to_bytes(kineto([operator("aten::add", 1.5, 2.25)]))
    document = document.replace(b'"ts":1.5', f'"ts":{start}.379'.encode())
    trace = timesink.open(write(tmp_path / "trace.json", document))
    assert trace.host["ts_ns"].to_list() == [start * 1000 + 379]
    again = write_and_read(trace, tmp_path)
    assert again.host.select("ts_ns", "dur_ns").rows() == [(start * 1000 + 379, 2250)]
    assert f'"ts":{start}.379'.encode() in (tmp_path / "out.json").read_bytes()


def test_times_stay_relative_to_their_base(tmp_path: Path):
    trace = timesink.open(write(tmp_path / "trace.json", training_trace(1)))
    write_chrome_json(trace, tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_bytes())
    assert document["baseTimeNanoseconds"] == BASE_NS
    steps = [e for e in document["traceEvents"] if e["name"].startswith("ProfilerStep")]
    assert [step["ts"] for step in steps] == [1000.0]


def test_names_with_quotes_and_controls_stay_valid(tmp_path: Path):
    name = 'a "quoted"\\ name\n\x1b[31m [red] \u00e9\u4e2d'
    trace = timesink.open(write(tmp_path / "trace.json", kineto([operator(name, 1, 2)])))
    assert [event["name"] for event in written_events(trace, tmp_path)] == [name]


def test_packed_by_name(tmp_path: Path):
    trace = timesink.open(write(tmp_path / "trace.json", training_trace(2)))
    count = write_chrome_json(trace, tmp_path / "out.json.gz")
    text = gzip.decompress((tmp_path / "out.json.gz").read_bytes())
    assert len(json.loads(text)["traceEvents"]) == count


def test_failure_names_the_file_and_leaves_nothing(tmp_path: Path):
    trace = timesink.open(write(tmp_path / "trace.json", training_trace(1)))
    (tmp_path / "out.json").mkdir()
    with pytest.raises(OutputError, match=re.escape("out.json: cannot be written")):
        write_chrome_json(trace, tmp_path / "out.json")
    assert {file.name for file in tmp_path.iterdir()} == {"trace.json", "out.json"}


# -- lanes ---------------------------------------------------------------------------------------


def crossing_trace() -> bytes:
    """Two kernels of one stream that cross, each with its launch and arrow."""
    on_device = {"pid": 0, "tid": 7}
    return to_bytes(
        kineto(
            [
                process_name(0, "python"),
                runtime("cudaLaunchKernel", 0, 2, 1),
                flow("s", 1, 0),
                kernel("first", 10, 10, 1),
                flow("f", 1, 10, **on_device, bp="e"),
                runtime("cudaLaunchKernel", 4, 2, 2),
                flow("s", 2, 4),
                kernel("second", 15, 10, 2),
                flow("f", 2, 15, **on_device, bp="e"),
                complete("gpu_user_annotation", "step", 10, 20, **on_device),
            ]
        )
    )


def test_crossing_kernel_moves_to_a_lane_of_its_own(tmp_path: Path):
    trace = timesink.open(write(tmp_path / "trace.json", crossing_trace()))
    events = written_events(trace, tmp_path)
    kernels = {e["name"]: e for e in events if e.get("cat") == "kernel"}
    assert kernels["first"]["tid"] == 7
    assert kernels["second"]["tid"] == "7 (overlap 1)"
    assert kernels["second"]["args"]["stream"] == 7
    arrow = next(e for e in events if e["ph"] == "f" and e["id"] == 2)
    assert arrow["tid"] == "7 (overlap 1)"
    named = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert named == ["stream 7 (overlap 1)"]


def test_no_device_lane_of_the_sample_has_crossing_slices(sample_written: Path):
    sample = timesink.open(timesink.sample())
    assert any(entry.code == "overlapping_slices" for entry in sample.health)
    streams = set(sample.device["tid"].to_list())
    lanes: defaultdict[Any, list[tuple[float, float]]] = defaultdict(list)
    for event in json.loads(sample_written.read_bytes())["traceEvents"]:
        if event["ph"] == "X" and "stream" in event["args"]:
            end = round(event["ts"] + event["dur"], 3)
            lanes[event["pid"], event["tid"]].append((event["ts"], -end))
    assert len(lanes) > len(streams)
    for slices in lanes.values():
        open_ends: list[float] = []
        for start, minus_end in sorted(slices):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or -minus_end <= open_ends[-1]
            open_ends.append(-minus_end)
