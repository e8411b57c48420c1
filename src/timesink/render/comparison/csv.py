"""The tables of a pair as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO

import polars as pl

from timesink.analyses.comparison.pair import Pair

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


def table_csv(pair: Pair, table: str | None = None, top: int | None = None) -> str:
    """One table of a pair, or its first rows; see `table_of` for which."""
    name = table_of(pair, table)
    shown = pair if top is None else replace(pair, **{name: getattr(pair, name).head(top)})
    return _TABLES[name](shown)


def table_of(pair: Pair, table: str | None) -> str:
    """Which table is meant: the one asked for, else the published one, or times without counters.

    >>> import timesink
    >>> table_of(timesink.compare(timesink.sample(), timesink.sample()).pair, "families")
    'families'
    """
    return table or ("times" if pair.rows.is_empty() else "rows")


def rows_csv(pair: Pair) -> str:
    """The published table: six decimals, an empty cell where a p-value is not defined."""
    return _to_csv(published_titles(pair), published_rows(pair), decimals=6)


def published_rows(pair: Pair) -> pl.DataFrame:
    """The columns of the published table, under our names."""
    return pair.rows.select(column for column, _ in PUBLISHED)


def published_titles(pair: Pair) -> list[str]:
    """The columns of the published table under its names, with the labels of both sides.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> published_titles(same.pair)[4:6]
    ['β_base(%)', 'β_new(%)']
    """
    return [title.format(base=pair.base.label, new=pair.new.label) for _, title in PUBLISHED]


def times_csv(pair: Pair) -> str:
    """Time per cycle of every function, whether or not it has a metric.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> times_csv(same.pair).partition(",")[0]
    'function'
    """
    return _to_csv(pair.times.columns, pair.times, decimals=6)


def families_csv(pair: Pair) -> str:
    """Functions whose names do not meet, by normalised name or family.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> families_csv(same.pair).startswith("family,name,device")
    True
    """
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
