"""Predictions on the clock of a program, their bounds, and single changes by what they save."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timesink
from loaded_cycles import LOADER, US, Piece, cycles, pieces
from timelines import patient
from timesink.analyses.replay import prediction
from timesink.analyses.replay.changes import AskedChange, change_of
from timesink.analyses.replay.graph import replay_graph
from timesink.analyses.replay.own_clock import OwnClock, StepTime
from timesink.analyses.replay.play import play
from timesink.analyses.replay.prediction import best_changes, predict, program_of
from timesink.analyses.replay.what_if import Scenario, step_ns
from timesink.errors import UsageError
from timesink.model.trace import Trace

HOST_BOUND = [Piece("kernel", name, 20, 2) for name in ("aten::mm", "aten::add")]


@pytest.fixture
def clocked_trace(monkeypatch: pytest.MonkeyPatch):
    """A trace whose host was recorded twice as slow as it is, with a clock that is not sure."""

    def build_trace(trace: Trace, interval: tuple[float, float] | None) -> Trace:
        recorded = play(replay_graph(trace))
        corrected_play = play(recorded.graph, recorded.work / 2)
        now, before = (step_ns(Scenario.of(trace, played)) for played in (corrected_play, recorded))
        ends = None if interval is None else (now * interval[0], now * interval[1])
        clock = OwnClock(before, now, ends, "estimated", "", 1.0, corrected_play)
        monkeypatch.setattr(prediction, "own_clock", lambda _: clock)
        times = StepTime(before, now, ends)
        monkeypatch.setattr(prediction, "step_time", lambda _: times)
        return replace(trace, health=trace.health)  # one that nobody asked about

    return build_trace


def test_what_is_on_the_path_saves_what_it_takes_by_itself(clocked_trace):
    program = program_of(clocked_trace(cycles(HOST_BOUND), (0.8, 1.3)))
    # The first of the three steps waits for the device once more.
    assert program.cycle_ns == pytest.approx((28.5 + 26 + 26) / 3 * US)
    outcome = predict(program, (change_of("remove host:aten::mm"),))
    assert outcome.cycle_ns == pytest.approx((16 + 13.5 + 13.5) / 3 * US)
    assert outcome.saving_ns == pytest.approx(12.5 * US)


def test_bounds_are_those_of_the_clock(clocked_trace):
    program = program_of(clocked_trace(cycles(HOST_BOUND), (0.8, 1.3)))
    assert [end / program.cycle_ns for end, _ in program.ends] == [0.8, 1.3]
    now = predict(program)
    assert now.interval_ns == pytest.approx((0.8 * now.cycle_ns, 1.3 * now.cycle_ns))
    less = predict(program, (change_of("remove host:aten::mm"),))
    assert less.interval_ns == pytest.approx((0.8 * less.cycle_ns, 1.3 * less.cycle_ns), rel=0.03)


def test_where_the_device_decides_the_clock_of_the_host_does_not_matter(clocked_trace):
    trace = clocked_trace(cycles([Piece("kernel", "aten::mm", 20, 100)], 6), (0.9, 1.2))
    outcome = predict(program_of(trace), (change_of("scale kernel:*=0.9"),))
    assert outcome.saving_ns == pytest.approx(10 * US)


def test_without_bounds(clocked_trace):
    assert predict(program_of(clocked_trace(cycles(HOST_BOUND), None))).interval_ns is None


def test_a_clock_that_nobody_knows_is_the_recorded_one():
    trace = cycles(HOST_BOUND)
    trace = replace(trace, metadata=replace(trace.metadata, format="nobody's"))
    program = program_of(trace)
    assert (program.clock.source, program.cycle_ns, program.ends) == ("none", 52 * US, ())


def test_the_path_adds_up_to_the_cycle():
    program = program_of(timesink.open(timesink.sample()))
    for changes in ((), (change_of("graph"),)):
        outcome = predict(program, changes)
        assert outcome.path["path_ns"].sum() == pytest.approx(outcome.cycle_ns)
        assert not outcome.path.select("kind", "name").is_duplicated().any()


def test_batches_that_come_late_decide():
    trace = cycles([Piece("load", LOADER, 400), *HOST_BOUND])
    outcome = predict(program_of(trace), (change_of("loader-workers 2"),))
    assert outcome.path["kind"].to_list() == ["data_loading"]
    assert outcome.path["path_ns"].to_list() == [outcome.cycle_ns]


class TestBest:
    def test_each_sort_of_change_is_tried(self):
        ranked = best_changes(program_of(timesink.open(timesink.sample())))
        tried = {(candidate.change.action, candidate.change.sort) for candidate in ranked}
        assert tried == {
            *(("scale", "kernel"), ("overlap", "copy"), ("remove", "sync"), ("remove", "op")),
            *(("fuse", "op"), ("graph", "cycle"), ("scale", "outside")),
        }
        saved = [candidate.saving_ns for candidate in ranked]
        assert saved == sorted(saved, reverse=True)
        assert saved[-1] >= 0

    def test_what_decides_is_found(self):
        heavy = [Piece("kernel", "aten::mm", 5, 300), Piece("kernel", "aten::add", 5, 10)]
        first = best_changes(program_of(cycles(heavy)))[0]
        assert first.change == AskedChange("scale", "kernel", "mm_kernel", 0.5)
        waits = [*heavy, Piece("wait", "aten::item"), Piece("host", "aten::cat", 500)]
        saved = {
            candidate.change.text: candidate.saving_ns
            for candidate in best_changes(program_of(cycles(waits)))
        }
        assert saved["--remove sync:aten::item"] > saved["--scale kernel:add_kernel=0.5"]
        loads = [Piece("load", LOADER, 900), *heavy]
        assert best_changes(program_of(cycles(loads)))[0].change.action == "loader-workers"

    def test_beside_changes_that_are_made(self):
        program = program_of(timesink.open(timesink.sample()))
        change = change_of("graph")
        ranked = best_changes(program, (change,))
        base = predict(program, (change,)).cycle_ns
        assert ranked[0].saving_ns == base - ranked[0].prediction.cycle_ns
        fused = max(
            candidate.saving_ns for candidate in ranked if candidate.change.action == "fuse"
        )
        assert fused < 0.005 * base  # what a graph launches, no fusion launches sooner


CHANGES = (
    *("scale kernel:*=0", "remove op:*", "remove sync:*", "remove host:*", "fuse aten::mm"),
    *("graph cycle", "overlap communication", "loader-workers inf", "device H100:B200"),
)


@patient
@given(pieces, st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3))
def test_no_saving_is_more_than_the_cycle(program, change_texts):
    base = program_of(cycles(program))
    try:
        outcome = predict(base, tuple(map(change_of, change_texts)))
    except UsageError:
        return
    assert outcome.saving_ns <= base.cycle_ns + 1e-6
    assert outcome.cycle_ns >= 0
    if all(change_of(text).only_shortens for text in change_texts):
        assert outcome.saving_ns >= -1e-6
    low, high = outcome.interval_ns or (outcome.cycle_ns, outcome.cycle_ns)
    assert 0 <= low <= outcome.cycle_ns <= high
    assert np.isfinite(high)
