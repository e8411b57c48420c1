"""Small examples of what analyses.clustering computes."""

from __future__ import annotations

import numpy as np

from timesink.comparison.exploration.features import Feature, Levels, _kind_of, _student_widening
from timesink.comparison.exploration.groups import (
    allowances,
    complete_linkage,
    sure_differences,
    threshold_reason,
    times_the_work,
    unlike_work,
)


def test_sure_differences() -> None:
    first = Levels(np.array([[3.0, 1.0]]), np.array([[0.1, 0.1]]))
    other = Levels(np.array([[5.0, 1.1]]), np.array([[0.0, 0.1]]))
    assert repr(sure_differences(first, other)) == "array([[1.7, 0. ]])"


def test_kind_of() -> None:
    assert (_kind_of("sm80_gemm_bf16_64x5", "gpu_compute"), _kind_of("oncpu", "oncpu")) == (
        "gemm",
        "oncpu",
    )


def test_widened() -> None:
    assert repr(_student_widening(np.array([5, 12, 1000])).round(2)) == "array([1.73, 1.25, 1.  ])"


def test_linked() -> None:
    assert (
        repr(complete_linkage(np.array([[0.0, 0.2, 5.0], [0.2, 0.0, 5.0], [5.0, 5.0, 0.0]]), 1.0))
        == "array([0, 0, 2])"
    )


def test_allowances() -> None:
    assert (
        repr(allowances(np.array([[[0.0, 0.2, np.nan], [0.0, 3.0, np.nan]]])))
        == "array([0., 1., 0.])"
    )


def test_threshold_reason() -> None:
    assert (
        threshold_reason(np.array([[[0.1], [0.0]]]), [Feature("metric", "gpu_util", 1)], ["a", "b"])
        == "a factor of 1.5 beyond the differences within one process (2 pairs; "
        "gpu_util up to 1.07 x)"
    )


def test_unlike_work() -> None:
    assert unlike_work(np.log2([[12.0, 24, 48], [8, 16, 32], [12, 25, 48]])).astype(
        int
    ).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_times_the_work() -> None:
    assert times_the_work(np.log2([[12.0, 24, 48], [8, 16, 32]]), 1, 0).__round__(3) == 1.5
