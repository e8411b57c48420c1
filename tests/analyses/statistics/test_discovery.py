"""p-values where many things are tested."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.statistics.significance import false_discovery


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_as_published(p):
    values = np.array(p)
    assert false_discovery(values) == pytest.approx(scipy.stats.false_discovery_control(values))


def test_what_was_not_tested_counts_for_nothing():
    q_values = false_discovery(np.array([0.02, np.nan, 0.04]))
    assert q_values.tolist() == pytest.approx([0.04, np.nan, 0.04], nan_ok=True)


def test_nothing_tested():
    assert false_discovery(np.array([])).tolist() == []
