"""Where in a cycle the thread that marks it spends its time."""

from __future__ import annotations

import polars as pl
from hypothesis import given

from behaviours import Row, call, cycles_at, trace_of_rows
from timelines import patient, random_traces
from timesink.analyses.behaviour.recorded_anatomy import anatomies
from timesink.model.trace import Trace

Place = tuple[int, str | None, str | None, str | None, int, int]


def mark(ts: int, dur: int) -> Row:
    return call("step", ts, dur, "annotation")


def places(trace: Trace, *spans: tuple[int, int]) -> list[Place]:
    (anatomy,) = anatomies(trace, cycles_at(*spans)).values()
    return anatomy.places.drop("ts_ns").rows()


def test_time_lies_in_calls_between_calls_and_at_both_ends() -> None:
    host = [mark(0, 100), call("a", 10, 40), call("b", 20, 10), call("c", 60, 10)]
    assert places(trace_of_rows(host), (0, 100)) == [
        (1, None, None, "a", 1, 10),
        (1, "a", None, "b", 1, 10),
        (1, "b", None, None, 1, 10),
        (1, "a", "b", None, 1, 20),
        (1, None, "a", "c", 1, 10),
        (1, "c", None, None, 1, 10),
        (1, None, "c", None, 1, 30),
    ]


def test_places_of_the_same_sort_are_counted_in_each_cycle() -> None:
    host = [mark(0, 50), mark(50, 50)]
    host += [call("a", ts, 5) for ts in (0, 10, 20, 50, 60)]
    place_rows = [
        row for row in places(trace_of_rows(host), (0, 50), (50, 100)) if row[2:4] == ("a", "a")
    ]
    assert [(row[0], row[4]) for row in place_rows] == [(1, 1), (1, 2), (2, 1)]


def test_small_places_are_left_out_unless_they_matter_in_another_cycle() -> None:
    host = [mark(0, 10_000), mark(10_000, 10_000)]
    host += [call("a", 0, 5_000), call("b", 5_001, 4_999)]
    host += [call("a", 10_000, 5_000), call("b", 15_900, 4_100)]
    place_rows = places(trace_of_rows(host), (0, 10_000), (10_000, 20_000))
    assert [row[0] for row in place_rows if row[2] == "a"] == [1, 2]
    single_rows = places(trace_of_rows(host[:1] + host[2:4]), (0, 10_000))
    assert [row[1] for row in single_rows] == ["a", "b"]


def test_frames_around_the_cycle_are_none_and_objects_have_no_address() -> None:
    host = [
        mark(10, 80),
        call("main.py(1): main", 0, 1000, "python_function"),
        call("<built-in method item of Tensor object at 0x7f00>", 20, 30, "python_function"),
    ]
    assert [row[1:4] for row in places(trace_of_rows(host), (10, 90))] == [
        (None, None, "<built-in method item of Tensor object>"),
        ("<built-in method item of Tensor object>", None, None),
        (None, "<built-in method item of Tensor object>", None),
    ]


def test_what_works_in_the_stead_of_the_thread_is_no_gap() -> None:
    host = [mark(0, 100), call("loss", 0, 50), call("backward", 60, 40, tid="2")]
    assert [row[1:4] for row in places(trace_of_rows(host), (0, 100))] == [
        ("loss", None, None),
        (None, "loss", "backward"),
        ("backward", None, None),
    ]


def test_calls_that_cross_others_break_nothing() -> None:
    host = [mark(0, 100), call("a", 0, 50), call("b", 25, 50)]
    place_rows = places(trace_of_rows(host), (0, 100))
    assert sum(row[5] for row in place_rows) == 100
    assert [row[1] for row in place_rows] == [None, "b", None]


def test_cycles_of_no_thread_have_no_places() -> None:
    (anatomy,) = anatomies(
        trace_of_rows([call("a", 0, 50)]), cycles_at((0, 100), on_device=True)
    ).values()
    assert anatomy.places.is_empty()


@patient
@given(random_traces)
def test_places_never_take_longer_than_the_cycle(trace: Trace) -> None:
    marked = trace_of_rows([mark(0, 20), mark(20, 40)])
    host = pl.concat([trace.host, marked.host], how="diagonal_relaxed")
    full = Trace(trace.metadata, (), {**trace.frames, "host": host.lazy()})
    (anatomy,) = anatomies(full, cycles_at((0, 20), (20, 60))).values()
    sums = dict(anatomy.places.group_by("cycle").agg(pl.col("dur_ns").sum()).iter_rows())
    # In cycles as short as these every place matters.
    assert sums == {1: 20, 2: 40}
