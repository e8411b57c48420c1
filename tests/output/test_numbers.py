"""Numbers in words, by their kind."""

from __future__ import annotations

import pytest

from timesink.output.blocks import Kind
from timesink.output.numbers import change_text, number_text


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1500, "time_ns", "1.50 us"),
        (0.5, "share", "50.0 %"),
        (2.6, "count", "3"),
        (None, "bytes", "-"),
        (float("nan"), "number", "-"),
    ],
)
def test_a_number_has_its_unit(value: float | None, kind: Kind, expected: str):
    assert number_text(value, kind) == expected


def test_changes_have_a_sign_unless_they_round_to_nothing():
    assert change_text(1500, "time_ns") == "+1.50 us"
    assert change_text(-0.231, "share") == "-23.1 %"
    assert change_text(-0.0001, "share") == "0.0 %"
    assert change_text(None, "share") == "-"
