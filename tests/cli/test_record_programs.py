"""`timesink record` of programs of several processes, and of their counters."""

from __future__ import annotations

import csv
import gzip
import json
import statistics
from pathlib import Path

import pytest

from forked_programs import host_of_programs, record_fork
from recorded import Recording, needs_torch, record, write

pytestmark = pytest.mark.whole

DISTRIBUTED = """
import torch
torch.distributed.init_process_group("gloo")
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    model(torch.randn(2, 8)).sum().backward()
    for weights in model.parameters():
        torch.distributed.all_reduce(weights.grad)
    optimizer.step()
"""

BUSY_AND_IDLE = """
import time, torch
from torch.profiler import record_function
begun = time.process_time()
with record_function("busy"):
    while time.process_time() < begun + 0.5:
        pass
with record_function("idle"):
    time.sleep(0.5)
"""


@needs_torch
def test_ranks_of_torchrun(tmp_path: Path):
    """Every rank has a timeline of its own; all of them end once they are recorded."""
    launcher = tmp_path / "launcher.py"
    launcher.write_text("from torch.distributed import run; run.main()")
    fork = host_of_programs().command
    ranks = ["--standalone", "--nproc-per-node", "2", "--no-python"]
    command = fork(str(launcher), *ranks, *fork(write(tmp_path, DISTRIBUTED)))
    options = ["--cycles", "3", "--skip", "2", "--plain", "0", "--stop", "--counters", "cpu"]
    recording = record(tmp_path / "run", options, command)
    assert recording.code == 0, recording.err
    traces = ["trace.rank0.json.gz", "trace.rank1.json.gz"]
    assert recording.files == ["counters.csv", "run.json", *traces]
    run = recording.run
    assert run["complete"] is True
    facts = [
        (process["rank"], process["world_size"], process["cycles"]) for process in run["processes"]
    ]
    assert facts == [(0, 2, 3), (1, 2, 3)]
    assert "of 2 processes" in recording.err
    for trace in traces:
        assert any("gloo:all_reduce" in name["name"] for name in recording.events(trace))


def spans_us(recording: Recording) -> dict[str, tuple[float, float]]:
    """Annotations of the timeline, in Unix time."""
    base_us = json.loads(gzip.decompress((recording.folder / "trace.json.gz").read_bytes()))[
        "baseTimeNanoseconds"
    ] / 1000  # fmt: skip
    return {
        event["name"]: (base_us + event["ts"], base_us + event["ts"] + event["dur"])
        for event in recording.events()
        if event.get("cat") == "user_annotation"
    }


@needs_torch
def test_busy_phase_shows_in_timeline_and_counters(tmp_path: Path):
    recording = record_fork(tmp_path, BUSY_AND_IDLE, "--whole", "--counters", "process_cpu_usage")
    pid = recording.run["processes"][0]["pid"]
    with (recording.folder / "counters.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["device"] == f"pid {pid}"]
    spans = spans_us(recording)
    # A sample tells of the time since the one before.
    interval_us = 1000 * recording.run["counters"]["interval_ms"]
    levels = {
        name: statistics.mean(
            float(row["value"])
            for row in rows
            if spans[name][0] + interval_us < int(row["timestamp_us"]) < spans[name][1]
        )
        for name in ("busy", "idle")
    }
    assert levels["busy"] > 5 * levels["idle"]
