"""Which engine is meant, and what cannot be meant."""

from __future__ import annotations

import pytest

from timesink.errors import UsageError
from timesink.runtime.engine import LocalEngine, engine_of


def test_an_engine_stays_as_it_is() -> None:
    engine = LocalEngine(3)

    assert engine_of(engine) is engine


def test_unknown_engines_are_named() -> None:
    with pytest.raises(UsageError, match="there is no engine 'spark'") as caught:
        engine_of("spark")
    assert caught.value.hint == "choose one of local, ray"


def test_an_address_needs_the_engine_it_is_for() -> None:
    with pytest.raises(UsageError) as caught:
        engine_of("local", address="head:6379")
    assert "--engine ray" in caught.value.hint
