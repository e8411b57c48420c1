import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from timesink.comparison.exploration.groups import complete_linkage

THRESHOLD = 1.0


def _matrix(seed, size) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    half = np.triu(random.uniform(0, 2, (size, size)), 1)
    return half + half.T


def _joined_one_by_one(apart) -> set[frozenset[int]]:
    """Complete linkage as it is written in books."""
    groups = [{place} for place in range(len(apart))]
    while len(groups) > 1:
        far, first, other = min(
            (max(apart[a, b] for a in members for b in other), i, j)
            for i, members in enumerate(groups)
            for j, other in enumerate(groups)
            if i < j
        )
        if far >= THRESHOLD:
            break
        groups[first] |= groups.pop(other)
    return {frozenset(group) for group in groups}


def _partition(group) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(group == number).tolist()) for number in set(group.tolist())}


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_chains_of_neighbours_give_what_joining_the_nearest_gives(seed, size):
    apart = _matrix(seed, size)
    assert _partition(complete_linkage(apart, THRESHOLD)) == _joined_one_by_one(apart)


@given(st.integers(0, 2**32), st.integers(2, 12))
def test_the_order_does_not_matter(seed, size):
    apart = _matrix(seed, size)
    order = np.random.default_rng(seed).permutation(size)
    mixed = _partition(complete_linkage(apart[np.ix_(order, order)], THRESHOLD))
    back = {frozenset(int(order[place]) for place in group) for group in mixed}
    assert back == _partition(complete_linkage(apart, THRESHOLD))


def test_a_chain_of_near_ones_is_no_group():
    places = np.array([0.0, 0.6, 1.2, 1.8])
    apart = np.abs(places[:, None] - places)
    assert complete_linkage(apart, THRESHOLD).tolist() == [0, 0, 2, 2]


def test_equal_distances_come_to_an_end():
    assert complete_linkage(np.zeros((5, 5)), THRESHOLD).tolist() == [0] * 5
    assert complete_linkage(np.full((3, 3), 9.0), THRESHOLD).tolist() == [0, 1, 2]
