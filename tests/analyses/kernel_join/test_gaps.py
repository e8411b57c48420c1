"""Launches between two that have their places."""

from __future__ import annotations

import numpy as np

from timesink.analyses.kernels.join_alignment import Launches, fill_by_name, fill_by_order


def launches(function: list[int], kind: list[int] | None = None, family: int = -1) -> Launches:
    functions = np.array(function)
    return Launches(np.array(kind or function), functions, np.full(len(functions), family))


class TestByName:
    def test_between_sure_ones(self):
        ours, theirs = launches([1, 2, 3], [10, 99, 30]), launches([1, 2, 3], [10, 20, 30])
        assert fill_by_name(np.array([0, -1, 2]), ours, theirs, 1.0).tolist() == [0, 1, 2]

    def test_not_in_a_gap_of_another_size(self):
        ours, theirs = launches([1, 2, 3]), launches([1, 5, 5, 2, 3])
        assert fill_by_name(np.array([0, -1, 4]), ours, theirs, 1.0).tolist() == [0, -1, 4]
        assert fill_by_name(np.array([0, -1, 4]), ours, theirs, 2.0).tolist() == [0, 3, 4]

    def test_not_at_the_ends(self):
        ours = launches([1, 2, 3])
        assert fill_by_name(np.array([-1, 1, -1]), ours, ours, 1.0).tolist() == [-1, 1, -1]

    def test_not_in_long_gaps(self):
        ours = launches(list(range(30)))
        place = np.full(30, -1)
        place[[0, 29]] = [0, 29]
        assert fill_by_name(place, ours, ours, 1.0).tolist() == place.tolist()

    def test_another_kernel_of_the_family_in_its_stead(self):
        ours, theirs = launches([1, 7, 3], family=4), launches([1, 2, 3], family=4)
        assert fill_by_name(np.array([0, -1, 2]), ours, theirs, 1.0).tolist() == [0, 1, 2]
        stranger = launches([1, 7, 3], family=5)
        assert fill_by_name(np.array([0, -1, 2]), stranger, theirs, 1.0).tolist() == [0, -1, 2]
        unknown = launches([1, 7, 3]), launches([1, 2, 3])
        assert fill_by_name(np.array([0, -1, 2]), *unknown, 1.0).tolist() == [0, -1, 2]


class TestByOrder:
    def test_streams_in_another_order(self):
        ours, theirs = launches([1, 2, 3, 4]), launches([1, 3, 2, 4])
        assert fill_by_order(np.array([0, 2, -1, 3]), ours, theirs).tolist() == [0, 2, 1, 3]

    def test_a_place_is_taken_once(self):
        ours, theirs = launches([1, 2, 2, 4]), launches([1, 2, 4])
        assert fill_by_order(np.array([0, 1, -1, 2]), ours, theirs).tolist() == [0, 1, -1, 2]

    def test_the_nearest_one(self):
        ours, theirs = launches([1, 2, 3]), launches([2, *[5] * 10, 2, 1, 3])
        assert fill_by_order(np.array([12, -1, 13]), ours, theirs).tolist() == [12, 11, 13]

    def test_far_from_everything(self):
        ours = launches(list(range(100)))
        place = np.full(100, -1)
        place[0] = 0
        filled = fill_by_order(place, ours, ours)
        assert filled[:32].tolist() == list(range(32))
        assert (filled[32:] == -1).all()
        nothing = np.full(100, -1)
        assert fill_by_order(nothing, ours, ours).tolist() == nothing.tolist()
