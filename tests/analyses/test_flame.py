"""Flame graphs add up to what was recorded."""

from __future__ import annotations

import polars as pl
import pytest

import timesink
from builders import kernel, kineto, training_trace, write
from timesink.analyses.flame import (
    NOT_LINKED,
    FlameGraph,
    flame_graph,
    measures_of,
)
from timesink.analyses.forest import call_forest
from timesink.errors import NotFoundError
from timesink.formats.flame_files import FlameProfile, collapsed
from timesink.model.schema import BUSY_KINDS


@pytest.mark.parametrize("by", ["stack", "module"])
def test_device_time_is_all_device_time(by: str):
    trace = timesink.open(timesink.sample())
    total = trace.device.filter(pl.col("kind").is_in(BUSY_KINDS))["dur_ns"].sum()
    assert flame_graph(trace, "device", by).total == total


@pytest.mark.parametrize("by", ["stack", "module"])
def test_host_time_is_that_of_the_outermost_calls(by: str):
    trace = timesink.open(timesink.sample())
    forest = call_forest(trace)
    total = int((forest.end - forest.start)[forest.parent < 0].sum())
    assert flame_graph(trace, "host", by).total == total


def test_steps_are_drawn_as_one():
    trace = timesink.open(timesink.sample())
    roots = {stack[0] for stack in flame_graph(trace, "device").weights}
    assert "ProfilerStep" in roots
    assert not any(root.startswith("ProfilerStep#") for root in roots)


def test_work_without_a_launch_is_drawn_apart(tmp_path):
    file = write(tmp_path / "a.json", kineto([kernel("lonely", 10, 5, 0)]))
    trace = timesink.open(file)
    (stack,) = flame_graph(trace, "device").weights
    assert stack == (NOT_LINKED, "lonely")


def test_what_is_not_recorded_is_an_error(tmp_path):
    trace = timesink.open(write(tmp_path / "a.json", training_trace(1)))
    assert measures_of(trace) == ("device", "host")
    with pytest.raises(NotFoundError) as error:
        flame_graph(trace, "memory")
    assert "device time, host time" in error.value.hint


def test_differences_have_both_sides():
    base, new = (FlameGraph("host", {("a",): 3, ("b",): 1}), FlameGraph("host", {("a",): 5}))
    profile = FlameProfile("host", "nanoseconds", new.weights, base.weights)
    assert collapsed([profile]) == "a 3 5\nb 1 0\n"
