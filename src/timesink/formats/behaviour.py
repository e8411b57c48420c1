"""Behaviour tables: what each function cost per cycle, as CSV or Parquet, without a timeline.

A CSV has its columns in any order, with or without `simple_name` and `unit`; a Parquet file has the
columns of the CSV or those of the model.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
import polars as pl

from timesink.errors import OutputError, UnreadableError
from timesink.formats.csv_text import count_foreign_lines, header_of, microseconds_as_ns, texts_of
from timesink.formats.finish import conform, finish_trace
from timesink.formats.parquet_errors import PARQUET_ERRORS
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import SourceFile
from timesink.formats.written_files import written_aside
from timesink.model.data_files import csv_rows
from timesink.model.health import HealthEntry
from timesink.model.schema import (
    BEHAVIOUR,
    CYCLE_TYPES,
    HOST_DEVICE,
    INTERPOLATED,
    NO_DEVICE,
)
from timesink.model.trace import Metadata, Trace
from timesink.model.units import count_noun, published_unit
from timesink.model.vendors import NO_ACCELERATOR, recognise_vendor
from timesink.output.json import in_csv
from timesink.patterns import regex

CSV_COLUMNS = {
    row["file"]: row["model"] for row in csv_rows(Path(__file__).with_name("behaviour_columns.csv"))
}
"""Columns of the file, in order, and what they are in the model."""
TYPE_COLUMN = "cycle_type"
"""A last column, where a file holds other cycles than its name says."""
NO_METRIC = "N/A"
INTERPOLATION_MARKS = {" ": "none", "*": "some", "**": "all"}
NEEDED = ("cycle", "beta_pct", "function", "dur_ns")
"""Columns without which a table is none of behaviour."""

_LENGTHS = ("dur_ns", "cycle_dur_ns")
_TIMES = (*_LENGTHS, "cycle_ts_ns")
_NUMBERS = ("beta_pct", "mu", "sigma")
_COUNTS = ("cycle", "calls")
_NUMERIC = (*_TIMES, *_NUMBERS, *_COUNTS)
_TEXTS = tuple(name for name in BEHAVIOUR.schema if name not in _NUMERIC)
_WITHOUT_MEANING = ("nan", "none", "null", NO_METRIC.lower())
_LARGEST = 1e100
"""Beyond any measurement; squares of larger numbers are infinite."""
_TOLD_BY = {
    "device": "on which device functions ran",
    "function_class": "of what sort functions are",
    "cycle_dur_ns": "the recorded length of cycles",
    "calls": "how often functions ran",
    "mu": "how high counters were",
}
"""What is not known without a column."""


class Spelling(msgspec.Struct, frozen=True):
    """How a file names the columns of the model, and how it writes what they hold."""

    names: Mapping[str, str]
    """The file's name of each column of the model."""
    as_ns: Callable[[pl.Series], pl.Series]
    publishes_units: bool
    """Whether counters without a unit have that of published tables."""

    def lacks(self, columns: Iterable[str]) -> list[str]:
        """What a table with these columns needs besides, as the file would name it."""
        present = set(columns)
        return [self.names[name] for name in NEEDED if self.names[name] not in present]


def _whole_ns(values: pl.Series) -> pl.Series:
    if values.dtype.is_float():
        # What holds nulls comes as float from some tools.
        values = values.fill_nan(None).round()
    return values.cast(pl.Int64, strict=False)


AS_CSV = Spelling(
    {**{column: theirs for theirs, column in CSV_COLUMNS.items()}, "cycle_type": TYPE_COLUMN},
    microseconds_as_ns,
    publishes_units=True,
)
AS_MODEL = Spelling({name: name for name in BEHAVIOUR.schema}, _whole_ns, publishes_units=False)


