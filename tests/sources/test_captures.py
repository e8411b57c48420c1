"""Captures beside a recording, and those a user names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import graph_programs
import timesink
from timesink.analyses.graphs import replayed_work
from timesink.errors import TimesinkError
from timesink.sources.captures import captures_beside, named_captures
from timesink.sources.discovery import Input, find_recordings
from timesink.sources.opening import open_trace
from timesink.sources.sidecars import is_trace_file

KERNELS = [kernel for _, _, kernel in graph_programs.LAYERS]
DETAILS = "execution_details.json"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return graph_programs.write(
        tmp_path / "run/trace.json", graph_programs.replay(KERNELS, 5000, 500)
    )


def captured_file(run: Path) -> Path:
    """What a recorder would write beside a trace."""
    graph = {
        "calls": {"parent": [-1] * 4, "name": [name for _, name, _ in graph_programs.LAYERS]},
        "nodes": {"call": [0, 1, 2, 3], "kernel": KERNELS},
    }
    file = run.with_name("trace.captures.json")
    file.write_text(json.dumps({"schema": "timesink/graph-captures/1", "graphs": [graph]}))
    return file


def named_share(place: Path | Input) -> float:
    work = replayed_work(open_trace(place))
    assert work is not None
    return work.named_ns / work.replayed_ns


class TestBeside:
    def test_a_folder_of_traces(self, run: Path):
        graph_programs.write(run.parent / "capture_traces/a.json", graph_programs.captured())
        assert named_share(run.parent) == 1.0

    def test_described_ones_have_their_labels(self, run: Path):
        folder = run.parent / "capture_traces"
        graph_programs.write(folder / "a.json", graph_programs.captured())
        rows = [{"file": "a.json", "batch_size": 8, "mode": "FULL"}, {"file": "../b.json"}, 7]
        (folder / DETAILS).write_text(json.dumps(rows))
        (file,) = captures_beside(run)
        assert (file.path.name, file.label, file.batch_size) == ("a.json", "batch size 8, FULL", 8)

    def test_of_several_ranks_each_has_its_own(self, tmp_path: Path):
        for rank in (0, 1):
            name = f"capture_traces/bs_8_rank{rank}.json"
            graph_programs.write(tmp_path / name, graph_programs.captured())
        names = [file.path.name for file in captures_beside(tmp_path / "trace.rank1.json")]
        assert names == ["bs_8_rank1.json"]

    def test_the_file_of_the_recorder(self, run: Path):
        file = captured_file(run)
        assert not is_trace_file(file)
        assert named_share(run.parent) == 1.0

    def test_a_new_capture_is_another_entry_of_the_cache(self, run: Path):
        assert named_share(run) == 0.0
        captured_file(run)
        assert named_share(run) == 1.0

    def test_a_damaged_one_does_not_cost_the_recording(self, run: Path):
        run.with_name("trace.captures.json").write_text('{"schema": "timesink/graph-captures/1"}')
        trace = timesink.open(run)
        assert [entry.code for entry in trace.health if "captures" in entry.code] == [
            "unreadable_captures"
        ]

    def test_they_are_no_recordings_of_their_own(self, run: Path):
        graph_programs.write(run.parent / "capture_traces/a.json", graph_programs.captured())
        found = find_recordings(run.parent.parent)
        assert [recording.path.name for recording in found] == ["trace.json"]


class TestNamed:
    def test_a_file_elsewhere(self, run: Path, tmp_path: Path):
        file = graph_programs.write(tmp_path / "elsewhere.json", graph_programs.captured())
        assert named_share(Input(run, captures=file)) == 1.0
        assert named_share(run) == 0.0

    def test_an_eager_recording(self, run: Path, tmp_path: Path):
        file = graph_programs.write(tmp_path / "elsewhere.json", graph_programs.eager())
        assert named_share(Input(run, names_from=file)) == 1.0
        # As captures the same file says nothing: all of its work ran.
        assert named_share(Input(run, captures=file)) == 0.0

    def test_nothing_there(self, tmp_path: Path):
        with pytest.raises(TimesinkError, match="no such file"):
            named_captures(tmp_path / "missing")
        (tmp_path / "empty").mkdir()
        with pytest.raises(TimesinkError, match="holds no captures"):
            named_captures(tmp_path / "empty")
