import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesink.comparison.exploration.features import Levels
from timesink.comparison.exploration.groups import distances, sure_differences
from timesink.comparison.thresholds import GroupsLimits


def _levels(seed, roles=6, features=5) -> Levels:
    random = np.random.default_rng(seed)
    mean = random.normal(0, 3, (roles, features))
    mean[random.uniform(size=mean.shape) < 0.2] = np.nan
    return Levels(mean, np.where(np.isnan(mean), np.nan, random.uniform(0, 0.5, mean.shape)))


def _row(levels, role) -> Levels:
    return Levels(levels.mean[[role]], levels.error[[role]])


@given(st.integers(0, 2**32))
def test_every_pair_is_as_far_as_its_most_different_feature(seed):
    levels = _levels(seed)
    apart, _ = distances(levels)
    for first, other in np.ndindex(apart.shape):
        if first != other:
            sure = sure_differences(_row(levels, first), _row(levels, other))[0]
            finite = sure[~np.isnan(sure)]
            assert apart[first, other] == (
                finite.max() if finite.size else GroupsLimits.nothing_shared
            )


@given(st.integers(0, 2**32), st.permutations(range(6)))
def test_distances_move_with_the_roles(seed, order):
    levels = _levels(seed)
    apart, plain = distances(levels)
    mixed, mixed_plain = distances(Levels(levels.mean[order], levels.error[order]))
    assert (mixed == apart[np.ix_(order, order)]).all()
    assert (mixed_plain == plain[np.ix_(order, order)]).all()


def test_one_doubling_that_is_sure_is_a_distance_of_one():
    apart, _ = distances(Levels(np.array([[3.0], [4.0]]), np.zeros((2, 1))))
    assert apart.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_what_errors_explain_is_no_distance():
    apart, plain = distances(Levels(np.array([[3.0], [4.0]]), np.full((2, 1), 0.3)))
    assert apart.max() == 0
    assert plain.max() == 1


def test_a_feature_one_role_does_not_know_is_left_out():
    mean = np.array([[1.0, 2.0], [np.nan, 2.0]])
    apart, _ = distances(Levels(mean, np.zeros((2, 2))))
    assert apart.max() == 0
