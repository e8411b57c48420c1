"""`timesink.cycles`: the repeating unit of files and folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import timesink
from builders import write
from loops import US, chrome_events, serve
from timesink.errors import NotFoundError

KINDS = ["prefill", *["decode"] * 5, "prefill", *["decode"] * 6]


@pytest.fixture
def server_recording(tmp_path: Path) -> Path:
    """A recording of a server in the dialect of eBPF tracers: Python calls, `host(pid)`."""
    batches = serve(KINDS, pids=("944615", "944616"))
    return write(tmp_path / "served.json", chrome_events(batches))


def test_a_recorded_server(server_recording):
    (run,) = timesink.cycles(server_recording, cache=False).runs
    assert (run.cycles.method, run.cycles.anchor) == ("python", "Scheduler.run_batch")
    table = run.cycles.table
    assert table["type"].to_list() == KINDS * 2
    truth = serve(KINDS).cycles
    first = table.filter(table["pid"] == table["pid"][0])
    assert first["start_ns"].to_list()[0] == truth[0][2]
    assert (first["end_ns"] - first["start_ns"]).to_list() == [end - at for _, _, at, end in truth]
    assert run.summary["cycles"].to_list() == [2, 11, 2, 11]
    assert run.summary["length_cv"].to_list() == [0.0] * 4


def test_one_process_by_its_number(server_recording):
    report = timesink.cycles(server_recording, pid="944616", cache=False)
    assert report.table["pid"].unique().to_list() == ["node7(944616)"]
    with pytest.raises(NotFoundError, match="process 7"):
        timesink.cycles(server_recording, pid="7", cache=False)


def test_a_folder_keeps_what_can_be_told(server_recording):
    other = {"name": "f", "ph": "X", "cat": "python", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    write(server_recording.parent / "short.json", [other, other | {"name": "g", "ts": 9}])
    report = timesink.cycles(server_recording.parent, cache=False)
    assert [run.label for run in report.runs] == ["served"]
    assert "no steps found" in report.refused[0].message


def test_json_says_everything(server_recording):
    answer = json.loads(timesink.cycles(server_recording, cache=False).to_json())
    assert answer["schema"] == "timesink/cycles/1"
    (run,) = answer["runs"]
    assert run["count"] == len(run["cycles"]) == 2 * len(KINDS)
    assert 0 < run["confidence"] <= 1
    assert run["cycles"][0] | {"pid": ""} == {
        "cycle": 1,
        "type": "prefill",
        "pid": "",
        "name": "Scheduler.run_batch",
        "start_ns": 1_110 * US,
        "end_ns": serve(KINDS).cycles[0][3],
    }


# -- real recordings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method", "count"),
    [
        ("h200/traces/llama_decode", "step", 5),
        ("h200/traces/cuda_graph", "step", 10),
        ("kineto/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz", "step", 6),
        ("mlu/mlu_metrics_input.json", "kernels", 5),
        (
            "latencyprism/SGLang/gpu_instability/normal_perf_data/result_perf_data.csv.gz",
            "table",
            12,
        ),
    ],
)
def test_recordings_of_many_makers(shared_root, name, method, count):
    (run,) = timesink.cycles(shared_root / "data" / name).runs
    assert (run.cycles.method, run.cycles.table.height) == (method, count)


@pytest.mark.parametrize(
    "name", ["nsys/output-file.sqlite", "tracelens/mi210/gpu_only_trace.json.gz"]
)
def test_recordings_without_a_repeating_unit(shared_root, name):
    with pytest.raises(NotFoundError) as refused:
        timesink.cycles(shared_root / "data" / name)
    assert "--marker" in refused.value.hint
