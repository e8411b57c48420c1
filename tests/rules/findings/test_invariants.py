"""What no finding may say, whatever was recorded: more than there is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import DATA_LOADER, K, O, R, read
from thinning import every_nth
from timelines import RECORDINGS, patient, recording, trace_of
from timesink.analyses.device_idle import idle_causes
from timesink.analyses.steps import average_step
from timesink.model.trace import Device, Trace
from timesink.rules.run_findings import find_all
from timesink.rules.steps import complete_steps
from timesink.rules.thresholds import DeviceWorkLimits

IDLE_RULES = ("low-utilisation-", "tiny-kernels", "many-waits", "large-gaps", "data-loading")
SOME_RECORDINGS = every_nth(reversed(RECORDINGS[:-1]), 3)
NOT_IDLE = "low-utilisation-copy-bound"
SCALE = 100_000
"""Small numbers find more cases; times are these numbers of 0.1 ms."""

times = {
    "ts_ns": st.integers(0, 60).map(SCALE.__mul__),
    "dur_ns": st.integers(0, 20).map(SCALE.__mul__),
}
ids = st.none() | st.integers(1, 6)
activities = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["kernel", "kernel", "memcpy", "collective", "profiler_range"]),
        "name": st.sampled_from(
            ["nchwToNhwcKernel", "volta_sgemm", "add", "Memcpy HtoD (Pageable -> Device)"]
        ),
        "device": st.sampled_from([0, 0, 1, None]),
        "stream": st.sampled_from(["7", "13"]),
        "correlation": ids,
        **times,
    }
)
calls = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["runtime", "runtime", "operator"]),
        "name": st.sampled_from(
            [
                "cudaLaunchKernel",
                "cudaStreamSynchronize",
                "cudaFree",
                "aten::mm",
                "aten::item",
                "gloo:all_reduce",
                "DataParallel.forward",
                DATA_LOADER,
            ]
        ),
        "pid": st.just("1"),
        "tid": st.sampled_from(["1", "1", "2"]),
        "correlation": ids,
        **times,
    }
)


@st.composite
def runs(draw: st.DrawFn) -> Trace:
    """Steps with pauses between them, some shorter than their work, on devices of known sort."""
    length, pause = draw(st.integers(1, 25)) * SCALE, draw(st.integers(0, 15)) * SCALE
    steps = [
        {"step": number, "name": f"ProfilerStep#{number}", "pid": "1", "tid": "1"}
        | {"ts_ns": number * (length + pause), "dur_ns": length}
        for number in range(draw(st.integers(0, 3)))
    ]
    trace = trace_of(
        host=draw(st.lists(calls, max_size=8)),
        device=draw(st.lists(activities, max_size=10)),
        steps=steps,
    )
    devices = (Device(id=0, name="NVIDIA H200", compute_capability="9.0"),)
    return replace(trace, metadata=replace(trace.metadata, devices=devices))


def check(trace: Trace) -> None:
    length = average_step(trace).get("total_ns", 0.0)
    idle = idle_causes(trace)["idle_ns"].to_list()
    most_idle = max(idle, default=0) / max(1, complete_steps(trace).count)
    for finding in find_all(trace):
        assert 0 <= finding.share <= 1, finding
        assert 0 <= finding.cost_ns <= length, finding
        assert finding.between_ns >= 0, finding
        assert bool(finding.cost_ns + finding.between_ns) == bool(finding.gain_basis), finding
        for percent in re.findall(r"([\d.]+) %", finding.sentence):
            assert float(percent) <= 100, finding
        if finding.rule.startswith(IDLE_RULES) and finding.rule != NOT_IDLE and idle:
            assert finding.cost_ns <= most_idle, finding


@given(runs())
@patient
def test_shares_and_gains_of_random_runs(trace: Trace):
    with pytest.MonkeyPatch.context() as patch:
        # A few events are enough to speak up.
        patch.setattr(DeviceWorkLimits, "min_tiny_per_step", 1)
        patch.setattr(DeviceWorkLimits, "tiny_ns", 5 * SCALE)
        patch.setattr(DeviceWorkLimits, "min_waits_per_step", 1)
        check(trace)


@pytest.mark.parametrize("name", SOME_RECORDINGS)
def test_shares_and_gains_of_real_runs(shared_root: Path, name: str):
    check(recording(shared_root, name))


def test_without_marks_nothing_speaks_of_steps():
    events = [O("aten::mm", 0, 100_000)]
    for place in range(60):
        start = 1_000 * place
        events += [R(start, 5, c=place + 1), K("nchwToNhwcKernel", start + 10, 4, c=place + 1)]
    events += [R(90_000, 5, c=99), K("nchwToNhwcKernel", 90_010, 9_000, c=99)]
    findings = find_all(read(*events))
    assert {"tiny-kernels", "layout-conversions", "large-gaps"} <= {
        candidate.rule for candidate in findings
    }
    for finding in findings:
        assert not finding.marked
        assert "step" not in finding.sentence
        assert "of the recorded 100 ms" in finding.sentence
