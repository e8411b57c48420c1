"""Which sides are parts of one run."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from timesink.comparison.results import Process
from timesink.comparison.steps.verdict import are_parts_of_one_run

LENGTHS = [100, 130, 90, 110, 100, 120, 105, 95, 100, 115, 100, 100]


def run(start: int = 5_000, pid: str = "7", host: str | None = None, source: str = "a") -> Process:
    starts = [start + sum(LENGTHS[:place]) + 3 * place for place in range(len(LENGTHS))]
    numbers = range(1, len(LENGTHS) + 1)
    table = pl.DataFrame({"cycle": numbers, "cycle_ts_ns": starts, "cycle_dur_ns": LENGTHS})
    return Process(source, source, pid, table, host)


def part(full_run: Process, numbers: range, source: str = "part") -> Process:
    rows = full_run.behaviour.filter(pl.col("cycle").is_in(list(numbers)))
    return replace(full_run, source=source, behaviour=rows)


@pytest.mark.parametrize(
    ("base", "new"),
    [
        (range(1, 7), range(7, 13)),
        (range(7, 13), range(1, 7)),
        (range(1, 13, 2), range(2, 13, 2)),
        (range(1, 5), range(8, 13)),
        (range(1, 13), range(1, 13)),
        (range(1, 13), range(4, 8)),
        (range(1, 8), range(5, 13)),
    ],
)
def test_parts_touch_interleave_or_are_the_same(base: range, new: range):
    full_run = run()
    assert are_parts_of_one_run(part(full_run, base, "a"), part(full_run, new, "b"))


def test_a_pause_makes_another_run():
    assert not are_parts_of_one_run(run(), run(start=50_000))


def test_clocks_that_start_anew_do_not_make_one_run():
    later = run()
    rows = later.behaviour.with_columns(pl.col("cycle_dur_ns") * 2)
    assert not are_parts_of_one_run(run(), replace(later, behaviour=rows))
    assert not are_parts_of_one_run(run(), run(start=5_040))


@pytest.mark.parametrize("other", [{"pid": "8"}, {"host": "b"}])
def test_another_process_is_another_run(other: dict):
    full_run = run(host="a")
    assert not are_parts_of_one_run(
        part(full_run, range(1, 7)), replace(part(full_run, range(7, 13)), **other)
    )


def test_without_times_the_file_says_so():
    unknown = run().behaviour.with_columns(cycle_ts_ns=pl.lit(None, pl.Int64))
    first, other = (replace(run(source=name), behaviour=unknown) for name in ("a", "b"))
    assert are_parts_of_one_run(first, first)
    assert not are_parts_of_one_run(first, other)


def test_a_process_without_a_number_is_nobody():
    assert not are_parts_of_one_run(run(pid=""), run(pid=""))


def starting_again(full_run: Process, pause: int, pid: str) -> Process:
    """The same cycles later, with numbers from 1 on, as another run or file has them."""
    spans = full_run.behaviour
    last = spans["cycle_ts_ns"][-1] + spans["cycle_dur_ns"][-1]
    later = pl.col("cycle_ts_ns") - spans["cycle_ts_ns"][0] + last + pause
    return replace(
        full_run, source="later", pid=pid, behaviour=spans.with_columns(cycle_ts_ns=later)
    )


@pytest.mark.parametrize("pid", ["1", "7", "424"])
def test_a_number_that_every_container_gives_does_not_make_one_run(pid: str):
    first = run(pid=pid)
    assert not are_parts_of_one_run(first, starting_again(first, 200, pid))
    assert not are_parts_of_one_run(starting_again(first, 200, pid), first)


def test_files_of_which_one_goes_on_where_the_other_ends_are_one_run():
    first = run(pid="1")
    assert are_parts_of_one_run(first, starting_again(first, 4, "1"))


def test_a_number_that_comes_rarely_tells_the_process():
    first = run(pid="48211")
    assert are_parts_of_one_run(first, starting_again(first, 200, "48211"))


def test_other_programs_are_not_one_run():
    full_run = run()
    base, new = (
        replace(full_run, behaviour=full_run.behaviour.with_columns(function=pl.lit(name)))
        for name in ("f", "g")
    )
    assert are_parts_of_one_run(base, base)
    assert not are_parts_of_one_run(base, new)


def test_the_very_same_cycles_hold_the_same_work():
    full_run = run()
    base, new = (
        replace(full_run, behaviour=full_run.behaviour.with_columns(function=pl.Series(names * 3)))
        for names in (["step", "launch", "mm", "gemm"], ["step", "launch", "conv", "winograd"])
    )
    assert are_parts_of_one_run(base, base)
    assert not are_parts_of_one_run(base, new)
