"""Time that passes between steps while no device works."""

from __future__ import annotations

import pytest

from cases import DATA_LOADER, STEP, K, O, R, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.idle import between_steps, time_between
from timesink.rules.run_findings import find_all


def trace_with_pauses(us: int, *in_first_pause: dict) -> Trace:
    """Three busy steps of 2 ms, this long apart."""
    events = []
    for number in range(3):
        start = number * (2000 + us)
        events += [STEP(number, start, 2000), O("train", start, 2000)]
        events += [R(start, 5, c=number + 1), K("gemm", start + 10, 1990, c=number + 1)]
    return read(*events, *in_first_pause)


def test_share_gain_and_evidence():
    (finding,) = between_steps(trace_with_pauses(1000, O("save", 2000, 500)))
    assert (finding.rule, finding.severity) == ("between-steps", "high")
    assert finding.share == pytest.approx(2 / 8)
    assert (finding.cost_ns, finding.between_ns) == (0, 1_000_000)
    (gap,) = (evidence_json(item) for item in finding.evidence)
    assert gap == {
        "kind": "gap",
        "name": "between two steps",
        "cpu_exec_us": 250,
        "other_us": 750,
    }


def test_such_time_is_not_lost_inside_the_steps():
    rules = [finding.rule for finding in find_all(trace_with_pauses(1_000_000))]
    assert rules == ["between-steps"]


@pytest.mark.parametrize(("us", "finding_count"), [(333, 0), (334, 1)])
def test_a_tenth_of_the_time_is_needed(us: int, finding_count: int):
    assert len(between_steps(trace_with_pauses(us))) == finding_count


def test_device_work_between_steps_is_no_pause():
    assert (
        between_steps(trace_with_pauses(500, K("evaluate", 2000, 500), K("evaluate", 4500, 400)))
        == []
    )


def test_fetching_data_is_gained_under_its_own_heading():
    loading = [O(DATA_LOADER, 2000, 900), O(DATA_LOADER, 5000, 900)]
    load, between = find_all(trace_with_pauses(1000, *loading))
    assert (load.rule, load.cost_ns, load.between_ns) == ("data-loading", 0, 900_000)
    assert load.share == pytest.approx(1800 / 8000)
    assert (between.rule, between.between_ns) == ("between-steps", 100_000)
    assert between.share == pytest.approx(0.25)


def test_one_step_has_nothing_between():
    for trace in (read(), read(STEP(1, 0, 100)), read(O("mm", 0, 100))):
        assert time_between(trace).idle_ns == 0
        assert between_steps(trace) == []
