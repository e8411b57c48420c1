"""How busy the devices were, and of what the ratios are taken."""

from __future__ import annotations

from typing import Any

import pytest

from builders import complete, kineto, process_labels
from cases import STEP, C, K, O, R, S, read, read_document
from timesink.analyses.columns import device_numbers
from timesink.analyses.device_utilisation import (
    device_utilisation,
    kernel_devices,
    sm_efficiency_intervals,
)
from timesink.analyses.kernels.table import kernel_groups, kernel_table
from timesink.model.trace import Trace

US = 1000


def busy(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    return device_utilisation(trace).select(columns).rows()


# -- what ratios are taken of ----------------------------------------------------------------------


def two_steps_with_a_gap() -> Trace:
    """Steps of 100 us with 50 us between them; 60 and 40 us of kernels in them, 10 in the gap."""
    return read(
        STEP(1, 0, 100),
        R(5, 1, c=1),
        K("a", 20, 60, c=1),
        K("between", 110, 10, c=9),
        STEP(2, 150, 100),
        R(155, 1, c=2),
        K("a", 160, 40, c=2),
        C(210, 20, c=3),
        S(225, 10, c=4),
    )


def test_utilisation_is_taken_of_the_time_from_first_to_last_step():
    assert busy(two_steps_with_a_gap(), "window_ns", "utilisation") == [(250 * US, 110 / 250)]


def test_utilisation_within_steps_leaves_gaps_out():
    assert busy(two_steps_with_a_gap(), "steps_ns", "within_steps") == [(200 * US, 100 / 200)]


def test_copies_and_memsets_count_as_any_activity():
    # The copy and the memset overlap by 5 us.
    assert busy(two_steps_with_a_gap(), "any_activity") == [((110 + 25) / 250,)]


def test_a_step_cut_by_the_end_of_the_recording_is_left_out():
    trace = read(
        STEP(1, 0, 100),
        *(R(10 + place, 1, c=place) for place in range(1, 11)),
        *(K("a", 10 * place, 5, c=place) for place in range(1, 11)),
        STEP(2, 200, 100),
        R(210, 1, c=11),
        K("a", 220, 5, c=11),
        *(R(220 + place, 1, c=20 + place) for place in range(9)),
    )
    # The first step lasts until its last kernel ends, at 105.
    assert busy(trace, "window_ns", "utilisation") == [(105 * US, 50 / 105)]


def test_a_window_without_length_has_no_ratios():
    trace = read(STEP(1, 100, 0), K("a", 200, 10, c=1))
    assert busy(trace, "window_ns", "utilisation", "within_steps", "sm_efficiency") == [
        (0, None, None, None)
    ]


def test_overlapping_kernels_count_once():
    trace = read(STEP(1, 0, 100), R(1, 1, c=1), K("a", 10, 50, c=1), K("b", 20, 60, c=1))
    assert busy(trace, "utilisation") == [(70 / 100,)]


# -- devices ---------------------------------------------------------------------------------------


def test_one_row_per_device_that_ran_kernels():
    trace = read(
        STEP(1, 0, 100),
        R(1, 1, c=1),
        K("a", 10, 50, c=1, device=100),
        K("b", 10, 20, c=1, device=3),
        C(10, 20, c=2, device=5),
    )
    assert busy(trace, "device", "utilisation") == [(3, 0.2), (100, 0.5)]


def test_no_kernels_no_rows():
    assert device_utilisation(read(STEP(1, 0, 100), C(10, 20, c=1))).is_empty()
    assert kernel_devices(read(O("aten::add", 0, 10))) == []


def test_device_comes_from_the_process_where_no_argument_tells():
    events = [
        complete("kernel", "a", 10, 5, pid=4242, tid=7),
        complete("kernel", "b", 20, 5, pid=2, tid=7),
        complete("kernel", "c", 30, 5, pid="somewhere", tid=7),
        process_labels(4242, "GPU 6"),
    ]
    assert device_numbers(read_document(kineto(events))).tolist() == [6, 2, -1]


# -- multiprocessors, occupancy, tensor cores ------------------------------------------------------


def sized_kernel(
    ts: int, dur: int, blocks: float | None, occupancy: float | None = None, c: int = 1
):
    arguments = {"blocks per SM": blocks, "est. achieved occupancy %": occupancy}
    return K(
        "a", ts, dur, c=c, **{name: value for name, value in arguments.items() if value is not None}
    )


def test_kernels_together_use_all_multiprocessors_at_most():
    trace = read(
        STEP(1, 0, 100),
        R(1, 1, c=1),
        sized_kernel(10, 20, 0.75),
        sized_kernel(20, 20, 0.5),
        sized_kernel(50, 10, 8.0),
        sized_kernel(70, 10, 0),
        sized_kernel(80, 10, None),
        sized_kernel(90, 0, 0.5),
    )
    pieces = sm_efficiency_intervals(trace, 0)
    lengths = (pieces["end_ns"] - pieces["start_ns"]) / US
    assert list(zip(lengths, pieces["value"], strict=True)) == [
        (10, 0.75),
        (10, 1.0),
        (10, 0.5),
        (10, 1.0),
    ]
    assert busy(trace, "sm_efficiency") == [((7.5 + 10 + 5 + 10) / 100,)]


def test_nothing_is_left_over_between_kernels():
    """Blocks that cannot be added without rounding still sum to nothing when all have ended."""
    trace = read(
        STEP(1, 0, 100),
        R(1, 1, c=1),
        sized_kernel(0, 10, 0.1),
        sized_kernel(5, 10, 0.2),
        sized_kernel(30, 5, 0.3),
    )
    starts = sm_efficiency_intervals(trace, 0)["start_ns"]
    assert ((starts - starts[0]) / US).to_list() == [0, 5, 10, 30]


def test_occupancy_weighs_what_lies_inside_the_window():
    trace = read(
        sized_kernel(0, 100, None, 10, c=9),
        STEP(1, 50, 100),
        R(60, 1, c=1),
        sized_kernel(100, 30, None, 50),
        sized_kernel(130, 10, None),
    )
    # 50 us of the first kernel are inside, all 30 us of the second, and the third says nothing.
    assert busy(trace, "occupancy_pct") == [((10 * 50 + 50 * 30) / 80,)]


def test_kernels_without_an_estimate_do_not_lower_the_occupancy():
    # A profiler writes 0 for kernels it knows nothing about.
    trace = read(
        STEP(1, 0, 100), R(1, 1, c=1), sized_kernel(10, 20, 1, 60), sized_kernel(40, 40, 1, 0)
    )
    assert busy(trace, "occupancy_pct") == [(60,)]
    assert kernel_table(trace)["occupancy_pct"].to_list() == [60]
    assert device_utilisation(trace, zeros=True)["occupancy_pct"].to_list() == [20]


def test_occupancy_is_unknown_where_no_kernel_has_an_estimate():
    trace = read(STEP(1, 0, 100), R(1, 1, c=1), sized_kernel(10, 20, 1, 0))
    assert busy(trace, "occupancy_pct") == [(None,)]
    assert kernel_table(trace)["occupancy_pct"].to_list() == [None]
    assert kernel_groups(trace)["occupancy_pct"].to_list() == [None]


def test_tensor_core_ratio():
    outside = read(STEP(1, 0, 100), R(1, 1, c=1), K("nvjet_", 10, 5, c=1))
    assert busy(outside, "tensor_core_ratio") == [(1.0,)]
    assert device_utilisation(outside, zeros=True)["tensor_core_ratio"].to_list() == [None]
    one_of_two = read(
        O("aten::mm", 0, 100, x=1),
        R(1, 1, c=1, x=1),
        K("nvjet_", 10, 5, c=1, x=1),
        K("nvjet_", 10, 5, c=9, device=1),
    )
    former = device_utilisation(one_of_two, zeros=True)["tensor_core_ratio"].to_list()
    assert (former, busy(one_of_two, "tensor_core_ratio")) == ([1.0, 0.0], [(1.0,), (1.0,)])


@pytest.mark.parametrize(
    ("names", "ratio"),
    [
        (("nvjet_", "fc-dtype_Float"), 0.5),
        (("softmax_warp_forward",), 0.0),
        (("softmax_warp_forward", "fc-dtype_Float"), None),
        (("nvjet_", "fc-dtype_Float", "own_kernel"), None),
    ],
)
def test_tensor_cores_are_unknown_where_names_do_not_tell(names, ratio):
    kernels = [K(name, 10 + 10 * place, 5, c=1) for place, name in enumerate(names)]
    assert busy(read(STEP(1, 0, 100), R(1, 1, c=1), *kernels), "tensor_core_ratio") == [(ratio,)]


# -- real recordings -------------------------------------------------------------------------------
