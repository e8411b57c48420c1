"""`run.json`: which one belongs to a file, and what is made of one that is broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import training_trace, write
from recorded_runs import (
    PID,
    recorded_counters,
    recorded_ranks,
    run_fields,
    write_recording,
    write_run,
)
from timesink.errors import UnreadableError
from timesink.formats.source_file import read_trace
from timesink.recorder.folder import RecordingFolder
from timesink.sources.discovery import files_at, find_recordings, recordings_in
from timesink.sources.sidecars import find_beside, find_run, run_file_in


def names(folder: Path) -> list[str]:
    return [recording.path.name for recording in find_recordings(folder)]


def test_facts(tmp_path: Path):
    file = find_run(write_recording(tmp_path) / "trace.json.gz")
    assert file is not None
    assert file.run is not None
    assert (file.unused, file.run.command[1], file.run.host.cores) == ((), "train.py", 16)
    assert file.run.versions == {"python": "3.12.3", "torch": "2.11.0"}
    assert file.run.process_of("trace.json.gz") == file.run.processes[0]
    assert file.run.processes[0].pid == PID


def test_what_does_not_fit_is_named_and_the_rest_is_read(tmp_path: Path):
    write_run(tmp_path, host={"cores": "many"}, processes=[7, {"trace": "t.json"}], added_later=1)
    file = run_file_in(tmp_path)
    assert file is not None
    assert file.run is not None
    assert file.unused == ("run.json: processes[0]: 7", "run.json: host.cores: 'many'")
    assert (file.run.host.cores, file.run.host.system) == (None, "Linux 6.1")
    assert file.run.process_of("t.json") is not None


def test_a_later_version_is_read_as_far_as_it_is_known(tmp_path: Path):
    write_run(tmp_path, schema="timesink/run/2")
    file = run_file_in(tmp_path)
    assert file is not None
    assert file.run is not None
    assert file.run.complete is True
    assert "'timesink/run/2'" in file.unused[0]


@pytest.mark.parametrize("content", ["", '{"schema": "timesink/run/1", "command', "[" * 5000])
def test_a_broken_one_in_a_recording(tmp_path: Path, content: str):
    (write_recording(tmp_path) / "run.json").write_text(content)
    file = find_run(tmp_path / "trace.json.gz")
    assert file is not None
    assert file.run is None
    assert len(file.unused) == 1
    assert names(tmp_path) == ["trace.json.gz"]


@pytest.mark.parametrize(
    "trace_name", ["trace.json", "trace.rank0.json.gz", "trace.pid123.json.gz"]
)
def test_a_broken_one_is_known_by_what_lies_beside_it(tmp_path: Path, trace_name: str):
    (write_recording(tmp_path) / "trace.json.gz").rename(tmp_path / trace_name)
    (tmp_path / "run.json").write_text("{")
    file = run_file_in(tmp_path)
    assert file is not None
    assert file.names(trace_name)


@pytest.mark.parametrize("content", ["", "{", '{"schema": "other"}', "[1]", '{"schema": 3}'])
def test_one_of_another_program_is_left_alone(tmp_path: Path, content: str):
    trace = write(tmp_path / "worker.json", training_trace(1))
    (tmp_path / "run.json").write_text(content)
    assert find_run(trace) is None
    assert names(tmp_path) == ["worker.json"]


def test_a_trace_may_have_its_name(tmp_path: Path):
    write(tmp_path / "run.json", training_trace(1))
    assert names(tmp_path) == ["run.json"]
    assert find_run(tmp_path / "run.json") is None


def test_it_is_declined_when_given_as_a_trace(tmp_path: Path):
    with pytest.raises(UnreadableError, match="the description of a recorded run") as declined:
        read_trace(write_run(tmp_path))
    assert "give the folder" in declined.value.hint


def test_a_trace_it_does_not_name_is_not_of_the_run(tmp_path: Path):
    other = write(write_recording(tmp_path) / "other.json", training_trace(1))
    assert find_run(other) is None
    assert find_beside(other) is None
    assert find_beside(tmp_path / "trace.json.gz") == tmp_path / "counters.csv"


def test_the_only_trace_is_of_the_run_whatever_its_name(tmp_path: Path):
    (write_recording(tmp_path) / "trace.json.gz").rename(tmp_path / "renamed.json.gz")
    assert find_run(tmp_path / "renamed.json.gz") is not None


def test_an_unpacked_trace_is_the_same(tmp_path: Path):
    recorded_ranks(tmp_path)
    (tmp_path / "trace.rank1.json.gz").unlink()
    unpacked = write(tmp_path / "trace.rank1.json", training_trace(1))
    assert find_run(unpacked) is not None
    assert find_beside(unpacked) == tmp_path / "counters.csv"


def test_counters_of_several_ranks(tmp_path: Path):
    recorded_ranks(tmp_path)
    shared = [find_beside(recording.path) for recording in find_recordings(tmp_path)]
    assert shared == [tmp_path / "counters.csv"] * 2
    (tmp_path / "run.json").unlink()
    assert find_beside(tmp_path / "trace.rank0.json.gz") is None


def test_counters_under_another_name(tmp_path: Path):
    recorded_ranks(tmp_path)
    (tmp_path / "counters.csv").rename(tmp_path / "sampled.csv")
    write_run(tmp_path, counters={"file": "sampled.csv"})
    assert find_beside(tmp_path / "trace.rank1.json.gz") == tmp_path / "sampled.csv"


def test_counters_elsewhere_are_not_read(tmp_path: Path):
    folder = write_recording(tmp_path / "run", counters={"file": "../secret.csv"})
    (tmp_path / "secret.csv").write_text("timestamp_us,counter,device,value\n")
    assert find_beside(folder / "trace.json.gz") == folder / "counters.csv"


def test_counters_alone_are_a_recording_where_a_recorder_says_so(tmp_path: Path):
    recorded_counters(tmp_path / "runs" / "a")
    write_recording(tmp_path / "runs" / "b")
    assert names(tmp_path / "runs" / "a") == ["counters.csv"]
    assert names(tmp_path / "runs") == ["counters.csv", "trace.json.gz"]
    assert recordings_in(tmp_path / "runs" / "a") == []
    (tmp_path / "runs" / "a" / "run.json").unlink()
    with pytest.raises(UnreadableError, match="no trace in this folder"):
        find_recordings(tmp_path / "runs" / "a")


def test_a_recording_of_nothing_says_why(tmp_path: Path):
    write_run(tmp_path, why_partial="the program was killed")
    with pytest.raises(UnreadableError, match="without a trace and without counters") as declined:
        find_recordings(tmp_path)
    assert declined.value.hint == "the program was killed"


def test_what_a_recorder_still_works_on_is_no_recording(tmp_path: Path):
    control = RecordingFolder(tmp_path).control
    control.mkdir()
    write(control / "raw.json", training_trace(1))
    with pytest.raises(UnreadableError, match="this recording is not finished"):
        find_recordings(tmp_path)


def test_fields_of_the_builder_are_those_of_the_schema(tmp_path: Path):
    (tmp_path / "run.json").write_text(json.dumps(run_fields()))
    file = run_file_in(tmp_path)
    assert file is not None
    assert file.unused == ()


def test_a_broken_one_alone_is_said_to_be_broken(tmp_path: Path):
    (tmp_path / "run.json").write_text('{"schema": "timesink/run/1", "cyc')
    with pytest.raises(
        UnreadableError, match=r"no trace, and run.json: damaged \(Input data was truncated\)"
    ):
        files_at(tmp_path)
