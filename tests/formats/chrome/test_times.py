"""Timestamps keep every nanosecond, however they are written."""

from __future__ import annotations

import json
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import damage, rows
from builders import BASE_NS, kernel, kineto, operator, to_bytes
from timesink.formats.chrome.columns import NULL_INT, float_us_to_ns, text_us_to_ns


def with_times(*events: tuple[str, str]) -> bytes:
    """A trace of operators whose times are written exactly like this."""
    written = [
        f'{{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":2,"ts":{ts},"dur":{dur}}}'
        for ts, dur in events
    ]
    return ('{"traceEvents":[' + ",".join(written) + "]}").encode()


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        ("1794701473054949.011", 1794701473054949011),
        ("1794701473054949.999", 1794701473054949999),
        ("1794701473054949", 1794701473054949000),
        ('"1794701473054949.011"', 1794701473054949011),
        ("3844466275784.391", 3844466275784391),
        ("8796093022207.999", 8796093022207999),
        ("8796093022208.001", 8796093022208001),
        ("0", 0),
        ("0.001", 1),
        ("-5.25", -5250),
        ("1.5e3", 1_500_000),
    ],
)
def test_every_written_nanosecond_is_kept(read, ts, expected):
    trace = read(with_times((ts, "1.25")))
    assert rows(trace.host, "ts_ns", "dur_ns") == [(expected, 1250)]


def test_ways_of_writing_may_be_mixed(read):
    trace = read(
        with_times(("1794701473054949.011", "0.5"), ("1794701473054950", '"3.5"'), ('"7"', "0.001"))
    )
    assert rows(trace.host, "ts_ns", "dur_ns") == [
        (1794701473054949011, 500),
        (1794701473054950000, 3500),
        (7000, 1),
    ]
    assert damage(trace) == {}


def test_a_long_recording_does_not_round_its_late_events(read):
    """The first piece fits a float; an event after it does not."""
    early, late = ("12.345", "1"), ("1794701473054949.011", "1")
    trace = read(with_times(*[early] * 50, late))
    assert trace.host["ts_ns"].to_list() == [12345] * 50 + [1794701473054949011]


def test_relative_times_count_from_the_base_of_the_trace(read):
    trace = read(kineto([operator("op", 4203669.123, 1.5)], baseTimeNanoseconds=BASE_NS))
    assert rows(trace.host, "ts_ns", "dur_ns") == [(BASE_NS + 4203669123, 1500)]
    assert (trace.metadata.clock, trace.metadata.clock_offset_ns) == ("unix", BASE_NS)


def test_the_base_may_follow_the_events(read):
    document = {"traceEvents": [kernel("k", 1, 2, 3)], "baseTimeNanoseconds": str(BASE_NS)}
    assert rows(read(document).device, "ts_ns") == [(BASE_NS + 1000,)]


def test_without_a_base_small_times_are_monotonic(read):
    trace = read(kineto([operator("op", 10, 1)]))
    assert (trace.metadata.clock, trace.metadata.clock_offset_ns) == ("monotonic", 0)


def test_a_base_beyond_all_clocks_is_reported_and_not_used(read):
    trace = read(kineto([operator("op", 10, 1)], baseTimeNanoseconds=10**30))
    assert rows(trace.host, "ts_ns") == [(10_000,)]
    assert damage(trace) == {"bad_metadata": 1}


def test_a_time_that_would_leave_64_bits_is_reported(read):
    event = operator("late", 9_223_372_036_854_775, 1)
    trace = read(kineto([operator("op", 10, 1), event], baseTimeNanoseconds=BASE_NS))
    assert rows(trace.host, "ts_ns") == [(BASE_NS + 10_000,)]
    assert damage(trace)["impossible_time"] == 1


@pytest.mark.parametrize("ts", ["1e400", "1e999999999", "9" * 400, "9223372036854775.808", "-9e18"])
def test_times_that_no_clock_shows_are_missing(read, ts):
    trace = read(with_times((ts, "1"), ("5", "1")))
    assert rows(trace.host, "ts_ns") == [(5000,)]
    assert damage(trace) == {"missing_ts": 1}


@pytest.mark.parametrize("ts", ["9000000000000000", "-2000000000000000"])
def test_a_start_centuries_away_is_a_fault_of_the_clock(read, ts):
    trace = read(with_times((ts, "1"), ("5", "1")))
    assert rows(trace.host, "ts_ns") == [(5000,)]
    assert damage(trace) == {"impossible_time": 1}


def test_a_span_never_leaves_64_bits(read):
    """It was told as `recorded -74.62 us`, and as memory that ran out."""
    longest = "9223372036854775"
    trace = read(with_times((longest, longest), ("-9100000000000000", "5"), ("5", longest)))
    assert rows(trace.host, "ts_ns", "dur_ns") == [(5000, 0)]
    assert damage(trace) == {"impossible_time": 3}


# -- the conversion itself, against exact decimals -----------------------------------------------


def exact_ns(text: str) -> int:
    return int((Decimal(text) * 1000).to_integral_value(ROUND_HALF_EVEN))


def written_us(most_whole: int) -> st.SearchStrategy[str]:
    """Microseconds as text with up to three decimals, and now and then a sign."""
    return st.builds(
        lambda sign, integer, decimals: f"{sign}{integer}{decimals}",
        st.sampled_from(["", "", "-"]),
        st.integers(0, most_whole),
        st.from_regex(r"(\.[0-9]{1,3})?", fullmatch=True),
    )


@given(st.lists(written_us(most_whole=9_223_372_036_854_774), max_size=20))
def test_text_is_converted_exactly(texts):
    expected = [exact_ns(text) for text in texts]
    assert text_us_to_ns([text.encode() for text in texts]).tolist() == expected


@given(st.lists(written_us(most_whole=2**43 - 1), min_size=1, max_size=20))
def test_floats_below_the_limit_are_converted_exactly(texts):
    values = np.array([json.loads(text) for text in texts], np.float64)
    assert float_us_to_ns(values).tolist() == [exact_ns(text) for text in texts]


@given(st.lists(st.floats(), max_size=20))
def test_any_float_gives_a_time_or_none(values):
    converted = float_us_to_ns(np.array(values, np.float64)).tolist()
    for value, ns in zip(values, converted, strict=True):
        # Decimal, because the product of the floats may itself be off by more than half a ns.
        assert ns == NULL_INT or abs(Decimal(value) * 1000 - ns) <= Decimal("0.5001")


@given(st.lists(st.text(max_size=40).map(lambda text: json.dumps(text).encode()), max_size=10))
def test_texts_that_are_no_numbers_are_missing(texts):
    for text, ns in zip(texts, text_us_to_ns(texts).tolist(), strict=True):
        assert ns == NULL_INT or float(json.loads(text)) * 1000 == pytest.approx(ns, rel=1e-12)


@given(st.lists(st.sampled_from([b"null", b"[1,2]", b"{}", b"true", b"12", b'"3,5"']), max_size=8))
def test_values_of_other_types_do_not_disturb_their_neighbours(texts):
    converted = text_us_to_ns(texts).tolist()
    assert converted == [12000 if text == b"12" else NULL_INT for text in texts]


def test_whole_microseconds_survive_any_layout(read):
    document = kineto([operator("op", 1621401187223197, 121), operator("op", 1, 2.5)])
    for indent in (None, 2):
        trace = read(to_bytes(document, indent=indent))
        assert rows(trace.host, "ts_ns") == [(1621401187223197000,), (1000,)]
