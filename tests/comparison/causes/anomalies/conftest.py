"""Fixtures for tests of anomalies."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def kept_recordings(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are read once for all of these."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))
