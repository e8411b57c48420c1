"""The anatomy that goes with the cycles of a role."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from behaviour_rows import behaviour, role_of
from timesink.analyses.behaviour.anatomy import (
    CYCLE_SPANS,
    LAUNCHES,
    PART_TIMES,
    PLACE_TIMES,
    Anatomy,
    only_cycles,
)
from timesink.analyses.behaviour.counters import LEVELS
from timesink.comparison.steps.sides import anatomy_of_role, with_matching_devices


def four_cycles() -> Anatomy:
    """Cycles of 10 ns with 2 ns between them."""
    numbers = (1, 2, 3, 4)
    return Anatomy(
        parts=pl.DataFrame(
            [(number, "host_cpu", None, 10.0) for number in numbers], PART_TIMES, orient="row"
        ),
        places=pl.DataFrame(
            [(number, None, "a", "b", 1, 12 * number, 5) for number in numbers],
            PLACE_TIMES,
            orient="row",
        ),
        levels=pl.DataFrame(
            [(number, "load", "GPU 7", "%", 10.0 * number) for number in numbers],
            LEVELS,
            orient="row",
        ),
        hardware={"GPU 7": "NVIDIA A100"},
        cycles=pl.DataFrame(
            [(number, 12 * number, 10) for number in numbers], CYCLE_SPANS, orient="row"
        ),
        launches=pl.DataFrame(
            [(number, "sgemm", 2, 8.0, 0.0) for number in numbers], LAUNCHES, orient="row"
        ),
    )


def cycle(number: int, start: int, length: int) -> dict[str, int]:
    return {"cycle": number, "cycle_ts_ns": start, "cycle_dur_ns": length}


def test_without_a_timeline_the_table_tells() -> None:
    anatomy = anatomy_of_role(role_of(behaviour({"dur_ns": 100})))
    assert not anatomy.from_timeline
    assert anatomy.parts["dur_ns"].sum() == 1_000


def test_only_the_cycles_of_the_role_are_left() -> None:
    table = behaviour(cycle(1, 12, 10), cycle(3, 36, 10))
    anatomy = anatomy_of_role(role_of(table, anatomy=four_cycles()))
    assert anatomy.parts["cycle"].to_list() == [1, 3]
    assert anatomy.cycles["cycle"].to_list() == [1, 3]


def test_cycles_that_were_put_together_are_put_together() -> None:
    table = behaviour(cycle(1, 12, 22), cycle(2, 36, 22))
    anatomy = anatomy_of_role(role_of(table, anatomy=four_cycles()))
    assert anatomy.parts.select("cycle", "part", "dur_ns").rows() == [
        (1, "host_cpu", 20.0),
        (1, "idle", 2.0),
        (2, "host_cpu", 20.0),
        (2, "idle", 2.0),
    ]
    assert anatomy.places["occurrence"].to_list() == [1, 2, 1, 2]
    assert anatomy.levels["value"].to_list() == [15.0, 35.0]
    assert anatomy.launches.rows() == [(1, "sgemm", 4, 16.0, 0.0), (2, "sgemm", 4, 16.0, 0.0)]


def test_devices_are_renamed_with_those_of_the_role() -> None:
    base = role_of(behaviour({"device": "GPU 0"}))
    new = replace(role_of(behaviour({"device": "GPU 7"}), "new"), anatomy=four_cycles())
    anatomy = with_matching_devices(base, new)[0].anatomy
    assert anatomy is not None
    assert anatomy.levels["device"].unique().to_list() == ["GPU 0"]
    assert anatomy.hardware == {"GPU 0": "NVIDIA A100"}


def test_only_cycles_takes_any_numbers() -> None:
    anatomy = only_cycles(four_cycles(), iter([2, 2, 9]))
    assert anatomy.places["cycle"].to_list() == [2]
