import numpy as np
from numpy.typing import NDArray

from many_roles import one_role
from timesink.comparison.exploration.features import (
    Feature,
    Levels,
    Measures,
    doublings,
    least_scatter,
    measure,
    null_levels,
    role_levels,
)


def _levels(*roles: list[float]) -> Levels:
    """Levels of roles with one feature, given cycle by cycle."""
    owners = np.repeat(np.arange(len(roles)), [len(role) for role in roles])
    return role_levels(np.concatenate(roles)[:, None].astype(float), owners)


def test_one_cycle_in_eight_may_be_out_of_the_ordinary():
    levels = _levels([-9, 4, 4.1, 3.9, 4, 4.1, 3.9, 4])
    assert abs(levels.mean[0, 0] - 4) < 0.1
    assert levels.error[0, 0] < 0.2


def test_drift_widens_the_error():
    steady = _levels([1, 2] * 6).error[0, 0]
    drifting = _levels([1] * 6 + [2] * 6).error[0, 0]
    assert steady < 0.3
    assert drifting >= 0.5


def test_few_cycles_are_less_sure_than_many():
    values = [1.0, 1.5, 0.5, 1.2, 0.8, 1.0]
    assert _levels(values).error[0, 0] > 2 * _levels(values * 5).error[0, 0]


def test_a_role_that_scarcely_scatters_by_chance_is_not_believed():
    single_error = _levels([2.0, 2.0, 2.0]).error[0, 0]
    beside = _levels([2.0, 2.0, 2.0], [1, 3, 2, 1, 3, 2], [3, 1, 2, 3, 2, 1]).error[0, 0]
    assert beside > 3 * single_error


def test_snapshots_of_the_moment_are_believed_only_when_there_are_many():
    least = least_scatter([Feature("metric", "gpu_sm_util", 1), Feature("metric", "clock", 1)])
    errors = [
        role_levels(np.full((cycles, 2), 5.0), np.zeros(cycles, dtype=np.int64), least).error[0]
        for cycles in (3, 30)
    ]
    assert errors[0][0] > 0.9
    assert errors[1][0] < 0.6
    assert errors[0][1] < 0.1


def test_an_unknown_feature_has_no_level():
    levels = _levels([np.nan, np.nan], [1.0, 2.0])
    assert np.isnan(levels.mean[0, 0])
    assert np.isnan(levels.error[0, 0])
    assert levels.mean[1, 0] == 1.5


def test_parts_of_a_role_are_its_even_and_odd_cycles_and_its_halves():
    logs = np.array([[1.0], [5.0], [1.0], [5.0], [7.0]])
    (even, odd), (early, late) = null_levels(logs, np.zeros(5, dtype=np.int64))
    assert [part.mean[0, 0] for part in (even, odd, early, late)] == [3.0, 5.0, 7 / 3, 6.0]


def test_one_cycle_has_no_second_part():
    pairs = null_levels(np.array([[1.0]]), np.zeros(1, dtype=np.int64))
    assert all(np.isnan(second.mean[0, 0]) for _, second in pairs)


def test_work_far_below_the_cycle_hardly_counts():
    measures = measure([one_role(0), one_role(1, {"cudaStreamSynchronize": 5.0})])
    sync = [feature.kind + feature.name for feature in measures.features].index("timecpu_sync")
    levels: Levels = role_levels(doublings(measures), measures.owners)
    assert abs(levels.mean[0, sync] - levels.mean[1, sync]) < 0.1


def test_a_level_without_a_known_unit_is_seen_against_the_usual_one():
    measures = measure([one_role(0), one_role(1)])
    unknown = Measures(
        tuple(
            type(feature)(feature.kind, feature.name, feature.place, "furlong")
            for feature in measures.features
        ),
        measures.values * 1e-9,
        measures.owners,
        measures.devices,
    )
    columns = [feature.kind == "metric" for feature in unknown.features]
    assert not np.isnan(_metric_logs(unknown, columns)).any()


def _metric_logs(measures, columns) -> NDArray[np.float64]:
    features = tuple(
        feature for feature, keep in zip(measures.features, columns, strict=True) if keep
    )
    return doublings(Measures(features, measures.values[:, columns], measures.owners, ()))
