"""Which ranks and steps a heat map shows."""

from __future__ import annotations

import numpy as np

from timesink.analyses.ranks.lateness import Panel
from timesink.answers.analysis.ranks import MAX_COLUMNS, MAX_ROWS, heat_of


def panel(caused_wait: np.ndarray, missing: tuple[int, int] | None = None) -> Panel:
    length = np.full(caused_wait.shape, 1e6)
    if missing is not None:
        length[missing] = np.nan
    steps = tuple(str(number) for number in range(caused_wait.shape[1]))
    ranks = np.arange(caused_wait.shape[0])
    return Panel(
        ranks, steps, length, caused_wait, caused_wait, {}, caused_wait, np.zeros(len(ranks))
    )


def test_few_ranks_stand_in_their_order():
    heat = heat_of(panel(np.array([[1.0, 2.0], [3.0, 4.0]]), missing=(0, 1)), {1})
    assert heat == (("0", "1"), {(0,): (1.0, None), (1,): (3.0, 4.0)}, "")


def test_many_ranks_are_put_together_and_the_odd_ones_come_first():
    caused_wait = np.zeros((100_000, 3))
    caused_wait[70_007] = 5.0
    caused_wait[12_345, 1] = 9.0
    caused_wait[40_000:41_000, 2] = 0.5
    _, rows, note = heat_of(panel(caused_wait), {70_007})
    assert list(rows)[:2] == [(70_007,), (12_345,)]
    assert len(rows) <= MAX_ROWS
    ranks_in_rows = sorted(rank for ranks in rows for rank in ranks)
    assert ranks_in_rows == list(range(100_000))
    # Of ranks that stand together the largest value is shown.
    among = next(values for ranks, values in rows.items() if 40_500 in ranks)
    assert among == (0.0, 0.0, 0.5)
    assert note.startswith("17 ranks of 100 000 have a row each, the costliest first.")


def test_even_if_most_are_odd_there_is_an_end():
    _, rows, _ = heat_of(panel(np.ones((1000, 1))), set(range(900)))
    assert len(rows) <= MAX_ROWS


def test_many_steps_are_put_together():
    caused_wait = np.zeros((2, 1000))
    caused_wait[1, 777] = 3.0
    columns, rows, note = heat_of(panel(caused_wait), set())
    assert len(columns) <= MAX_COLUMNS
    assert columns[rows[1,].index(3.0)] == "774 to 782"
    assert note == "A column stands for 9 of 1 000 steps, with their largest value."
