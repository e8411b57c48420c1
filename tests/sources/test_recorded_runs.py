"""Opening what `timesink record` leaves: facts, counters and health come with the trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import timesink
from builders import write
from recorded_runs import (
    PID,
    loop_trace,
    recorded_counters,
    recorded_ranks,
    write_recording,
    write_run,
)
from timesink.formats.parquet_folder import export_folder
from timesink.model.trace import Trace


def codes(trace: Trace) -> list[str]:
    return [entry.code for entry in trace.health]


def test_facts_are_in_the_metadata(tmp_path: Path):
    metadata = timesink.open(write_recording(tmp_path)).metadata
    assert metadata.run is not None
    assert metadata.run.cycles.by == "optimizer step"
    assert (metadata.distributed.rank, metadata.distributed.world_size) == (0, 1)
    assert metadata.versions["torch_version"] == "2.11.0"
    assert metadata.versions["timesink_version"] == "0.1.0"


def test_what_the_trace_says_of_itself_comes_first(tmp_path: Path):
    extra = {"distributedInfo": {"rank": 3, "world_size": 8}, "torch_version": "2.12"}
    metadata = timesink.open(write_recording(tmp_path, trace=loop_trace(**extra))).metadata
    assert (metadata.distributed.rank, metadata.distributed.world_size) == (3, 8)
    assert metadata.versions["torch_version"] == "2.12"


def test_a_known_rank_is_not_assumed(tmp_path: Path):
    assert codes(timesink.open(write_recording(tmp_path))) == []


def test_a_broken_description_does_not_hide_the_trace(tmp_path: Path):
    (write_recording(tmp_path) / "run.json").write_text('{"schema": "timesink/run/1", ')
    trace = timesink.open(tmp_path)
    assert (trace.steps.height, trace.metadata.run) == (6, None)
    assert "bad_run_file" in codes(trace)
    assert trace.counters.height > 0


def test_an_answer_follows_the_description(tmp_path: Path):
    write_recording(tmp_path)
    assert codes(timesink.open(tmp_path)) == []
    write_run(tmp_path, complete=False, why_partial="interrupted")
    assert codes(timesink.open(tmp_path)) == ["partial_recording"]
    (tmp_path / "run.json").unlink()
    assert timesink.open(tmp_path).metadata.run is None


def test_the_cache_keeps_the_facts(tmp_path: Path, forbid_reading: Callable[[], None]):
    first = timesink.open(
        write_recording(tmp_path, counters={"missing": [{"counter": "a", "why": "b"}]})
    )
    forbid_reading()
    again = timesink.open(tmp_path)
    assert again.metadata.run == first.metadata.run
    assert again.health == first.health


def test_an_export_keeps_the_facts(tmp_path: Path):
    trace = timesink.open(write_recording(tmp_path / "run"))
    export_folder(trace, tmp_path / "tables")
    assert timesink.open(tmp_path / "tables").metadata.run == trace.metadata.run


def test_ranks_share_counters_and_keep_their_own_process(tmp_path: Path):
    recorded_ranks(tmp_path)
    for rank in (0, 1):
        trace = timesink.open(tmp_path, rank=rank)
        sampled = trace.counters["device"].unique().cast(str).sort().to_list()
        assert sampled == ["Host", f"pid {PID + rank}"]
        assert trace.metadata.distributed.rank == rank


def test_processes_nobody_recorded_stay_with_all(tmp_path: Path):
    recorded_ranks(tmp_path)
    with (tmp_path / "counters.csv").open("a") as file:
        file.write("1790857026000001,process_cpu_usage,pid 77,5\n")
    sampled = timesink.open(tmp_path, rank=1).counters["device"].cast(str)
    assert "pid 77" in sampled.to_list()


def test_counters_alone(tmp_path: Path):
    trace = timesink.open(recorded_counters(tmp_path))
    assert trace.has_only_counters
    assert [(entry.code, entry.example) for entry in trace.health] == [
        ("counters_only", "the program did not use PyTorch")
    ]
    assert trace.metadata.run is not None


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_has_more_than_counters(tmp_path: Path, name: str):
    assert not timesink.open(write(tmp_path / name, loop_trace())).has_only_counters
