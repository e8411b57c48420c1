"""Marks taken away from real recordings: other methods must find the same cycles again."""

from __future__ import annotations

import polars as pl
import pytest

from timelines import recording
from timesink.analyses.cycles.search import find_cycles
from timesink.model.trace import Trace


def without_marks(trace: Trace, *gone: str) -> Trace:
    """The recording without steps, annotations and host events of the named kinds."""
    host = trace.lazy("host").filter(~pl.col("kind").is_in(["annotation", *gone]))
    device = trace.lazy("device").filter(pl.col("kind") != "annotation")
    frames = {**trace.frames, "host": host, "device": device, "steps": trace.lazy("steps").head(0)}
    return Trace(trace.metadata, trace.health, frames)


def device_only(trace: Trace) -> Trace:
    bare = without_marks(trace)
    return Trace(trace.metadata, (), {**bare.frames, "host": trace.lazy("host").head(0)})


@pytest.mark.parametrize(
    "name",
    [
        "h200/traces/llama_decode",
        "h200/traces/resnet50_train",
        "tracelens/mi300/resnet_act_checkpoint.json.gz",
    ],
)
def test_python_calls_find_the_steps(shared_root, name):
    trace = recording(shared_root, name)
    steps, cycles = find_cycles(trace).table, find_cycles(without_marks(trace))
    assert cycles.method == "python"
    assert cycles.table.height == steps.height
    late = (cycles.table["start_ns"] - steps["start_ns"]).to_numpy()
    assert ((late >= 0) & (late < 100_000)).all()


@pytest.mark.parametrize(
    ("name", "most_ms"),
    [
        ("h200/faults/normal", 3),
        ("h200/traces/ddp8_normal/rank0.1794703754643334605.pt.trace.json.gz", 10),
    ],
)
def test_kernels_alone_find_the_steps(shared_root, name, most_ms):
    trace = recording(shared_root, name)
    steps, cycles = find_cycles(trace).table, find_cycles(device_only(trace))
    assert (cycles.method, cycles.on_device) == ("kernels", True)
    assert cycles.table.height == steps.height
    late = (cycles.table["start_ns"] - steps["start_ns"]).to_numpy()
    assert (abs(late) < most_ms * 1_000_000).all()


def test_two_steps_of_many_layers_are_refused(shared_root):
    trace = recording(shared_root, "h200/traces/gpt_infer")
    for bare in (without_marks(trace), device_only(trace)):
        with pytest.raises(Exception, match="no steps found"):
            find_cycles(bare)
