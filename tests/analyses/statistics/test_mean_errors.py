"""How far means of measurements that follow each other can be trusted."""

from __future__ import annotations

import numpy as np
import pytest

from timesink.analyses.statistics.autocorrelation import (
    cosines,
    pooled_autocorrelation,
    variance_of_mean,
)

NO_CORRELATION = np.array([0.0])


def noise(number: int, seed: int, correlation: float = 0.0, runs: int = 1) -> np.ndarray:
    """Measurements of which each resembles the one before, with a spread of 1."""
    values = np.random.default_rng(seed).normal(size=(number + 100, runs))
    for place in range(1, len(values)):
        values[place] *= np.sqrt(1 - correlation**2)
        values[place] += correlation * values[place - 1]
    return values[100:]


class TestLikeness:
    @pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6, 0.9])
    def test_long_runs_show_it(self, correlation: float):
        estimates = pooled_autocorrelation(
            [noise(3000, 1, correlation), noise(3000, 2, correlation)]
        )
        assert estimates[0] == pytest.approx(correlation, abs=0.05)

    def test_few_begin_with_what_is_common(self):
        estimates = [
            pooled_autocorrelation([noise(4, 2 * seed), noise(4, 2 * seed + 1)])[0]
            for seed in range(60)
        ]
        assert 0.25 < np.mean(estimates) < 0.5

    def test_what_does_not_scatter_is_not_alike(self):
        assert 0 <= pooled_autocorrelation([np.full((50, 1), 7.0), np.full((50, 1), 7.0)])[0] < 0.1


class TestVariance:
    def test_without_order_it_is_that_of_the_mean(self):
        values = noise(4000, 1)
        variance, freedom = variance_of_mean(values, NO_CORRELATION)
        assert variance[0] == pytest.approx(values.var(ddof=1) / 4000, rel=0.6)
        assert freedom[0] > 40

    @pytest.mark.parametrize("correlation", [0.3, 0.6, 0.8])
    def test_it_is_how_far_means_are_apart(self, correlation: float):
        runs = noise(40, 1, correlation, runs=300)
        variance, _ = variance_of_mean(runs, np.full(300, correlation))
        assert 0.8 < variance.mean() / runs.mean(axis=0).var() < 1.7

    def test_a_level_that_lasts_shows_though_neighbours_are_taken_for_unlike(self):
        step = np.repeat([[1.0], [2.0]], 20, axis=0)
        variance, freedom = variance_of_mean(step, NO_CORRELATION)
        assert variance[0] > 3 * step.var(ddof=1) / 40
        assert freedom[0] == 5

    @pytest.mark.parametrize("number", [2, 3, 7, 30, 101])
    def test_the_slow_part_is_that_of_the_first_cosines(self, number: int):
        trend = np.cos(np.pi * (np.arange(number) + 0.5) / number)[:, None]
        # All of it is in the first cosine, of which there are as many as degrees of freedom.
        expected = max((trend**2).sum() / cosines(number) / number, trend.var(ddof=1) / number)
        assert variance_of_mean(trend, NO_CORRELATION)[0][0] == pytest.approx(expected)

    def test_two_have_one_degree_of_freedom(self):
        variance, freedom = variance_of_mean(np.array([[1.0], [3.0]]), np.array([0.9]))
        assert variance[0] > 1
        assert freedom[0] == 1
