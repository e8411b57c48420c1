"""CSV as others write it: any order of columns, any line ends, quotes that were never closed.

Values are parted by commas, or by what a header without any comma is parted by.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from io import BytesIO

import polars as pl

_BOM = b"\xef\xbb\xbf"
_COMMA = b","
_OTHER_SEPARATORS = (b";", b"\t")
_DECIMAL_COMMA = r"^([+-]?\d+),(\d+)$"


def header_of(content: bytes) -> list[str]:
    r"""Names of the columns, in small letters, of content that begins with its header."""
    return [*_names(_first_line(content))]


@lru_cache(maxsize=1)  # several readers look at the same head, and that of JSON is one long line
def _names(line: bytes) -> tuple[str, ...]:
    names = line.decode("utf-8", "replace").lower().split(separator_of(line).decode())
    return tuple(name.strip().strip('"').strip() for name in names)


def separator_of(content: bytes) -> bytes:
    r"""What parts the values: a comma, unless the header has none and has another."""
    line = _first_line(content)
    if _COMMA in line:
        return _COMMA
    return next((separator for separator in _OTHER_SEPARATORS if separator in line), _COMMA)


def _first_line(content: bytes) -> bytes:
    return BytesIO(content.removeprefix(_BOM).lstrip()).readline()


def count_foreign_lines(content: bytes) -> int:
    r"""How many lines are not UTF-8: their odd bytes are read as the replacement character."""
    if content.isascii() or _is_utf8(content):
        return 0
    return sum(not _is_utf8(line) for line in content.split(b"\n"))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def texts_of(
    content: bytes, *, numbers: str, strip: str = " \t\r", decimals: Iterable[str] = ()
) -> pl.DataFrame:
    r"""The columns as trimmed text under the names of :func:`header_of`, without blank lines.

    What is empty or absent is null; of columns of one name the first counts.  A quote that is never
    closed would swallow rows, so rows are told by lines as well, and the reading stands that has
    more numbers in the column that should be all `numbers`.  Where commas do not part values, the
    columns `decimals` may have decimal commas, which become points.
    """
    content = content.removeprefix(_BOM).strip()
    header = header_of(content)
    separator = separator_of(content).decode()
    table = _split(content, separator)
    if table is None or table.height != content.count(b"\n"):
        lines = content.split(b"\n")
        closed = [line.replace(b'"', b"") if line.count(b'"') % 2 else line for line in lines]
        readings = (
            table,
            _split(b"\n".join(closed), separator),
            # What stands behind a closed quote makes the others fail; here it never does.
            _split(content.replace(b'"', b""), separator, quote=None),
        )

        def count_numbers(rows: pl.DataFrame) -> int:
            column = rows.to_series(header.index(numbers)).str.strip_chars()
            return column.cast(pl.Float64, strict=False).count()

        usable_readings = [reading for reading in readings if reading is not None]
        table = max(usable_readings, key=count_numbers, default=None)
    texts = pl.DataFrame() if table is None else _name_columns(table, header, strip)
    if separator.encode() == _COMMA:
        return texts
    present = [name for name in decimals if name in texts.columns]
    return texts.with_columns(pl.col(present).str.replace(_DECIMAL_COMMA, "$1.$2"))


def _split(content: bytes, separator: str, quote: str | None = '"') -> pl.DataFrame | None:
    try:
        return pl.read_csv(
            content,
            separator=separator,
            quote_char=quote,
            infer_schema=False,
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError:
        return None


def _name_columns(rows: pl.DataFrame, header: list[str], strip: str) -> pl.DataFrame:
    texts = rows.select(
        pl.nth(header.index(name)).str.strip_chars(strip).alias(name)
        for name in dict.fromkeys(header)
        if header.index(name) < rows.width
    )
    blank = texts.select((pl.all() == "").any()).row(0)
    names = [name for name, is_blank in zip(texts.columns, blank, strict=True) if is_blank]
    texts = texts.with_columns(pl.when(pl.col(name) != "").then(pl.col(name)) for name in names)
    # Only a table with a gap in every column can hold a row of nothing else.
    if not all(column.null_count() for column in texts):
        return texts
    return texts.filter(~pl.all_horizontal(pl.all().is_null()))


# Microseconds as whole nanoseconds, never through a float that cannot hold today's date.

_DECIMALS = 15
"""Decimals of a microsecond that count: far more than anybody writes."""
_NANOSECOND = pl.lit(10 ** (_DECIMALS - 3), pl.Int128)


def microseconds_as_ns(values: pl.Series) -> pl.Series:
    """The nearest whole nanoseconds of numbers or of decimal text; null where it is no number."""
    if values.dtype.is_integer():
        return values.cast(pl.Int64, strict=False) * 1000
    if values.dtype.is_float():
        # The whole part times a thousand is beyond what a float holds; apart, both are exact.
        floor = values.floor()
        parts = pl.DataFrame({"whole": floor, "rest": ((values - floor) * 1000).round()})
        fits = pl.col("whole").is_finite() & (pl.col("whole").abs() < 2**63 // 1000)
        exact = pl.col("whole").cast(pl.Int64, strict=False) * 1000
        rest = pl.col("rest").cast(pl.Int64, strict=False)
        return parts.select(pl.when(fits).then(exact + rest)).to_series()
    texts = values.cast(pl.String)
    text = pl.col("text").str.strip_chars()
    decimal = text.cast(pl.Decimal(38, _DECIMALS), strict=False).to_physical()
    nearest = ((decimal + _NANOSECOND // 2) // _NANOSECOND).cast(pl.Int64, strict=False)
    # Half of a nanosecond goes away from zero, which this is for what is not negative.
    plain = texts.to_frame("text").select(pl.when(decimal >= 0).then(nearest)).to_series()
    if plain.null_count() == texts.null_count():
        return plain
    odd = texts.filter(plain.is_null() & texts.is_not_null()).unique()
    nearest_ns = {text: _nearest(text) for text in odd.to_list()}
    odd_ns = texts.replace_strict(nearest_ns, default=None, return_dtype=pl.Int64)
    return pl.select(pl.coalesce(plain, odd_ns)).to_series()


def _nearest(text: str) -> int | None:
    try:
        nanoseconds = Decimal(text).scaleb(3)
        if not nanoseconds.is_finite() or abs(nanoseconds) >= 2**63:
            return None
        return int(nanoseconds.to_integral_value(ROUND_HALF_UP))
    except ArithmeticError:
        return None
