"""What stragglers cost, by playing the run without them, beside what generated runs know."""

from __future__ import annotations

import numpy as np
import pytest

from generated_sets import TWOS, generated_set, slow_set_and_truth
from timesink.analyses.ranks.replay import WithoutRank


def test_half_of_all_ranks_may_be_slow():
    run, truth = slow_set_and_truth("slow_node")
    stragglers = run.analysis.stragglers
    assert {straggler.rank for straggler in stragglers} == {4, 5, 6, 7}
    cost = np.median([straggler.cost_ns for straggler in stragglers]) / 1e3
    assert cost == pytest.approx(truth.answers[0].cost_us, rel=0.2)


def test_the_run_as_it_was_takes_as_long_as_it_took():
    run, truth = generated_set(seed=5, **TWOS)
    score = WithoutRank(run.analysis.collectives, run.analysis.clocks).score
    assert score is not None
    nobody = np.array([], dtype=np.int64)
    assert score.cost_together(nobody) == 0
    assert score.recorded / 1e3 == pytest.approx(truth.run_us, rel=0.02)
    assert score.is_like_the_run
