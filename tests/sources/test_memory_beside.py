"""A memory snapshot beside a trace of the same run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import write
from memory_snapshots import START_US, train, write_snapshot
from timesink.answers.views import find_view


def _event(name: str, start: float, length: float, tid: int, **fields: Any) -> dict[str, Any]:
    return {
        "ph": "X", "cat": fields.pop("cat", "cpu_op"), "name": name, "pid": 1, "tid": tid,
        "ts": START_US + start, "dur": length, "args": fields,
    }  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two steps with a module, on the clock of the snapshot beside them."""
    events = [
        _event("ProfilerStep#1", 0, 600, 1, cat="user_annotation"),
        _event("ProfilerStep#2", 600, 4400, 1, cat="user_annotation"),
        _event(
            "nn.Module: Net_0",
            10,
            5000,
            1,
            cat="python_function",
            **{"Python id": 1, "Python module id": 0},
        ),
        _event("aten::mm", 12, 4900, 1),
    ]
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events}
    return write(tmp_path / "trace.json", trace)


def test_it_is_read_with_the_trace(recording: Path):
    made = train(4)
    write_snapshot(recording.with_name("trace.memory.pickle"), made.snapshot())
    trace = timesink.open(recording, cache=False)
    assert trace.host.height == 4
    assert trace.has_snapshot
    assert not trace.has_only_memory
    live = find_view("memory-modules").table(trace)
    assert live["bytes"].sum() == made.peak
    assert set(live["module"]) == {"Net_0"}
    steps = find_view("memory-steps").table(trace)
    assert steps["step"].to_list() == ["1", "2"]
    assert steps["peak_bytes"].max() == made.peak
    operators = find_view("memory").table(trace)
    assert "aten::mm" in operators["name"].to_list()


def test_run_json_names_it(recording: Path):
    folder = recording.parent
    write_snapshot(folder / "memory.pickle", train(2).snapshot())
    run = {
        "schema": "timesink/run/1",
        "processes": [{"pid": 1, "trace": "trace.json", "memory": "memory.pickle"}],
    }
    (folder / "run.json").write_text(json.dumps(run))
    assert timesink.open(folder, cache=False).has_snapshot


def test_one_of_another_time_is_not_used(recording: Path):
    snapshot = train(2).snapshot()
    for event in snapshot["device_traces"][0]:
        event["time_us"] += 10**12
    write_snapshot(recording.with_name("trace.memory.pickle"), snapshot)
    trace = timesink.open(recording, cache=False)
    assert not trace.has_snapshot
    assert "foreign_snapshot" in {entry.code for entry in trace.health}


def test_a_broken_one_leaves_the_trace(recording: Path):
    recording.with_name("trace.memory.pickle").write_bytes(b"\x80\x04broken")
    trace = timesink.open(recording, cache=False)
    assert trace.host.height == 4
    assert "unreadable_snapshot" in {entry.code for entry in trace.health}


def test_a_snapshot_with_counters_and_no_timeline_is_answered(tmp_path: Path):
    """A program that ran out of memory before its first step leaves no more."""
    write_snapshot(tmp_path / "memory.pickle", train(4, fails=True).snapshot())
    rows = "ts_us,counter,value\n1000,gpu0_memory_used_mib,7\n2000,gpu0_memory_used_mib,8\n"
    (tmp_path / "counters.csv").write_text(rows)
    analysis = timesink.analyze(tmp_path)
    assert not analysis.trace.has_only_counters
    assert "failed-allocation" in {finding.id for finding in analysis.findings}
