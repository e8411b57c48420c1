"""What single slow steps spend their time on."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from timesink.comparison.causes.slow_steps import CycleSplit, SlowCycle, excesses
from timesink.comparison.results import Process

SPLIT = CycleSplit((1, 2, 3), (4, 5), (), (), (), 100.0)


def role_of(**times: list[int]) -> Process:
    """Times of functions in five cycles; the last two take 150 more."""
    lengths = [100, 100, 100, 250, 250]
    rows = [
        {"cycle": cycle, "function": name, "device": "Host", "dur_ns": spent, "cycle_dur_ns": long}
        for name, durations in times.items()
        for cycle, (spent, long) in enumerate(zip(durations, lengths, strict=True), 1)
    ]
    return Process("run", "run.csv", "7", pl.DataFrame(rows))


def test_a_function_that_holds_the_excess_is_named_for_its_cycle():
    role = role_of(stall=[10, 12, 11, 160, 10], rest=[80, 80, 80, 85, 230])
    assert excesses(role, SPLIT) == [
        SlowCycle(4, 150.0, "stall", "Host", 160.0, 12.0),
        SlowCycle(5, 150.0, "rest", "Host", 230.0, 80.0),
    ]


def test_a_slowdown_of_everything_names_nothing():
    role = role_of(a=[30, 30, 30, 75, 75], b=[30, 30, 30, 75, 75], c=[30, 30, 30, 75, 75])
    assert excesses(role, SPLIT) == []


def test_a_function_that_is_always_long_is_not_named():
    assert excesses(role_of(a=[90, 90, 90, 170, 170]), SPLIT) == []


def test_a_new_function_is_named_once_whatever_counters_it_has():
    role = role_of(new=[0, 0, 0, 140, 0])
    role = Process("run", "run.csv", "7", pl.concat([role.behaviour, role.behaviour]))
    assert [excess.cycle for excess in excesses(role, SPLIT)] == [4]


def test_the_mark_of_a_cycle_explains_nothing():
    role = role_of(step=[10, 12, 11, 160, 160])
    marked = replace(role, behaviour=role.behaviour.with_columns(anchor=pl.lit("step")))
    assert [excess.function for excess in excesses(role, SPLIT)] == ["step", "step"]
    assert excesses(marked, SPLIT) == []
