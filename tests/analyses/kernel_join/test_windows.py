"""Stretches of a timeline to compare with."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.kernels.join_alignment import find_period, windows_of

STEP = [*range(20, 28), *[1, 2, 3, 2, 4] * 12, *range(10, 16)]


def test_marked_steps_in_order():
    steps = pl.Series([None, "3", "3", None, "4", "4"], dtype=pl.Categorical)
    windows = windows_of(np.arange(6), np.array([0, 1, 2, 4]), steps)
    assert [(window.step, window.rows.tolist()) for window in windows] == [
        ("3", [1, 2]),
        ("4", [4]),
    ]


def test_where_nothing_is_marked_a_step_is_what_repeats():
    function = np.array(STEP[-20:] + STEP * 4)
    rows = np.arange(5, 5 + len(function))
    everything = np.append(np.full(5, 99), function)
    windows = windows_of(everything, rows, pl.Series([None] * len(everything)))
    assert {window.step for window in windows} == {None}
    assert [len(window.rows) for window in windows] == [len(STEP)] * 4
    assert everything[windows[0].rows].tolist() != everything[windows[0].rows - 5].tolist()


def test_without_repetition_all_is_one_window():
    rows = np.arange(60)
    assert [window.rows.tolist() for window in windows_of(rows, rows, None)] == [rows.tolist()]
    assert [len(window.rows) for window in windows_of(rows, rows[:0], None)] == [0]


def test_layers_are_no_steps():
    assert find_period(np.array(STEP)) == 0
    assert find_period(np.array(STEP * 2)) == len(STEP)


def test_steps_that_differ_a_little():
    function = np.array(STEP * 6)
    function[[7, 150, 301]] = 50
    assert find_period(function) == len(STEP)
