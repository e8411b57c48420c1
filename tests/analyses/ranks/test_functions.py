"""Which calls of the host wait for the device."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import timesink
from builders import annotation, kineto, operator, runtime, write
from timesink.analyses.ranks.own_time import function_times


def test_a_program_does_not_wait_where_a_collective_does(tmp_path: Path):
    events = [
        operator("aten::item", 0, 40),
        runtime("cudaStreamSynchronize", 10, 20, correlation=1),
        annotation("gloo:all_reduce", 100, 100),
        runtime("cudaStreamSynchronize", 110, 20, correlation=2),
    ]
    trace = timesink.open(write(tmp_path / "trace.json", kineto(events)), cache=False)
    times = function_times(trace, np.array([[0, 2**62]]))
    waiting = times.filter(place="waiting")
    assert waiting.select("function", "calls").rows() == [("StreamSynchronize", 1)]
