"""Numbers for people."""

from __future__ import annotations

import pytest

from timesink.model import units


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 us"),
        (1_000, "1.00 us"),
        (99_994, "99.99 us"),
        (99_996, "100.0 us"),
        (999_940, "999.9 us"),
        (999_960, "1.00 ms"),
        (999_940_000, "999.9 ms"),
        (999_960_000, "1.00 s"),
        (3_600_000_000_000, "3600.0 s"),
        (-1_500, "-1.50 us"),
        (-999_960, "-1.00 ms"),
    ],
)
def test_lengths_of_time_have_at_most_four_digits(nanoseconds: float, expected: str):
    assert units.duration_ns(nanoseconds) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (1024**3 - 1, "1.0 GiB"),
        (1024**4 - 1, "1.0 TiB"),
        (5000 * 1024**4, "5000.0 TiB"),
        (-512, "-512 B"),
    ],
)
def test_sizes_move_on_to_the_next_unit(size: int, expected: str):
    assert units.size_bytes(size) == expected


def test_moments_are_told_to_the_microsecond():
    assert units.moment_ns(1_234_567_891) == "1 234.568 ms"


@pytest.mark.parametrize(("part", "expected"), [(0, "0.0 %"), (1, "33.3 %"), (3, "100 %")])
def test_shares(part: int, expected: str):
    assert units.share(part, 3) == expected


def test_brief_times_are_rounded_once():
    assert units.brief_ns(59_945_216) == "59.9 ms"
    assert units.brief_ns(9_996_000) == "10.0 ms"
    assert units.brief_ns(999_960_000) == "1.00 s"


def test_one_of_many():
    assert units.count_noun(1, "module classes") == "1 module class"


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (50, 60, "20.0 % more work than its peers"),
        (50, 40, "20.0 % less work than its peers"),
        (5, 60, "12.0 times as much work as its peers"),
        (0, 60, "work that is only here"),
        (1e-6, 60, "work that is only here"),
    ],
)
def test_more_than_ten_times_is_a_factor_and_from_nothing_is_only_here(
    base: float, new: float, expected: str
):
    assert units.more(base, new, "work", "its peers") == expected


def test_no_change_is_told_in_thousands_of_percent():
    assert units.signed_pct(899.9) == "+900 %"
    assert units.signed_pct(6_001_663_284.3) == "> 1 000 000 x"
    assert units.interval_pct(-5, 3_100) == "-5.0 % to 32.0 x"
    assert units.interval_pct(-5, 31) == "-5.0 to +31.0 %"