def table_of(
    rows: pl.DataFrame, cycle_type: str, spelling: Spelling = AS_CSV
) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of rows with the file's column names, and what of them could not be used.

    A row needs a cycle, a function, its share and its time; anything else may be missing.
    """
    # Of columns the model knows those that are there, texts as text.
    present = {
        column: theirs for column, theirs in spelling.names.items() if theirs in rows.columns
    }
    named = rows.select(pl.col(theirs).alias(column) for column, theirs in present.items())
    # Those of the columns that exist as text: a process may be held as a number, even as 12.0.
    schema = named.schema
    other = [name for name in _TEXTS if name in schema and schema[name] != pl.String]
    texts = named.with_columns(
        pl.col(name).cast(pl.Int64, strict=False).cast(pl.String)
        if schema[name].is_numeric()
        else pl.col(name).cast(pl.String)
        for name in other
    )
    missing = [name for name in BEHAVIOUR.schema if name not in texts.columns]
    complete = texts.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in missing)
    read = _read_columns(complete, cycle_type, spelling)
    gaps = [name for name in _TOLD_BY if name in missing]
    if "metric" in missing and "mu" in gaps:
        gaps.remove("mu")  # a table of times alone
    gap_text = ", ".join(f"{spelling.names[name]} ({_TOLD_BY[name]})" for name in gaps)
    health = [HealthEntry("missing_column", len(gaps), gap_text)]
    if any(read[name].null_count() for name in NEEDED):
        is_row = read.select(pl.all_horizontal(pl.col(*NEEDED).is_not_null())).to_series()
        health.append(_bad_rows(complete, read, is_row, spelling))
        complete, read = complete.filter(is_row), read.filter(is_row)
    health += _bad_values(complete, read, spelling)
    if "mu" not in missing:
        health.append(_missing_levels(complete, read, spelling))
    if "unit" in missing and spelling.publishes_units:
        # With the unit each metric has in tables that do not say it: one per metric and file.
        largest = read.group_by("metric").agg(pl.col("mu").abs().max()).rows()
        units = {name: published_unit(name, mu or 0.0) for name, mu in largest if name is not None}
        read = read.with_columns(
            unit=pl.col("metric").replace_strict(units, default=None, return_dtype=pl.String)
        )
    return conform(read, BEHAVIOUR), [entry for entry in health if entry.count]


def _read_columns(complete: pl.DataFrame, cycle_type: str, spelling: Spelling) -> pl.DataFrame:
    """Every column as what it holds; null where that cannot be."""
    text = pl.col("device").str.strip_chars()
    mark = pl.col("interpolated").str.strip_chars().fill_null("")
    marks = {spelled.strip(): word for spelled, word in INTERPOLATION_MARKS.items()}
    marks |= {word: word for word in INTERPOLATED}
    sort = pl.col("cycle_type").str.to_lowercase()
    return complete.with_columns(
        *(spelling.as_ns(complete[name]).alias(name) for name in _TIMES),
        *(_finite(name) for name in _NUMBERS),
        *(_integer_expr(name) for name in _COUNTS),
        mark.replace_strict(marks, default=None).alias("interpolated"),
        pl.coalesce(pl.when(sort.is_in(CYCLE_TYPES)).then(sort), pl.lit(cycle_type)).alias(
            "cycle_type"
        ),
        _meaningful("metric"),
        _meaningful("host"),
        pl.when(text != "").then(text).otherwise(pl.lit(NO_DEVICE)).alias("device"),
    ).with_columns(
        pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in (*_LENGTHS, "calls")
    )


def _finite(name: str) -> pl.Expr:
    value = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite() & (value.abs() < _LARGEST)).then(value).alias(name)


def _integer_expr(name: str) -> pl.Expr:
    """A count; programs that hold it in a float write 12.0."""
    value = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(value == value.round()).then(value.cast(pl.Int64, strict=False)).alias(name)


def _meaningful(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(~text.str.to_lowercase().is_in(_WITHOUT_MEANING)).then(text).alias(name)


def _bad_rows(
    before: pl.DataFrame, after: pl.DataFrame, is_row: pl.Series, spelling: Spelling
) -> HealthEntry:
    """Rows without something they need, and the first cell that is to blame."""
    place = (~is_row).arg_true()[0]
    name = next(name for name in NEEDED if after[name][place] is None)
    value = before[name][place]
    theirs = spelling.names[name]
    cell = f"no {theirs}" if value is None else f"{theirs} {str(value)!r}"
    return HealthEntry("bad_behaviour_row", int((~is_row).sum()), f"row {place + 1}: {cell}")


def _bad_values(
    before: pl.DataFrame, after: pl.DataFrame, spelling: Spelling
) -> Iterable[HealthEntry]:
    """Values that were given, mean something, and could not be read."""
    for name in (*_NUMERIC, "interpolated"):
        if not after[name].null_count():
            continue
        unread = after[name].is_null() & before[name].is_not_null()
        if name == "mu":
            unread &= after["metric"].is_null()  # others are levels that are missing
        if unread.any():
            texts = before[name].filter(unread).cast(pl.String).str.strip_chars()
            wrong = texts.filter(~texts.str.to_lowercase().is_in(["", *_WITHOUT_MEANING]))
            example = f"{spelling.names[name]} {wrong[0].lower()!r}" if len(wrong) else ""
            yield HealthEntry("bad_value", len(wrong), example)


def _missing_levels(before: pl.DataFrame, after: pl.DataFrame, spelling: Spelling) -> HealthEntry:
    """Rows that name a counter without a number for it: empty, NaN, infinite, or some text."""
    unknown = after["mu"].is_null() & after["metric"].is_not_null()
    if not unknown.any():
        return HealthEntry("missing_level", 0)
    counter = after["metric"].filter(unknown)[0]
    value = before["mu"].filter(unknown)[0]
    problem = "is empty" if value is None else f"is {str(value).strip()!r}"
    example = f"{spelling.names['mu']} of {counter} {problem}"
    return HealthEntry("missing_level", int(unknown.sum()), example)


NAME = "behaviour"

_PARQUET = b"PAR1"
_OF_NO_OTHER = frozenset(
    {"beta_pct", "mu_pct", "sigma_pct", "func_type", "anchor_name", "anchor_dur_us"}
)
"""Columns that no other table has."""
_MAX_MISSING = 2
"""Without more of the columns it needs, a Parquet file is no behaviour table at all."""
_TYPE_IN_NAME = regex(r"_(prefill|decode)(?=[_.]|$)", re.IGNORECASE)
_EARLIEST_UNIX_NS = 10**18
"""September 2001: smaller times count from somewhere else."""


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001
    """Whether the header is one of behaviour, be it complete or not."""
    header = header_of(head)
    return (
        head.startswith(_PARQUET)
        or len(AS_CSV.lacks(header)) <= 1
        or not _OF_NO_OTHER.isdisjoint(header)
    )


def is_table(head: bytes) -> bool:
    """Whether content is a table with all it needs; for that of Parquet, only reading tells."""
    return head.startswith(_PARQUET) or not AS_CSV.lacks(header_of(head))


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    """A trace whose table `behaviour` is filled, and no other."""
    content, lost = source.content()
    of_format = _of_parquet if content.startswith(_PARQUET) else _of_csv
    table, health = of_format(content, source.path, type_in_name(source.name))
    bad = next((entry for entry in health if entry.code == "bad_behaviour_row"), None)
    if table.is_empty() and bad is not None:
        raise UnreadableError(
            f"{source.path}: none of its {count_noun(bad.count, 'rows')} can be used "
            f"({bad.example})",
            "a row needs a whole number as cycle (the step), a function, its share and its time",
        )
    start = table["cycle_ts_ns"].min()
    is_unix = isinstance(start, int) and start >= _EARLIEST_UNIX_NS
    metadata = Metadata(
        source=str(source.path),
        format=NAME,
        vendor=_vendor(table),
        events=table.height,
        clock="unix" if is_unix else "monotonic",
    )
    return finish_trace(metadata, {"behaviour": table}, [*lost, *health])


def _of_csv(content: bytes, path: Path, cycle_type: str) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of a CSV, and what of it could not be used."""
    header = header_of(content)
    missing = AS_CSV.lacks(header)
    if missing:
        columns = "column" if len(missing) == 1 else "columns"
        needed = ", ".join(AS_CSV.names[name] for name in NEEDED)
        raise UnreadableError(
            f"{path}: a behaviour table without the {columns} {', '.join(missing)}",
            f"it needs {needed}; it has {', '.join(header)}",
        )
    texts = texts_of(
        content, numbers="duration", decimals=[AS_CSV.names[column] for column in _NUMERIC]
    )
    table, health = table_of(texts, cycle_type)
    return table, [HealthEntry("invalid_utf8", count_foreign_lines(content)), *health]


