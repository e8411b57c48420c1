"""Published tables of a comparison: as CSV, and as the cells of the published report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

import polars as pl

from timesink.comparison.results import CycleTimes, Pair
from timesink.model.data_files import csv_rows
from timesink.output.names import in_published_cell

PUBLISHED = tuple(
    (row["column"], row["title"], row["form"])
    for row in csv_rows(Path(__file__).with_name("published.csv"))
)
"""Columns of the published table: ours, theirs with the labels of the sides, and how numbers are
written in a report."""
_ABSENT = "-"


def published_rows(pair: Pair) -> pl.DataFrame:
    """The columns of the published table, under our names."""
    return pair.rows.select(column for column, _, _ in PUBLISHED)


def published_titles(pair: Pair) -> list[str]:
    """The columns of the published table under its names, with the labels of both sides."""
    return [title.format(base=pair.base.label, new=pair.new.label) for _, title, _ in PUBLISHED]


# -- cells of the report ---------------------------------------------------------------------------


def row_cells(rows: pl.DataFrame) -> tuple[list[tuple[str, ...]], list[bool]]:
    """The cells of the table of rows, and which of its columns are printed as numbers."""
    forms = {name: form for name, _, form in PUBLISHED if form}
    columns, numeric = [], []
    for values in rows:
        form = forms.get(values.name)
        if form is None:
            cells = ["" if value is None else str(value) for value in values]
        else:
            cells = [format(value, form) for value in values]
        columns.append(cells if form is None else printed_again(cells))
        numeric.append(form is not None and not any("," in cell for cell in cells))
    return list(zip(*columns, strict=True)), numeric


def printed_again(cells: Sequence[str]) -> list[str]:
    """A column of plain numbers with six digits each; one with other cells as it is."""
    if any("," in cell for cell in cells):
        return list(cells)
    return [f"{float(cell):g}" for cell in cells]


def summary_cells(times: CycleTimes) -> list[tuple[str, ...]]:
    """How many cycles there are and how long they take in the mean, in microseconds."""
    base, new = len(times.base_ns), len(times.new_ns)
    base_us, new_us = times.base_mean_ns / 1000, times.new_mean_ns / 1000
    pct = float("inf") if times.change_pct is None else times.change_pct
    lengths = (f"{length:,.2f}" for length in (base_us, new_us, new_us - base_us))
    return [
        ("Total Cycles", str(base), str(new), str(new - base), _ABSENT),
        ("Avg Cycle Time (us)", *lengths, f"{pct:+.2f}%"),
    ]


def distribution_cells(times: CycleTimes) -> list[tuple[str, ...]]:
    """Cycles of both sides side by side, longest first, in microseconds.

    Numbers are formatted, and bare where the column also holds absent cells.
    """
    sides = [sorted(side, reverse=True) for side in (times.base_ns, times.new_ns)]
    height = max(map(len, sides))
    forms = [",.2f" if len(side) == height else "" for side in sides]
    rows = []
    for rank, both in enumerate(zip_longest(*sides), 1):
        cells = [
            _ABSENT if length is None else format(length / 1000, form)
            for length, form in zip(both, forms, strict=True)
        ]
        base, new = both
        difference = (_ABSENT, _ABSENT)
        if base is not None and new is not None:
            pct = 100 * (new - base) / base if base else float("inf")
            difference = (f"{(new - base) / 1000:,.2f}", f"{pct:+.2f}%")
        rows.append((str(rank), *cells, *difference))
    return rows


def published_table(
    titles: Sequence[str], cells: Iterable[Sequence[str]], numeric: Sequence[bool]
) -> str:
    """A Markdown table without padding; names stay as they are where they can do no harm."""
    rule = ["---:" if right else ":---" for right in numeric]
    head, *rows = ([in_published_cell(cell) for cell in row] for row in [titles, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])
