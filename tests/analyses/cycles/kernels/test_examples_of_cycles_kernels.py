"""Small examples of what analyses.cycles.kernels computes."""

from __future__ import annotations

import numpy as np

from timesink.analyses.cycles.kernel_period import cut_at, in_order, kinds_of_parts, likeness_by_lag


def test_kinds_of_parts() -> None:
    assert kinds_of_parts(
        np.array([0, 1, 2, 0, 3, 0, 2, 1, 0]), np.array([0, 3, 5, 8])
    ).tolist() == [0, 1, 0]


def test_cut_at() -> None:
    beat = np.array([0, 1, 2] * 4)
    assert cut_at(beat, np.ones(3) / 3, np.array([0, 3, 6, 9]), 0).score == 0.75


def test_in_order() -> None:
    assert in_order(np.array([0, 1, 2, 3, 0, 1, 3, 2]), np.array([0, 4, 8])) == 0.75


def test_likeness_by_lag() -> None:
    beat = likeness_by_lag(np.array([0, 1, 1, 1, 2] * 40))
    assert (bool(beat[5] > 0.9), bool(beat[1] < 0.6)) == (True, True)
