"""Tables of cycles: one row per cycle, with how long it took and what it had to do.

CSV (also .gz) or Parquet.  Only the duration is needed; every other column of numbers says
something about the workload.  Names of serving engines are brought to one spelling here.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from timesink.errors import UnreadableError
from timesink.formats.csv_text import header_of, texts_of
from timesink.formats.parquet_errors import PARQUET_ERRORS
from timesink.formats.source_file import Damage, open_source

DURATION, JOB, START = "duration_us", "job_name", "start_ts"
_UNITS = {"duration_ns": 1e-3, "duration_us": 1.0, "duration_ms": 1e3, "duration_s": 1e6}
_COMPUTED = "compute_"
"""Before the names of what a cycle was given, where what it left has a name as well."""
_MODES = {"prefill": 1, "extend": 1, "decode": 2, "mixed": 3}
_MODE = "forward_mode"
_PARQUET = b"PAR1"
_MAX_BYTES = 2 << 30
_LONGEST_US = 1e12
"""Eleven days: no cycle takes longer, and sums stay numbers."""


def read_cycle_rows(path: str) -> pl.DataFrame:
    r"""The rows of a table of cycles: `duration_us`, `job_name`, `start_ts`, and numbers.

    Forward modes become numbers, whether they are told as such or by name; what is no number is
    null; columns that hold no number are left out.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = file.write_text("duration_ms,batch_size,forward_mode,note\n2.5,8,DECODE,x\n")
    >>> read_cycle_rows(str(file)).drop('job_name', 'start_ts').to_dicts()
    [{'duration_us': 2500.0, 'batch_size': 8.0, 'forward_mode': 2.0}]
    """
    return _one_spelling(_texts(path), path)


def _texts(path: str) -> pl.DataFrame:
    file = Path(path)
    if not file.exists():
        raise UnreadableError.missing(path)
    if file.is_dir():
        raise UnreadableError(f"{path}: is a folder", "name one table of steps, as rows.csv")
    with file.open("rb") as opened:
        begins = opened.read(4)
    if begins == _PARQUET:
        try:
            return pl.read_parquet(file, glob=False)
        except PARQUET_ERRORS as error:
            why = str(error).splitlines()[0]
            raise UnreadableError.damaged(path, why, "write the table again") from None
    content = _unpack(file)
    duration = next((name for name in _UNITS if name in header_of(content)), None)
    if duration is None:
        raise _no_duration(path)
    return texts_of(content, numbers=duration)


def _unpack(file: Path) -> bytes:
    damage, parts, size = Damage(), [], 0
    for block in open_source(file).blocks(damage) if file.stat().st_size else ():
        parts.append(block)
        size += len(block)
        if size > _MAX_BYTES:
            raise UnreadableError(f"{file}: more than 2 GiB of text", "write it as Parquet")
    if damage:
        raise UnreadableError.damaged(file, damage[0], "write the table again")
    content = b"".join(parts)
    if not content.strip():
        raise UnreadableError(f"{file}: the table is empty", f"it needs a column {DURATION}")
    return content


def _no_duration(path: str) -> UnreadableError:
    return UnreadableError(
        f"{path}: no column has the time of a step",
        "name it duration_us (or _ns, _ms, _s), beside columns of its workload as batch_size",
    )


def _one_spelling(table: pl.DataFrame, path: str) -> pl.DataFrame:
    names = {name: name.strip().lower() for name in table.columns}
    plain = {*names.values()}
    for name, lower in names.items():
        short = lower.removeprefix(_COMPUTED)
        names[name] = short if short not in plain else lower
    if len({*names.values()}) < len(names):
        raise UnreadableError(f"{path}: two columns have one name", "rename one of them")
    table = table.rename(names)
    duration = next((name for name in _UNITS if name in table.columns), None)
    if duration is None:
        raise _no_duration(path)
    if table.is_empty():
        raise UnreadableError(f"{path}: the table has no rows", "it needs one row per step")
    lasted = _numbers(table[duration]) * _UNITS[duration]
    numbers = {
        name: _numbers(table[name], is_mode=name.endswith(_MODE))
        for name in table.columns
        if name not in (JOB, *_UNITS)
    }
    rows = pl.DataFrame(
        {
            DURATION: lasted.set(lasted.fill_null(0) > _LONGEST_US, None),
            JOB: table[JOB].cast(pl.String).fill_null("") if JOB in table.columns else
            pl.Series([""] * table.height, dtype=pl.String),
            START: numbers.pop(START, pl.Series([None] * table.height, dtype=pl.Float64)),
        }
    )  # fmt: skip
    filled_columns = [column.alias(name) for name, column in numbers.items() if column.count()]
    return rows.with_columns(filled_columns)


def _numbers(column: pl.Series, *, is_mode: bool = False) -> pl.Series:
    if is_mode and column.dtype == pl.String:
        plain = column.str.to_lowercase().str.split(".").list.last()
        named = plain.replace_strict(_MODES, default=None, return_dtype=pl.Float64)
        return named.fill_null(column.cast(pl.Float64, strict=False))
    if column.dtype not in (pl.String, pl.Boolean) and not column.dtype.is_numeric():
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
    numbers = column.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(value=True), None)
