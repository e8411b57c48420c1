"""What a rank takes by itself, and when it waits for others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.ranks.own_time import (
    ON_DEVICE,
    ON_HOST,
    OWN_PARTS,
    find_blocked_ranges,
    own_time,
)
from timesink.model import intervals

SPANS = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 40)), max_size=8).map(
    lambda spans: np.array(
        [(start, start + long) for start, long in spans], dtype=np.int64
    ).reshape(-1, 2)
)


def test_who_stops_until_a_collective_is_over_waited_for_it():
    working = np.array([[0, 10], [30, 40]])
    assert find_blocked_ranges(working, np.array([[10, 28]])).tolist() == [[10, 28]]


def test_who_goes_on_beside_a_collective_did_not_wait_for_it():
    working = np.array([[0, 10], [12, 20]])
    assert find_blocked_ranges(working, np.array([[5, 100]])).tolist() == [[20, 100]]


def test_without_a_device_all_communication_is_waiting():
    assert find_blocked_ranges(np.zeros((0, 2), dtype=np.int64), np.array([[3, 9]])).tolist() == [
        [3, 9]
    ]


@given(working=SPANS, moving=SPANS)
def test_waiting_is_communication_beside_no_work(working: np.ndarray, moving: np.ndarray):
    merged = intervals.merge(working)
    blocked_ranges = find_blocked_ranges(merged, moving)
    assert intervals.coverage(intervals.intersect(blocked_ranges, merged)) == 0
    assert intervals.coverage(intervals.subtract(blocked_ranges, intervals.merge(moving))) == 0


@given(kernel=SPANS, loading=SPANS, calls=SPANS, moving=SPANS)
def test_parts_and_waiting_add_up_to_the_step(
    kernel: np.ndarray, loading: np.ndarray, calls: np.ndarray, moving: np.ndarray
):
    nothing = np.zeros((0, 2), dtype=np.int64)
    roles = dict.fromkeys((*ON_DEVICE, *ON_HOST), nothing)
    roles |= {"kernel": kernel, "data_loader": loading, "cpu_exec": calls}
    bounds = np.array([[0, 100], [100, 300]])
    time_parts = own_time(roles, moving, bounds)
    waited = intervals.coverage_within(time_parts.exposed, bounds)
    total = waited + sum(time_parts.parts[part] for part in OWN_PARTS)
    assert total.tolist() == [100, 200]
