"""`timesink query`: SQL over the tables of a recording or of a comparison, within limits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import polars as pl
from polars.lazyframe.in_process import InProcessQuery

from timesink.analyses.operators import with_call_stacks
from timesink.answers.views import COMPARED_VIEWS, KERNELS_BY, VIEWS
from timesink.errors import QueryError, QueryLimitError
from timesink.model import units
from timesink.model.schema import TABLES
from timesink.model.trace import Trace
from timesink.patterns import regex

if TYPE_CHECKING:
    from timesink.comparison.results import Comparison

_CHANGE = regex(r"^\s*(?:alter|create|delete|drop|insert|truncate|update)\b", re.IGNORECASE)


_TEXT_OR_COMMENT = regex(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_READS_FILES = regex(r"\b((?:read|scan)_\w+)[\"`]?\s*\(", re.IGNORECASE)
_RECURSIVE = regex(r"\bwith\s+recursive\b", re.IGNORECASE)
_OPERATOR = regex(r"[-+*/%=<>|&]|\b(?:and|or|not|case|union|join|select)\b", re.IGNORECASE)
_MAX_OPERATORS = 500
"""Plans of more take minutes, and of many more all of the stack."""
_SOURCE = regex(r'\b(?:from|join)\s+(?:"([\w-]+)"|(\w+))', re.IGNORECASE)
_DEFINED = regex(r'(?:\bwith|,)\s+"?(\w+)"?\s+as\s*\(', re.IGNORECASE)
VIEW_NAMES = {
    sql_name: name
    for name in VIEWS
    for sql_name in (
        (f"view_{name}",) if name in TABLES else dict.fromkeys((name, name.replace("-", "_")))
    )
}
"""Views by what queries call them: `kernel_launches` or `"kernel-launches"`, `view_steps` where a
table has the name."""
KERNEL_NAMES = {
    sql_name: by
    for name, by in KERNELS_BY.items()
    for sql_name in dict.fromkeys((name, name.replace("-", "_")))
}
"""Tables of `timesink kernels --by` by what queries call them: `kernels_by_family`."""
QUERY_ROWS = 5_000_000
"""Of an answer; a table of so many takes minutes to write as text."""
QUERY_SECONDS = 60.0
_BUFFER = 0.25
"""Of the memory of a query, for its answer, which is read and written in other forms."""
_CANCELLED: list[InProcessQuery] = []
"""Polars panics where nobody is there any more to whom it can say that it stopped."""


class QueryLimits(msgspec.Struct, frozen=True):
    """What a query may take."""

    rows: int = QUERY_ROWS
    seconds: float = QUERY_SECONDS
    memory_bytes: int | None = None
    """Of its answer a quarter of this; None: not limited. Who runs it in a process of its own,
    as the command does, limits what it takes meanwhile."""


def run_query(trace: Trace, sql: str, limits: QueryLimits | None = None) -> pl.DataFrame:
    """The answer to a SQL query, which sees the tables and views of the trace and nothing else.

    Views have the names of `timesink analyze --view`, see `VIEW_NAMES`, and times in nanoseconds;
    tables of `timesink kernels --by` those of `KERNEL_NAMES`.
    Raises QueryError where it cannot be answered, QueryLimitError where not within the limits.

    >>> import timesink
    >>> trace = timesink.open(timesink.sample())
    >>> run_query(trace, "select sum(calls) as calls from kernels")["calls"].to_list()
    [918]
    """
    code = _checked(sql, TABLES, "steps")
    trace = with_call_stacks(trace) if "call_stack" in sql.lower() else trace
    tables = {name: trace.lazy(name) for name in TABLES} | _views_in(code, trace)
    return _answer(sql, tables, limits or QueryLimits(), partial(_hint, sql=sql))


def query_comparison(
    comparison: Comparison, sql: str, limits: QueryLimits | None = None
) -> pl.DataFrame:
    """The answer to a SQL query over what changed: tables of `timesink compare --view`.

    >>> import timesink
    >>> same = timesink.compare(timesink.sample(), timesink.sample())
    >>> query_comparison(same, "select count(*) as n from times where delta_ns > 0")["n"].to_list()
    [0]
    """
    from timesink.answers.comparison.pair_tables import comparison_table  # noqa: PLC0415 - start-up time

    code = _checked(sql, COMPARED_VIEWS, "times")
    names = _sources(code) & set(COMPARED_VIEWS)
    tables = {name: comparison_table(comparison, name).lazy() for name in names}
    hint = f"the tables are {', '.join(COMPARED_VIEWS)}"

    def columns(error: Exception) -> str:
        if "column" not in str(error) or not tables:
            return hint
        schemas = {name: table.collect_schema() for name, table in sorted(tables.items())}
        return "; ".join(
            f"columns of {name}: {', '.join(schema)}" for name, schema in schemas.items()
        )

    return _answer(sql, tables, limits or QueryLimits(), columns)


def _checked(sql: str, tables: Iterable[str], table: str) -> str:
    """The code of a query without texts and comments, where it only reads these tables."""
    code = _TEXT_OR_COMMENT.sub(lambda match: "''" if match[0][0] == "'" else " ", sql)
    if _CHANGE.match(code):
        example = f'example: "select * from {table}"'  # noqa: S608 - it is shown, not asked
        raise QueryError("queries cannot change a trace", example)
    reading = _READS_FILES.search(code)
    if reading:
        only = f"a query sees the tables of the recording only, not {reading[1]}"
        raise QueryError(only, f"the tables are {', '.join(tables)}")
    if _RECURSIVE.search(code):
        raise QueryError("a query cannot be recursive", "ask again without `recursive`")
    if len(_OPERATOR.findall(code)) > _MAX_OPERATORS:
        problem = f"a query of more than {_MAX_OPERATORS} operators takes too long"
        raise QueryError(problem, "use `in (...)`, `between` or several queries")
    return code


def _answer(
    sql: str,
    tables: Mapping[str, pl.LazyFrame],
    limits: QueryLimits,
    hint: Callable[[Exception], str],
) -> pl.DataFrame:
    # SQL's text functions know nothing of dictionary-encoded text.
    plain = pl.col(pl.Categorical, pl.Enum).cast(pl.String)
    context = pl.SQLContext({name: table.with_columns(plain) for name, table in tables.items()})
    try:
        planned = context.execute(sql, eager=False)
        running = planned.head(limits.rows + 1).collect(background=True)
        answer = _within_time(running, limits.seconds)
    except (pl.exceptions.PolarsError, OSError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0].partition("; valid columns")[0] if lines else type(error).__name__
        raise QueryError(f"the query cannot be answered: {reason}", hint(error)) from None
    if answer.height > limits.rows:
        raise QueryLimitError(
            f"the result has more than {limits.rows} rows",
            "add a limit to the query, or allow more with --limit ROWS",
        )
    size = answer.estimated_size()
    if limits.memory_bytes is not None and size > _BUFFER * limits.memory_bytes:
        problem = f"the answer takes {units.brief_bytes(size)}, more than a quarter of --max-memory"
        raise QueryLimitError(problem, "ask for fewer columns or rows, or allow more with it")
    # A literal such as 100.0 makes everything it touches a decimal; nobody means that.
    return answer.cast({pl.Decimal: pl.Float64})


def _views_in(code: str, trace: Trace) -> dict[str, pl.LazyFrame]:
    """The views that a query reads, by the names it has for them."""
    names = _sources(code)
    views: dict[str, pl.LazyFrame] = {}
    if of_analysis := names & VIEW_NAMES.keys():
        from timesink.answers.analysis.report import analyze_opened  # noqa: PLC0415 - most queries need none

        analysis = analyze_opened(trace, path=trace.metadata.source)
        views |= {name: analysis.table(VIEW_NAMES[name]).lazy() for name in of_analysis}
    if of_kernels := names & KERNEL_NAMES.keys():
        from timesink.answers.kernels.reading import kernels  # noqa: PLC0415 - as above

        report = kernels(trace)
        views |= {name: report.view(KERNEL_NAMES[name]).frame.lazy() for name in of_kernels}
    return views


def _sources(code: str) -> set[str]:
    """Names of what a query reads; what it defines itself hides a view of that name."""
    return {name or quoted for quoted, name in _SOURCE.findall(code)} - set(_DEFINED.findall(code))


def _within_time(running: InProcessQuery, most_seconds: float) -> pl.DataFrame:
    until, pause = time.monotonic() + most_seconds, 0.0005
    while (answer := running.fetch()) is None:
        if time.monotonic() > until:
            running.cancel()
            _CANCELLED.append(running)
            problem = f"the query took longer than {most_seconds:g} s"
            hint = "filter rows before they are joined, or allow more with --timeout S"
            raise QueryLimitError(problem, hint)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return answer


def _hint(error: Exception, sql: str) -> str:
    """Columns of the tables the query names when it is about a column, else the tables."""
    views = "; views have the names of  timesink analyze --view"
    named = [name for name in TABLES if re.search(rf"\b{name}\b", sql, re.IGNORECASE)]
    if "column" in str(error) and named:
        return "; ".join(f"columns of {name}: {', '.join(TABLES[name].schema)}" for name in named)
    return f"the tables are {', '.join(TABLES)}{views}"
