"""Small cases of what the helpers of answers.analysis give."""

from __future__ import annotations

import timesink
from timesink.answers.analysis.report import analyze_opened, missing_steps, step_choice


def test_step_choice() -> None:
    assert (step_choice(5), step_choice([5, 7]), step_choice("5-8, 10")) == ("5", "5,7", "5-8,10")


def test_missing_steps() -> None:
    assert missing_steps("3-6,99", ["3", "4", "8"]) == ["5-6", "99"]


def test_analyze_opened() -> None:
    trace = timesink.open(timesink.sample())
    assert analyze_opened(trace, path="run").path == "run"
