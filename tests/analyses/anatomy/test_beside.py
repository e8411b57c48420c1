"""Counters that were sampled beside a behaviour table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from behaviours import samples
from timesink.analyses.behaviour.anatomy import CYCLE_SPANS
from timesink.analyses.behaviour.counters import levels_beside, rounds
from timesink.model.schema import COUNTERS

SECOND = 1_000_000_000
CYCLES = pl.DataFrame(
    [(1, 0, 50 * SECOND), (2, 50 * SECOND, 50 * SECOND)], CYCLE_SPANS, orient="row"
)


def every_second(many: int, pause_after: int = 0, pause: int = 0) -> list[int]:
    return [(n + (pause if n > pause_after else 0)) * SECOND for n in range(many)]


def beside(
    counter: str, times: list[int], value: float = 5.0
) -> tuple[list[tuple[int, str, float]], tuple[str, ...]]:
    rows = [row for ts in times for row in samples(counter, {ts: value}, None)]
    counters = pl.DataFrame(rows, schema=COUNTERS.schema, strict=False)
    levels, notes = levels_beside(counters, CYCLES, "7")
    return levels.select("cycle", "metric", "value").rows(), notes


def of_devices(many: int, times: list[int]) -> list[int]:
    return [ts + device * 1_000 for ts in times for device in range(many)]


# -- rounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pause", [0, 1, 5, 600])
def test_a_pause_of_the_sampler_makes_no_rounds(pause: int) -> None:
    times = np.array(every_second(100, 40, pause))
    assert rounds(times).tolist() == list(range(100))


@pytest.mark.parametrize("pause", [0, 5, 600])
def test_samples_of_all_devices_are_a_round(pause: int) -> None:
    times = np.array(of_devices(4, every_second(20, 10, pause)))
    assert rounds(times).tolist() == [number for number in range(20) for _ in range(4)]


@pytest.mark.parametrize("times", [[], [5], [5, 5], [0, 7]])
def test_few_samples(times: list[int]) -> None:
    assert len(rounds(np.array(times, dtype=np.int64))) == len(times)


@given(st.lists(st.integers(0, 10**12), max_size=40))
def test_rounds_are_numbered_in_order(times: list[int]) -> None:
    round_numbers = rounds(np.sort(np.array(times, dtype=np.int64)))
    assert set(np.diff(round_numbers).tolist()) <= {0, 1}
    assert round_numbers[:1].tolist() in ([], [0])


# -- levels ----------------------------------------------------------------------------------------


def test_one_device_is_taken_as_it_is_whatever_pauses_there_are() -> None:
    times = every_second(95, 40, 5)
    rates, _ = beside("net_rx_rate", times)
    assert [value for *_, value in rates] == [5.0, 5.0]
    shares, notes = beside("disk_usage", times)
    assert [value for *_, value in shares] == [5.0, 5.0]
    assert notes == ()


def test_traffic_of_several_devices_adds_up() -> None:
    level_rows, notes = beside("net_rx_rate", of_devices(3, every_second(100)))
    assert level_rows == [(1, "net_rx_rate", 15.0), (2, "net_rx_rate", 15.0)]
    assert notes == ()


def test_shares_of_several_devices_are_left_out_and_named() -> None:
    level_rows, (note,) = beside("disk_usage", of_devices(3, every_second(100)))
    assert level_rows == []
    assert "several devices" in note
    assert "disk_usage" in note


def test_rounds_of_changing_size_do_not_add_up() -> None:
    second = every_second(100)
    mixed = sorted(of_devices(3, second[::2]) + of_devices(2, second[1::2]))
    level_rows, (note,) = beside("net_rx_rate", mixed)
    assert level_rows == []
    assert "net_rx_rate" in note


def test_a_round_that_is_not_whole_is_left_out() -> None:
    level_rows, _ = beside("net_rx_rate", of_devices(3, every_second(100))[:-1])
    assert [value for *_, value in level_rows] == [15.0, 15.0]


def test_a_counter_of_the_process_stands_in_for_a_mixed_one_of_the_host() -> None:
    rows = [
        row for ts in of_devices(2, every_second(100)) for row in samples("usage", {ts: 1}, None)
    ]
    rows += [row for ts in every_second(100) for row in samples("usage", {ts: 9.0}, "pid 7")]
    counters = pl.DataFrame(rows, schema=COUNTERS.schema, strict=False)
    levels, notes = levels_beside(counters, CYCLES, "7")
    assert levels["value"].to_list() == [9.0, 9.0]
    assert notes == ()
