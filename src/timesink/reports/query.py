"""SQL over the tables of a trace."""

from __future__ import annotations

import polars as pl

from timesink.errors import QueryError
from timesink.model.schema import TABLES
from timesink.model.trace import Trace


def run_query(trace: Trace, sql: str) -> pl.DataFrame:
    """The answer to a SQL query over the tables of a trace.

    >>> import timesink
    >>> run_query(timesink.open(timesink.sample()), "select count(*) as n from steps")["n"].to_list()
    [2]
    """
    context = pl.SQLContext({name: _with_plain_text(trace.lazy(name)) for name in TABLES})
    try:
        return context.execute(sql, eager=True)
    except pl.exceptions.PolarsError as error:
        raise QueryError(_first_line(error), _hint(error)) from None


def _with_plain_text(frame: pl.LazyFrame) -> pl.LazyFrame:
    # SQL's text functions know nothing of dictionary-encoded text.
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"the query cannot be answered: {lines[0] if lines else type(error).__name__}"


def _hint(error: Exception) -> str:
    if isinstance(error, pl.exceptions.ColumnNotFoundError):
        return "columns are listed in docs/tables.md; try \"select * from host limit 1\""
    return f"tables: {', '.join(TABLES)}; example: \"select * from steps\""
