"""Recordings that are analysed once: the bundled one, and generated runs of several ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from rank_sets import HereEngine
from timesink.answers.analysis.report import Analysis
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler

LATE = Plan(ranks=8, steps=4, layers=1, seed=2, stragglers=(Straggler("data_loading", rank=5),))


@pytest.fixture(scope="module", autouse=True)
def _small_runs(reads_here: None) -> None:
    """They are read faster than processes start."""


@pytest.fixture(scope="session")
def sample_analysis() -> Analysis:
    return timesink.analyze(timesink.sample())


@pytest.fixture(scope="session")
def late(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Rank 5 loads data longer than the others; rank 6 is missing, rank 7 damaged."""
    folder = tmp_path_factory.mktemp("late")
    generate_ranks(LATE, folder)
    (folder / "rank6.pt.trace.json.gz").unlink()
    damaged = folder / "rank7.pt.trace.json.gz"
    damaged.write_bytes(b"nothing")
    return timesink.analyze(folder, engine=HereEngine())


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder: Path = tmp_path_factory.mktemp("healthy")
    generate_ranks(Plan(ranks=4, steps=4, layers=1, seed=1), folder)
    return timesink.analyze(folder, engine=HereEngine())
