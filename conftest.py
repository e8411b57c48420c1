"""What holds for every test, in `tests` and in docstrings."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

_FOR_PYTORCH = [
    "src/timesink/lab/loads/*_copies.py",
    "src/timesink/lab/loads/device_*.py",
    *(
        f"src/timesink/lab/workloads/{name}.py"
        for name in ("denoise", "probe", "setting", "vit_train")
    ),
]
collect_ignore_glob = [] if importlib.util.find_spec("torch") else _FOR_PYTORCH
"""Programs for PyTorch are read for their examples only where it is installed."""


@pytest.fixture(scope="session")
def common_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for tests that read the same recordings again and again, in whichever process."""
    root = tmp_path_factory.getbasetemp()
    # Processes that run tests side by side have folders beside each other.
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "common-cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's cache."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
