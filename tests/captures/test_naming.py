"""A recording with the calls of its captures: where they stand, and what each table makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import graph_programs
import timesink
from timesink.analyses.forest import call_forest
from timesink.analyses.graphs import graph_table, replayed_work
from timesink.analyses.modules import module_table
from timesink.analyses.operators import launch_sites, operator_table
from timesink.analyses.timeline.layout import layout_of
from timesink.model.schema import CAPTURED_KINDS
from timesink.model.trace import Trace

KERNELS = [kernel for _, _, kernel in graph_programs.LAYERS]


@pytest.fixture
def replayed(tmp_path: Path) -> Trace:
    """Three replays of a graph whose capture lies beside."""
    events = [
        event
        for number in range(3)
        for event in graph_programs.replay(KERNELS, 5000 + 200 * number, 500 + number)
    ]
    graph_programs.write(tmp_path / "capture_traces/bs8.json", graph_programs.captured())
    return timesink.open(graph_programs.write(tmp_path / "run.json", events), cache=False)


def test_operators_have_the_time_of_what_is_replayed(replayed: Trace):
    rows = operator_table(replayed).select("name", "calls", "device_self_ns", "host_total_ns")
    assert sorted(rows.rows()) == [
        ("aten::addmm", 6, 48_000, 0),
        ("aten::gelu", 3, 24_000, 0),
        ("aten::mul", 3, 24_000, 0),
    ]


def test_what_comes_from_a_capture_says_so(replayed: Trace):
    assert set(operator_table(replayed)["captured_pct"]) == {100.0}
    assert launch_sites(replayed).rows() == [("operator, from capture", 12, 96_000)]
    assert set(replayed.host["category"].to_list()) >= {"from capture"}


def test_modules_lie_in_those_around_the_replay(replayed: Trace):
    # The module around the replay is the outermost of the capture, and not there twice.
    rows = module_table(replayed).select("name", "parent_id", "occurrences", "device_total_ns")
    assert rows.rows() == [
        ("Net_0", None, 3, 96_000),
        ("Linear_0", 0, 3, 24_000),
        ("GELU_0", 0, 3, 24_000),
        ("Linear_1", 0, 3, 24_000),
        ("Dropout_0", 0, 3, 24_000),
    ]


def test_captured_calls_take_no_time_of_the_host(replayed: Trace):
    captured = replayed.host["kind"].is_in(CAPTURED_KINDS)
    assert captured.sum() == 3 * 8
    assert replayed.host["dur_ns"].filter(captured).sum() == 0


def test_they_keep_their_callers_however_the_clock_is_corrected(replayed: Trace):
    forest = call_forest(replayed)
    names = [forest.names[code] for code in forest.name]
    parents = [names[parent] if parent >= 0 else None for parent in forest.parent]
    assert parents[names.index("aten::gelu")] == "nn.Module: GELU_0"
    assert parents[names.index("nn.Module: GELU_0")] == "nn.Module: Net_0"


def test_graphs_and_their_matched_share(replayed: Trace):
    (row,) = graph_table(replayed).rows(named=True)
    assert (row["replays"], row["work"], row["captured_pct"]) == (3, 4, 100.0)
    work = replayed_work(replayed)
    assert work is not None
    assert (work.named_pieces, work.pieces, work.sources) == (12, 12, ("bs8.json",))


def test_shapes_are_those_of_the_capture(replayed: Trace):
    shapes = operator_table(replayed, by_shape=True)["input_dims"].unique().to_list()
    assert shapes == ["[[8, 16], [16, 16]]"]


def test_the_timeline_has_a_lane_over_the_replays(replayed: Trace):
    (track,) = [track for track in layout_of(replayed).lanes.tracks if "capture" in track.name]
    assert (track.events, track.rows) == (24, 2)


def test_what_does_not_fit_is_counted_and_left_alone(tmp_path: Path):
    events = graph_programs.replay(["other"] * 5, 5000, 500)
    graph_programs.write(tmp_path / "capture_traces/bs8.json", graph_programs.captured())
    trace = timesink.open(graph_programs.write(tmp_path / "run.json", events), cache=False)
    assert [(entry.code, entry.count) for entry in trace.health if "replays" in entry.code] == [
        ("unmatched_replays", 5)
    ]
    assert not trace.host["kind"].is_in(CAPTURED_KINDS).any()


def test_an_eager_recording_names_them_as_well(tmp_path: Path):
    file = graph_programs.write(tmp_path / "run.json", graph_programs.replay(KERNELS, 5000, 500))
    eager = graph_programs.write(tmp_path / "other/eager.json", graph_programs.eager())
    from timesink.sources.discovery import Input

    trace = timesink.sources.opening.open_trace(Input(file, names_from=eager), cache=False)
    assert operator_table(trace)["name"].to_list() == ["aten::addmm", "aten::gelu", "aten::mul"]
    work = replayed_work(trace)
    assert work is not None
    assert work.is_eager


def test_export_draws_them_over_the_work(replayed: Trace):
    from timesink.formats.chrome.writer import events

    drawn = [event for event in events(replayed) if event.get("cat") == "from capture"]
    assert len(drawn) == 24
    assert {event["pid"] for event in drawn} == {0}
