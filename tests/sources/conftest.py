"""Fixtures of the tests of the cache and of opening."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from timesink.sources import opening


@pytest.fixture
def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After this is called, only the cache can give a trace."""

    def fail(path: object, _options: object) -> None:
        pytest.fail(f"{path} was read although the cache has it")

    return lambda: monkeypatch.setattr(opening, "read_trace", fail)
