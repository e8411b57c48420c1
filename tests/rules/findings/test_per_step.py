"""What rules measure against."""

from __future__ import annotations

import numpy as np
import pytest

from cases import STEP, K, O, R, read
from timesink.rules.steps import complete_steps

US = 1000


def test_only_what_is_inside_complete_steps_counts_and_overlaps_count_once():
    steps = complete_steps(read(STEP(1, 0, 100), STEP(2, 200, 100)))
    ranges = np.array([[50, 150], [60, 80], [290, 790]]) * US
    assert steps.per_step_ns(ranges) == (50 + 10) * US / 2
    assert steps.hold(np.array([99, 100, 150, 200, 300]) * US).tolist() == [1, 0, 0, 1, 0]


def test_a_cut_step_does_not_count():
    trace = read(STEP(1, 0, 100), R(1, 1, c=1), K("a", 5, 10, c=1), STEP(2, 100, 70))
    assert (complete_steps(trace).count, complete_steps(trace).length_ns) == (1, 100 * US)


@pytest.mark.parametrize(
    ("events", "step_words", "a_step"),
    [
        ([STEP(1, 0, 100), STEP(2, 100, 300)], "each 200 us step", " a step"),
        ([O("mm", 0, 100)], "the recorded 100 us", ""),
    ],
)
def test_in_words(events: list[dict], step_words: str, a_step: str):
    steps = complete_steps(read(*events))
    assert (steps.step_phrase, steps.a_step) == (step_words, a_step)


def test_nothing_to_measure():
    for trace in (read(), read(STEP(1, 0, 0))):
        steps = complete_steps(trace)
        assert steps.length_ns == 0
        assert steps.per_step_ns(np.array([[0, 10]])) == 0
        assert not steps.hold(np.array([0])).any()
