"""Small cases of what the helpers of model give."""

from __future__ import annotations

import numpy as np

from timesink.model.diagnosis import SteadyTimes
from timesink.model.findings import RunFinding, gravest_first
from timesink.model.intervals import enclosing_interval, resolve_overlaps
from timesink.model.units import (
    brief_ns,
    count,
    count_noun,
    duration_ns,
    interval_ns,
    join_names,
    moment_ns,
    number,
    ordinal,
    rate,
    share,
    size_bytes,
)
from timesink.model.vendors import device_memory_bytes


def test_steadytimes_change_pct() -> None:
    assert SteadyTimes(200.0, 210.0).change_pct == 5.0


def test_steadytimes_interval_pct() -> None:
    assert SteadyTimes(200.0, 210.0, (5.0, 15.0)).interval_pct == (2.5, 7.5)


def test_finding_severity() -> None:
    assert RunFinding("rule", "Sentence.", share=0.3).severity == "high"


def test_gravest_first() -> None:
    small, large = (RunFinding("a", "", share=share, cost_ns=9) for share in (0.01, 0.5))
    assert gravest_first([small, large])[0] is large


def test_first_come() -> None:
    rows, intervals = resolve_overlaps([[5, 12], [0, 10], [2, 4]])
    assert (rows.tolist(), intervals.tolist()) == ([1, 0], [[0, 10], [10, 12]])


def test_holding() -> None:
    assert enclosing_interval(
        np.array([1, 5, 30]), np.array([0, 4, 20]), np.array([3, 9, 30])
    ).tolist() == [
        0,
        1,
        -1,
    ]


def test_count() -> None:
    assert count(1137573) == "1 137 573"


def test_counted() -> None:
    assert (
        count_noun(1, "memory events"),
        count_noun(1, "copies"),
        count_noun(1200, "traces"),
    ) == (
        "1 memory event",
        "1 copy",
        "1 200 traces",
    )


def test_listed() -> None:
    assert (join_names(["rank 0", "rank 3"]), join_names(["a", "b", "c", "d"], most=2)) == (
        "rank 0, rank 3",
        "a, b and 2 more",
    )


def test_ordinal() -> None:
    assert (ordinal(2), ordinal(11), ordinal(23), ordinal(7)) == ("2nd", "11th", "23rd", "7th")


def test_number() -> None:
    assert (number(2749534.5), number(0.0000123), number(0.0)) == (
        "2 749 534.500",
        "1.23e-05",
        "0.000",
    )


def test_duration_ns() -> None:
    assert (duration_ns(480_029_179), duration_ns(1_500), duration_ns(0), duration_ns(83e9)) == (
        "480.0 ms",
        "1.50 us",
        "0 ns",
        "83.00 s",
    )
    assert duration_ns(999_960_000) == "1.00 s"


def test_moment_ns() -> None:
    assert (moment_ns(12_345_678), moment_ns(0)) == ("12.346 ms", "0.000 ms")


def test_brief_ns() -> None:
    assert (brief_ns(59_261_833), brief_ns(4_240_000), brief_ns(177_592_167)) == (
        "59.3 ms",
        "4.24 ms",
        "178 ms",
    )


def test_size_bytes() -> None:
    assert (size_bytes(34084028416), size_bytes(512), size_bytes(1024**2 - 1)) == (
        "31.7 GiB",
        "512 B",
        "1.0 MiB",
    )


def test_share() -> None:
    assert (share(149.042, 8911.887), share(1, 0)) == ("1.7 %", "-")


def test_rate() -> None:
    assert (rate(989.5e12, "FLOP"), rate(4.8e12, "B"), rate(999_999, "B")) == (
        "989.5 TFLOP/s",
        "4.80 TB/s",
        "1.00 MB/s",
    )


def test_interval_ns() -> None:
    assert interval_ns(5_000_000.0, 5_600_000.0) == "+5.00 to +5.60 ms"


def test_memory_of_devices_is_in_bytes_whatever_it_was_written_in() -> None:
    assert device_memory_bytes({"totalMem(MiB)": 3}) == 3 * 1024**2
    assert device_memory_bytes({"totalGlobalMem": 5}) == 5
    assert device_memory_bytes({"totalGlobalMem": -1}) is None
