"""What holds for every test, in `tests` and in docstrings."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's cache."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
