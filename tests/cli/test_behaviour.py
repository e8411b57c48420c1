"""`timesink functions`."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from behaviour_files import ROW, csv_file
from builders import HOST_PID, annotation, counter, kernel, kineto, operator, runtime, write
from timesink.model.schema import BEHAVIOUR


def decoding_trace(clock: float, *, sampled: bool = True) -> dict:
    """Twenty steps of 1 ms; each launches one kernel of 400 us."""
    events: list = []
    for number in range(20):
        start = 1000.0 * number
        events += [
            annotation("decode_step", start, 1000),
            operator("aten::mm", start + 100, 300),
            runtime("cudaLaunchKernel", start + 150, 50, number + 1),
            kernel("gemm", start + 300, 400, number + 1),
        ]
        if sampled:
            events.append(counter("gpu_sm_frequency", start + 500, value=clock))
    return kineto(events, deviceProperties=[{"id": 0, "name": "NVIDIA H200"}])


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "run.pt.trace.json", decoding_trace(1980))


def test_counters_beside_the_trace(run, tmp_path: Path):
    path = write(tmp_path / "run.pt.trace.json", decoding_trace(0, sampled=False))
    lines = [f"{1000 * number},gpu_sm_frequency,GPU 0,345" for number in range(20)]
    header = "timestamp_us,counter,device,value"
    (tmp_path / "counters.csv").write_text("\n".join([header, *lines]))
    answer = run("behaviour", path, "--format", "json").json
    (level,) = answer["counters"]
    assert (level["metric"], level["mu"], level["unit"]) == ("gpu_sm_frequency", 345, "MHz")


def test_json(run, trace: Path):
    answer = run("behaviour", trace, "--format", "json").json
    assert answer["schema"] == "timesink/behaviour/1"
    assert answer["cycles"]["count"] == 20
    assert answer["cycles"]["method"] == "marker"
    functions = {row["function"]: row for row in answer["functions"]}
    assert functions["gemm"]["beta_pct"] == pytest.approx(40)
    assert functions["gemm"]["metrics"] == [
        {"metric": "gpu_sm_frequency", "mu": 1980.0, "unit": "MHz"}
    ]
    assert functions["aten::mm"]["time_ns"] == pytest.approx(250_000)
    assert functions["cudaLaunchKernel"]["calls"] == 1


def test_csv_can_be_read_again(run, trace: Path, tmp_path: Path):
    outcome = run("behaviour", trace, "--format", "csv")
    header, *rows = outcome.out.splitlines()
    assert header.startswith("cycle,pid,hostname,beta_pct,function_name,metric_name,device")
    assert len(rows) == 20 * 4
    again = tmp_path / "again.csv"
    again.write_text(outcome.out)
    assert timesink.open(again).behaviour.height == 80


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz"])
def test_the_table_is_kept(run, trace: Path, tmp_path: Path, ending: str):
    table_file = tmp_path / f"run.behaviour.{ending}"
    outcome = run("behaviour", trace, "-o", table_file)
    assert (outcome.code, outcome.out) == (0, f"Wrote {table_file} (80 rows)\n")
    table = timesink.open(table_file).behaviour
    assert dict(table.schema) == BEHAVIOUR.schema
    assert set(table.filter(table["metric"].is_not_null())["mu"]) == {1980.0}
    assert set(table["pid"].cast(str)) == {str(HOST_PID)}


def test_a_table_is_not_overwritten(decline, trace: Path, tmp_path: Path):
    existing = tmp_path / "kept.csv"
    existing.write_text("mine")
    assert "already exists" in decline("behaviour", trace, "-o", existing)[0]


def test_a_map_of_ones_own(run, trace: Path, tmp_path: Path):
    metric_map = tmp_path / "map.csv"
    metric_map.write_text("class,metric\ngpu_compute,\n")
    answer = run("behaviour", trace, "--map", metric_map, "--format", "json").json
    assert answer["counters"] == []
    assert any("gpu_sm_frequency" in note for note in answer["notes"])


def test_a_marker(run, trace: Path):
    answer = run("behaviour", trace, "--marker", "aten::mm", "--format", "json").json
    assert answer["cycles"]["anchors"] == ["aten::mm"]
    # Until the device work of each call is done.
    assert answer["cycles"]["median_ns"] == 600_000


def test_a_behaviour_table_is_summed_up_too(run, decline, tmp_path: Path):
    table = tmp_path / "result_perf_data.csv"
    table.write_bytes(csv_file(ROW))
    assert run("behaviour", table).out.startswith("1 step marked by Scheduler.run_batch")
    message, hint = decline("behaviour", table, "--by", "python", code=2)
    assert "to which --by cannot apply" in message
    assert "leave out --by" in hint


def test_counters_of_kernels_have_no_timeline(decline):
    message, hint = decline("behaviour", timesink.sample(counters=True))
    assert "without a timeline" in message
    assert "timesink kernels" in hint


def test_where_nothing_repeats(decline, tmp_path: Path):
    path = write(tmp_path / "once.json", kineto([operator("aten::mm", 10, 20)]))
    assert decline("behaviour", path)[1]


def test_a_table_has_no_other_format(decline, trace: Path, tmp_path: Path):
    words = ("behaviour", trace, "-o", tmp_path / "run.parquet", "--format", "json")
    assert "this ending is for a table, not for json" in decline(*words, code=2)[0]


def test_from_python(trace: Path):
    opened = timesink.open(trace)
    report = timesink.behaviour(opened)
    assert report.source == str(trace)
    assert report.table.equals(timesink.behaviour(trace).table)


def test_an_unknown_ending_is_told_every_known_one(decline, trace: Path, tmp_path: Path):
    message, hint = decline("behaviour", trace, "-o", tmp_path / "x.md", code=2)
    assert ".md is not a format" in message
    for ending in (".parquet", ".csv", ".csv.gz", ".json", ".txt"):
        assert ending in hint