def _of_parquet(
    content: bytes, path: Path, cycle_type: str
) -> tuple[pl.DataFrame, list[HealthEntry]]:
    """The table of a Parquet file, and what of it could not be used."""
    try:
        rows = pl.read_parquet(io.BytesIO(content))
    except PARQUET_ERRORS as error:
        reason = str(error).strip().partition("\n")[0]
        hint = "copy the file again, or write it again"
        raise UnreadableError.damaged(path, reason, hint) from None
    spelling = min((AS_CSV, AS_MODEL), key=lambda candidate: len(candidate.lacks(rows.columns)))
    missing = spelling.lacks(rows.columns)
    if missing:
        what = "a Parquet file that is no behaviour table"
        if len(missing) <= _MAX_MISSING:
            what = f"a behaviour table without the column {' and '.join(missing)}"
        raise UnreadableError(
            f"{path}: {what}",
            f"expected the columns {', '.join(NEEDED)}; "
            "of a folder that timesink export wrote, name the folder",
        )
    return table_of(rows, cycle_type, spelling)


def type_in_name(name: str) -> str:
    """The sort of cycles a file's name says it holds."""
    type_names = _TYPE_IN_NAME.findall(name)
    return type_names[-1].lower() if type_names else "generic"


def _vendor(table: pl.DataFrame) -> str:
    labels = set(table["device"].drop_nulls().unique().cast(pl.String)) - {HOST_DEVICE, NO_DEVICE}
    if not labels:
        return NO_ACCELERATOR
    calls = table["function"].unique().cast(pl.String).to_list()
    return recognise_vendor(device_names=labels, calls=calls)


