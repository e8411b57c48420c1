"""How the time of a step divides."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given

import oracle
from cases import STEP, C, K, O, R, costs, read
from recordings import Recording, recordings
from timesink.analyses.steps import PARTS, average_step, step_breakdown


def test_a_moment_counts_once_for_what_comes_first():
    # The old plugin started again from the full step when kernels covered it.
    trace = read(
        STEP(1, 100, 100), K("gemm", 100, 100), C(120, 10, c=9), R(115, 10, c=8), O("mm", 110, 50)
    )
    assert costs(trace) == [[100, 0, 0, 0, 0, 0, 0, 0, 100]]


def test_device_work_outside_of_the_steps_does_not_count():
    trace = read(STEP(1, 100, 100), K("gemm", 50, 80, c=9), K("gemm", 190, 50, c=8))
    assert costs(trace)[0][0] == 30 + 10


def test_steps_that_overlap_count_fully_each():
    trace = read(STEP(1, 0, 100), STEP(2, 50, 100), O("mm", 60, 20))
    assert costs(trace) == [[0, 0, 0, 0, 0, 0, 20, 80, 100]] * 2


def test_a_step_without_length():
    assert costs(read(STEP(1, 100, 0), O("mm", 90, 20))) == [[0] * 9]
    assert average_step(read(STEP(1, 100, 0)))["total_ns"] == 0


def test_nothing():
    assert step_breakdown(read()).is_empty()
    assert average_step(read()) == {}


def test_the_average_is_over_complete_steps():
    complete_steps = [
        [STEP(n, 100 * n, 100), R(100 * n + 5, 5, c=n), K("gemm", 100 * n + 20, 10 * n, c=n)]
        for n in (1, 2)
    ]
    cut = STEP(3, 300, 50)
    trace = read(*complete_steps[0], *complete_steps[1], cut)
    assert step_breakdown(trace)["complete"].to_list() == [True, True, False]
    average = average_step(trace)
    assert (average["kernel_ns"], average["total_ns"]) == (15_000, 100_000)
    assert sum(average[f"{part}_ns"] for part in PARTS) == pytest.approx(average["total_ns"])


@given(recordings())
def test_breakdown_is_as_the_oracle_says(recording: Recording):
    trace = recording.trace
    breakdown = step_breakdown(trace)
    assert breakdown.select(
        *(f"{part}_ns" for part in PARTS), "total_ns"
    ).rows() == oracle.breakdown(trace)
    parts = breakdown.select(pl.sum_horizontal(f"{part}_ns" for part in PARTS)).to_series()
    assert parts.to_list() == breakdown["total_ns"].to_list()
