"""SQL over the tables of a trace."""

from __future__ import annotations

import re

import polars as pl

from timesink.errors import QueryError
from timesink.model.schema import TABLES
from timesink.model.trace import Trace

_CHANGE = re.compile(r"^\s*(?:alter|create|delete|drop|insert|truncate|update)\b", re.IGNORECASE)


def run_query(trace: Trace, sql: str) -> pl.DataFrame:
    """The answer to a SQL query over the tables of a trace.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> run_query(trace, "select count(*) as n from steps")["n"].to_list()
    [2]
    """
    if _CHANGE.match(sql):
        raise QueryError("a trace is not changed by queries", 'example: "select * from steps"')
    context = pl.SQLContext({name: _with_plain_text(trace.lazy(name)) for name in TABLES})
    try:
        answer = context.execute(sql, eager=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise QueryError(_first_line(error), _hint(error, sql)) from None
    # A literal such as 100.0 makes everything it touches a decimal; nobody means that.
    return answer.cast({pl.Decimal: pl.Float64})


def _with_plain_text(frame: pl.LazyFrame) -> pl.LazyFrame:
    # SQL's text functions know nothing of dictionary-encoded text.
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = lines[0].partition("; valid columns")[0] if lines else type(error).__name__
    return f"the query cannot be answered: {reason}"


def _hint(error: Exception, sql: str) -> str:
    """Columns of the tables the query names when it is about a column, else the tables."""
    named = [name for name in TABLES if re.search(rf"\b{name}\b", sql, re.IGNORECASE)]
    if "column" in str(error) and named:
        return "; ".join(f"columns of {name}: {', '.join(TABLES[name].schema)}" for name in named)
    return f"the tables are {', '.join(TABLES)}"