# -- tables as others wrote them ------------------------------------------------------------------

_PROCESS = ("host", "pid", "cycle_type", "cycle")
_ROW_KEY = ("function", "function_class", "device")


def with_cycle_lengths(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the length of cycles that do not say it, from times and their shares.

    A time that is 20 % of the cycle tells how long the cycle is; the median over the functions.
    Where no share is known either, it stays as it is.
    """
    if table["cycle_dur_ns"].gt(0).fill_null(value=False).all():
        return table
    has_share = (pl.col("dur_ns") > 0) & (pl.col("beta_pct") > 0) & pl.col("beta_pct").is_finite()
    length = (100 * pl.col("dur_ns") / pl.col("beta_pct")).filter(has_share).median().over(_PROCESS)
    recorded_ns = pl.col("cycle_dur_ns").filter(pl.col("cycle_dur_ns") > 0).max().over(_PROCESS)
    filled = pl.coalesce(recorded_ns, length.round().cast(pl.Int64, strict=False), "cycle_dur_ns")
    return table.with_columns(cycle_dur_ns=filled.cast(pl.Int64))


def mend_table(table: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A table as others wrote it without repeats and with cycle lengths, and what was done."""
    once = table.unique(keep="first", maintain_order=True)
    filled = with_cycle_lengths(once)
    notes = []
    if dropped := table.height - once.height:
        were = "was" if dropped == 1 else "were"
        notes.append(f"{count_noun(dropped, 'rows')} repeated others and {were} left out")
    # Rows that give a function, device and metric a second value in the same cycle.
    if unlike := once.height - once.select(*_PROCESS, *_ROW_KEY, "metric").n_unique():
        # The published statistics take every row; leaving some out would change them.
        notes.append(
            f"{count_noun(unlike, 'rows')} contradict others of the same function, step and "
            "metric: scores take all, times the first"
        )
    if not filled["cycle_dur_ns"].equals(once["cycle_dur_ns"]):
        notes.append("step times are not recorded; they come from times and their shares")
    return filled, tuple(notes)


# -- writing ---------------------------------------------------------------------------------------

_ENDINGS = (".parquet", ".csv", ".csv.gz")
_DECIMALS = 4


def write_behaviour(table: pl.DataFrame, path: Path) -> None:
    """Write rows of `behaviour` where the user asked, in the order they have.

    Parquet keeps every value; CSV rounds shares and counters to four decimals.
    """
    name = path.name.lower()
    if not name.endswith(_ENDINGS):
        raise OutputError(
            f"{path}: not a name for a behaviour table", f"end the name in {' or '.join(_ENDINGS)}"
        )
    if name.endswith(".parquet"):
        buffer = io.BytesIO()
        table.select(list(BEHAVIOUR.schema)).write_parquet(buffer, compression="zstd")
        content = buffer.getvalue()
    else:
        content = behaviour_csv(table).encode()
    if name.endswith(".gz"):
        # Without the time of writing, equal tables are equal files.
        content = gzip.compress(content, mtime=0)
    with written_aside(path) as aside:
        aside.write_bytes(content)


def behaviour_csv(table: pl.DataFrame) -> str:
    """The table as CSV text; names in it are no formulas, and steer no terminal.

    A last column names the sort of each cycle where there is another than `generic`.
    """
    marks = {word: mark for mark, word in INTERPOLATION_MARKS.items()}
    texts = table.with_columns(in_csv(table)).with_columns(
        pl.col("metric").cast(pl.String).fill_null(NO_METRIC),
        pl.col("interpolated").cast(pl.String).replace_strict(marks, default=" "),
        *(
            # Whole nanoseconds as microseconds with four decimals; a float would round the date.
            pl.concat_str(
                pl.when(pl.col(name) < 0).then(pl.lit("-")).otherwise(pl.lit("")),
                (pl.col(name).abs() // 1000).cast(pl.String),
                pl.lit("."),
                (pl.col(name).abs() % 1000).cast(pl.String).str.pad_start(3, "0"),
                pl.lit("0"),
            ).alias(name)
            for name in _TIMES
        ),
    )
    columns = [pl.col(column).alias(name) for name, column in CSV_COLUMNS.items()]
    if (table["cycle_type"] != "generic").any():
        columns.append(pl.col("cycle_type").alias(TYPE_COLUMN))
    return texts.select(columns).write_csv(float_precision=_DECIMALS)
