"""Of any recording: removing something makes no cycle longer, doubling it makes none shorter."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from timesink.analyses.replay.changes import parse_change
from timesink.analyses.replay.prediction import predict, program_of
from timesink.errors import UsageError

SMALL = (
    "graphs/vllm_decode_full/graph_execution.json.gz",
    "hta/cpu_only/*.gz",
    "mlu/mlu_metrics_input.json",
    "tracelens/mi210/gpu_only_trace.json.gz",
)
WHATS = (
    *(f"{sort}:*" for sort in ("kernel", "copy", "op", "host", "self", "call", "sync")),
    *("communication", "loading", "cycle"),
)


@pytest.mark.parametrize("name", SMALL)
def test_removing_makes_no_cycle_longer_and_doubling_none_shorter(shared_root: Path, name: str):
    program = program_of(timesink.open(next((shared_root / "data").glob(name))))
    today = program.cycle_ns
    for what in WHATS:
        without = ("scale", "cycle=0") if what == "cycle" else ("remove", what)
        try:
            less, more = (
                predict(program, (parse_change(*change),))
                for change in (without, ("scale", f"{what}=2"))
            )
        except UsageError:
            continue  # the recording has nothing of that
        assert less.cycle_ns <= today <= more.cycle_ns, what
        for prediction in (less, more):
            low, high = prediction.interval_ns or (0.0, float("inf"))
            assert low <= prediction.cycle_ns <= high, what
