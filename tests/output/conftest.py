"""The bundled recording, analysed once."""

from __future__ import annotations

import pytest

import timesink
from timesink.answers.analysis.report import Analysis


@pytest.fixture(scope="session")
def sample_analysis() -> Analysis:
    return timesink.analyze(timesink.sample())
