"""Steps that wait for their batch."""

from __future__ import annotations

import pytest

from cases import DATA_LOADER, STEP, K, O, R, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.idle import data_loading


def loading_trace(us: int) -> Trace:
    """Two steps of 1 ms; the second one fetches twice as long as the first."""
    events = []
    for number in (1, 2):
        start = 1000 * number
        events += [STEP(number, start, 1000), O(DATA_LOADER, start, number * us)]
        events += [R(start + 500, 5, c=number), K("gemm", start + 600, 300, c=number)]
    return read(*events)


def test_share_gain_and_evidence():
    (finding,) = data_loading(loading_trace(100))
    assert (finding.rule, finding.severity) == ("data-loading", "medium")
    assert finding.share == pytest.approx(0.15)
    assert finding.cost_ns == 150_000
    calls, step = (evidence_json(item) for item in finding.evidence)
    assert calls == {"kind": "call", "name": DATA_LOADER, "calls": 2, "total_us": 300}
    assert step == {"kind": "step", "name": "2", "data_loader_us": 200, "step_us": 1000}


def test_only_fetching_that_keeps_the_device_idle_counts():
    trace = read(STEP(1, 0, 1000), O(DATA_LOADER, 0, 900), K("gemm", 0, 900))
    assert data_loading(trace) == []


@pytest.mark.parametrize(("us", "finding_count"), [(33, 0), (34, 1)])
def test_five_percent_are_needed(us: int, finding_count: int):
    assert len(data_loading(loading_trace(us))) == finding_count


def test_no_steps():
    assert data_loading(read()) == data_loading(read(STEP(1, 0, 0))) == []
