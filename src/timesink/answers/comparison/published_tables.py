"""The published tables: as CSV, and as the cells of the published report.

The program that made the published reports wrote every number as text and handed the table to one
that read numbers back wherever a whole column of them was plain.  What it printed is what readers
compare with, so the cells are made the same way.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from io import StringIO

import polars as pl

from timesink.analyses.comparison.pair import CycleTimes, Pair
from timesink.output.names import in_published_cell

PUBLISHED = (
    ("function", "Function Name"),
    ("metric", "Metric Name"),
    ("device", "Device"),
    ("score", "Suspicion Score"),
    ("beta_base_pct", "β_{base}(%)"),
    ("beta_new_pct", "β_{new}(%)"),
    ("beta_delta_pct", "Δβ(%)"),
    ("beta_z", "Z-Score(β)"),
    ("beta_welch_p", "p-value(β)"),
    ("beta_rank_p", "U-test p(β)"),
    ("mu_base", "μ_{base}"),
    ("mu_new", "μ_{new}"),
    ("mu_delta", "Δμ"),
    ("mu_z", "Z-Score(μ)"),
    ("log_mu_z", "Z-Score(log_μ)"),
    ("mu_welch_p", "p-value(μ)"),
    ("mu_rank_p", "U-test p(μ)"),
)
"""Columns of the published table: ours, and theirs with the labels of the sides."""
_BETWEEN_NAMES = "; "
_FORMS = {
    "score": ".4f",
    "beta_base_pct": ".2f",
    "beta_new_pct": ".2f",
    "beta_delta_pct": "+.2f",
    "beta_z": "+.2f",
    "beta_welch_p": ".3f",
    "beta_rank_p": ".3f",
    "mu_base": ",.2f",
    "mu_new": ",.2f",
    "mu_delta": "+.2f",
    "mu_z": "+.2f",
    "log_mu_z": "+.2f",
    "mu_welch_p": ".3f",
    "mu_rank_p": ".3f",
}
_ABSENT = "-"


def table_csv(pair: Pair, table: str | None = None, top: int | None = None) -> str:
    """One table of a pair, or its first rows; see `table_of` for which."""
    name = table_of(pair, table)
    shown = pair if top is None else replace(pair, **{name: getattr(pair, name).head(top)})
    return _TABLES[name](shown)


def table_of(pair: Pair, table: str | None) -> str:
    """Which table is meant: the one asked for, else the published one; times without counters."""
    return table or ("times" if pair.rows.is_empty() else "rows")


def rows_csv(pair: Pair) -> str:
    """The published table: six decimals, an empty cell where a p-value is not defined."""
    return _to_csv(published_titles(pair), published_rows(pair), decimals=6)


def published_rows(pair: Pair) -> pl.DataFrame:
    """The columns of the published table, under our names."""
    return pair.rows.select(column for column, _ in PUBLISHED)


def published_titles(pair: Pair) -> list[str]:
    """The columns of the published table under its names, with the labels of both sides."""
    return [title.format(base=pair.base.label, new=pair.new.label) for _, title in PUBLISHED]


def times_csv(pair: Pair) -> str:
    """Time per cycle of every function, whether or not it has a metric."""
    return _to_csv(pair.times.columns, pair.times, decimals=6)


def families_csv(pair: Pair) -> str:
    """Functions whose names do not meet, by normalised name or family."""
    names = [name for name, dtype in pair.families.schema.items() if dtype.is_nested()]
    flat = pair.families.with_columns(pl.col(names).list.join(_BETWEEN_NAMES))
    return _to_csv(flat.columns, flat, decimals=6)


_TABLES: dict[str, Callable[[Pair], str]] = {
    "rows": rows_csv,
    "times": times_csv,
    "families": families_csv,
}


def _to_csv(titles: Sequence[str], frame: pl.DataFrame, decimals: int) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(zip(*(_cells(column, decimals) for column in frame), strict=True))
    return out.getvalue().removesuffix("\n")


def _cells(column: pl.Series, decimals: int) -> list[object]:
    """Values as a CSV holds them; a float that is no number is empty."""
    if column.dtype == pl.Boolean:
        return ["" if value is None else str(value).lower() for value in column]
    if not column.dtype.is_float():
        return column.to_list()
    return [
        "" if value is None or value != value else f"{value:.{decimals}f}"  # noqa: PLR0124 - NaN
        for value in column
    ]


# -- cells of the report ---------------------------------------------------------------------------


def row_cells(rows: pl.DataFrame) -> tuple[list[tuple[str, ...]], list[bool]]:
    """The cells of the table of rows, and which of its columns are numbers."""
    columns = [_column(rows[name]) for name in rows.columns]
    numeric = [rows[name].dtype.is_float() and _plain(rows[name]) for name in rows.columns]
    return list(zip(*columns, strict=True)), numeric


def _column(values: pl.Series) -> list[str]:
    form = _FORMS.get(values.name)
    if form is None:
        return ["" if value is None else str(value) for value in values]
    cells = [format(value, form) for value in values]
    return printed_again(cells)


def _plain(values: pl.Series) -> bool:
    """Whether a column of numbers is printed as numbers: none of its cells has a comma."""
    return not any("," in format(value, _FORMS[values.name]) for value in values)


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
    return [
        ("Total Cycles", str(base), str(new), str(new - base), _ABSENT),
        (
            "Avg Cycle Time (us)",
            f"{base_us:,.2f}",
            f"{new_us:,.2f}",
            f"{new_us - base_us:,.2f}",
            f"{pct:+.2f}%",
        ),
    ]


def distribution_cells(times: CycleTimes) -> list[tuple[str, ...]]:
    """Cycles of both sides side by side, longest first, in microseconds."""
    base, new = (sorted(side, reverse=True) for side in (times.base_ns, times.new_ns))
    height = max(len(base), len(new))
    ranks = [str(rank) for rank in range(1, height + 1)]
    differences = [_difference(a, b) for a, b in zip(base, new, strict=False)]
    differences += [(_ABSENT, _ABSENT)] * (height - len(differences))
    return [
        (rank, *both, *difference)
        for rank, both, difference in zip(
            ranks,
            zip(_side(base, height), _side(new, height), strict=True),
            differences,
            strict=True,
        )
    ]


def _side(lengths_ns: Sequence[int], height: int) -> list[str]:
    """Formatted numbers; bare ones where the column also holds absent cells."""
    if len(lengths_ns) == height:
        return [f"{length / 1000:,.2f}" for length in lengths_ns]
    return [
        *(str(length / 1000) for length in lengths_ns),
        *([_ABSENT] * (height - len(lengths_ns))),
    ]


def _difference(base_ns: int, new_ns: int) -> tuple[str, str]:
    delta = (new_ns - base_ns) / 1000
    pct = 100 * (new_ns - base_ns) / base_ns if base_ns else float("inf")
    return f"{delta:,.2f}", f"{pct:+.2f}%"


def published_table(
    titles: Sequence[str], cells: Iterable[Sequence[str]], numeric: Sequence[bool]
) -> str:
    """A Markdown table without padding; names stay as they are where they can do no harm."""
    rule = ["---:" if right else ":---" for right in numeric]
    head, *rows = ([in_published_cell(cell) for cell in row] for row in [titles, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])
