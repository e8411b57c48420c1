"""Numbers of two sides beside each other."""

from __future__ import annotations

import pytest

from timesink.model.units import amount, amounts, chance, change, from_to, per_cycle


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (118687.5, "0.01 MHz", "1 187 MHz"),
        (0.264, "100 %", "26.4 %"),
        (4_750.0, "kB/s", "4.75 MB/s"),
        (0.0, "B/s", "0 B/s"),
        (1024.0, "KiB", "1.0 MiB"),
        (138_700.0, "mW", "139 W"),
        (0.00344, "%", "0.00344 %"),
        (999.9, "MHz", "1 000 MHz"),
        (12.0, None, "12"),
    ],
)
def test_a_counter_is_told_in_the_unit_it_is_in(value: float, unit: str | None, expected: str):
    assert amount(value, unit) == expected


def test_a_unit_of_several_words_is_said_once():
    assert amounts(103.2, 26.8, "% of a core") == "103 → 26.8 % of a core"


def test_units_that_differ_are_both_said():
    assert amounts(1.3e9, 2.4e13, "0.01 B/s") == "13.0 MB/s → 240 GB/s"


def test_plain_numbers_have_no_unit_to_share():
    assert from_to("1 187", "1 187") == "1 187 → 1 187"


def test_changes_are_factors_from_twice_on():
    assert [change(10, new) for new in (10, 15, 20, 5, 0)] == [
        "0 %",
        "+50.0 %",
        "2.0 x",
        "-50.0 %",
        "-100 %",
    ]


def test_chances_and_calls_are_as_precise_as_they_are():
    assert (chance(None), chance(0.05), per_cycle(1.667)) == ("-", "0.050", "1.67")
