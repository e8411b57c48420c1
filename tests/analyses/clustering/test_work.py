"""Exact counts of calls tell roles apart however few cycles there are."""

from __future__ import annotations

import numpy as np

from programs import batch, role
from timesink.comparison.exploration.features import measure
from timesink.comparison.exploration.groups import exact_calls, explore, unlike_work


def test_a_model_with_half_as_many_layers_again_is_another():
    exploration = explore([role([batch(12)] * 3, "deep"), role([batch(8)] * 3, "flat")])
    assert len(exploration.clusters) == 2
    assert (
        "different amount of work: 0.667 times the calls per step" in exploration.clusters[1].apart
    )


def test_the_same_model_is_not():
    assert len(explore([role([batch(12)] * 3, "a"), role([batch(12)] * 9, "b")]).clusters) == 1


def test_counts_that_vary_are_not_exact():
    calls = exact_calls(measure([role([batch(n) for n in (4, 9, 12, 7)]), role([batch(8)] * 4)]))
    assert np.isnan(calls[0]).sum() == 4
    assert not unlike_work(calls).any()


def test_one_kind_that_differs_is_no_other_amount():
    calls = np.log2([[12.0, 24, 48, 36], [24, 24, 48, 36]])
    assert not unlike_work(calls).any()
