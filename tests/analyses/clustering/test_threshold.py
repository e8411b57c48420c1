import numpy as np
from numpy.typing import NDArray

from timesink.comparison.exploration.features import Feature
from timesink.comparison.exploration.groups import MAX, allowances, threshold_reason

FEATURES = (Feature("metric", "gpu_util", 1), Feature("time", "gemm", 1))


def _null(*roles: tuple[float, float]) -> NDArray[np.float64]:
    """One way of parting the roles, two features."""
    return np.array([roles])


def test_a_feature_in_which_parts_differ_is_taken_with_care():
    assert allowances(_null((0.0, 0.0), (0.4, 0.0))).tolist() == [0.4, 0.0]


def test_a_role_that_changed_does_not_hide_what_others_do():
    null = _null((4.0, 0.0), (0.0, 0.0))
    assert allowances(null)[0] == MAX
    assert threshold_reason(null, FEATURES, ["a", "b"]).endswith("a changed during the recording")


def test_one_of_many_roles_does_not_decide():
    null = np.zeros((2, 200, 2))
    null[0, 7, 0] = 0.9
    assert allowances(null).tolist() == [0.0, 0.0]


def test_many_unsteady_roles_are_counted():
    null = _null(*[(4.0, 0.0)] * 5)
    reason = threshold_reason(null, FEATURES, list("abcde"))
    assert reason.endswith("a, b, c and 2 more changed during the recording")


def test_nothing_to_part():
    null = np.full((2, 2, 2), np.nan)
    assert allowances(null).tolist() == [0.0, 0.0]
    assert "no process has enough steps" in threshold_reason(null, FEATURES, ["a", "b"])
