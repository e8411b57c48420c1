"""Single long gaps in the work of a device."""

from __future__ import annotations

import pytest

from cases import DATA_LOADER, STEP, K, O, R, read
from timesink.answers.analysis.finding_values import evidence_json
from timesink.model.trace import Trace
from timesink.rules.idle import large_gaps


def gap(us: int, *more_events: dict, length: int = 10_000) -> Trace:
    """A step with one gap of this length, from 1000 us on."""
    launches = [R(0, 5, c=1), R(1000 + us - 10, 5, c=2)]
    first, second = K("first", 10, 990, c=1), K("second", 1000 + us, length - 1000 - us, c=2)
    return read(STEP(5, 0, length), *launches, first, second, *more_events)


def test_share_gain_and_evidence():
    (finding,) = large_gaps(gap(2000, O("saving", 1000, 1900)))
    assert (finding.rule, finding.severity) == ("large-gaps", "high")
    assert finding.share == pytest.approx(0.2)
    assert finding.cost_ns == 2_000_000
    (seen,) = (evidence_json(item) for item in finding.evidence)
    assert (seen["kind"], seen["gap_us"], seen["start_ns"]) == ("gap", 2000, 1_000_000)
    assert seen["name"] == "in step 5 from first to second, host in saving"


@pytest.mark.parametrize(("us", "finding_count"), [(999, 0), (1000, 1)])
def test_a_millisecond_is_needed(us: int, finding_count: int):
    assert len(large_gaps(gap(us))) == finding_count


@pytest.mark.parametrize(("us", "finding_count"), [(4999, 0), (5000, 1)])
def test_and_a_twentieth_of_a_long_step(us: int, finding_count: int):
    assert len(large_gaps(gap(us, length=100_000))) == finding_count


def test_fetching_data_and_communication_are_findings_of_their_own():
    assert large_gaps(gap(2000, O(DATA_LOADER, 1000, 1900))) == []
    assert large_gaps(gap(2000, O("gloo:all_reduce", 1000, 1900))) == []


def test_gaps_outside_of_the_steps_do_not_count():
    trace = read(STEP(1, 0, 1000), R(0, 5, c=1), K("a", 10, 990, c=1), K("b", 9000, 100, c=9))
    assert large_gaps(trace) == []


def test_a_gap_counts_as_far_as_it_lies_in_steps():
    events = []
    for number in (1, 2):
        start = 1_000_000 * number
        events += [STEP(number, start, 10_000), O("train", start, 10_000)]
        launches = [R(start, 5, c=2 * number), R(start + 7000, 5, c=2 * number + 1)]
        kernels = [("a", start + 10, 990, 2 * number), ("b", start + 8000, 100, 2 * number + 1)]
        events += [*launches, *(K(name, ts, dur, c=c) for name, ts, dur, c in kernels)]
    (finding,) = large_gaps(read(*events))
    # 7 ms in each step; 1.9 ms after the last kernel of the first step; none between the steps.
    assert finding.cost_ns == pytest.approx((2 * 7000 + 1900) * 1000 / 2)
    assert "lasts 7.00 ms, in step 1" in finding.sentence


def test_of_several_devices_the_worst_counts():
    more_events = [R(1, 2, c=7), K("x", 10, 100, c=7, device=1), R(9, 2, c=8)]
    (finding,) = large_gaps(gap(2000, *more_events, K("y", 9000, 1000, c=8, device=1)))
    assert finding.cost_ns == 8_890_000


def test_no_device_work():
    assert large_gaps(read(STEP(1, 0, 9000), O("mm", 0, 50))) == large_gaps(read()) == []
