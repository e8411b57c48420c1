"""Printed units and their base units."""

from __future__ import annotations

import pytest

from timesink.formats.ncu.numbers import unit_of


@pytest.mark.parametrize(
    ("printed", "base", "power"),
    [
        ("ns", "ns", 0),
        ("nsecond", "ns", 0),
        ("us", "ns", 3),
        ("usecond", "ns", 3),
        ("ms", "ns", 6),
        ("msecond", "ns", 6),
        ("s", "ns", 9),
        ("second", "ns", 9),
        ("byte", "byte", 0),
        ("Kbyte", "byte", 3),
        ("Mbyte", "byte", 6),
        ("Gbyte", "byte", 9),
        ("Tbyte", "byte", 12),
        ("hz", "hz", 0),
        ("Khz", "hz", 3),
        ("Mhz", "hz", 6),
        ("Ghz", "hz", 9),
        ("%", "%", 0),
        ("inst", "inst", 0),
        ("cycle", "cycle", 0),
        ("SM", "SM", 0),
        ("", "", 0),
        ("inst/cycle", "inst/cycle", 0),
        ("register/thread", "register/thread", 0),
        ("Kbyte/block", "byte/block", 3),
        ("Gbyte/s", "byte/s", 9),
        ("Gbyte/second", "byte/s", 9),
        ("byte/nsecond", "byte/s", 9),
        ("cycle/nsecond", "hz", 9),
        ("cycle/usecond", "hz", 6),
        ("%/Kbyte", "%/byte", -3),
    ],
)
def test_units(printed: str, base: str, power: int) -> None:
    assert unit_of(printed) == (base, power)
