"""CSV as others write it: any order of columns, any line ends, quotes that were never closed."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

_BOM = b"\xef\xbb\xbf"


def header_of(content: bytes) -> list[str]:
    r"""Names of the columns, in small letters, of content that begins with its header.

    >>> header_of(b'\xef\xbb\xbf"Cycle", pid\r\n1,2')
    ['cycle', 'pid']
    """
    line = content.removeprefix(_BOM).lstrip().partition(b"\n")[0]
    names = line.decode("utf-8", "replace").lower().split(",")
    return [name.strip().strip('"').strip() for name in names]


def texts_of(content: bytes, *, numbers: str, strip: str = " \t\r") -> pl.DataFrame:
    r"""The columns as trimmed text under the names of :func:`header_of`, without blank lines.

    What is empty or absent is null; of columns of one name the first counts.  A quote that is never
    closed would swallow rows, so rows are told by lines as well, and the reading stands that has
    more numbers in the column that should be all `numbers`.

    >>> texts_of(b'n,name\n1,"a,b"\n\n2,"c\n3,d\n', numbers="n").rows()
    [('1', 'a,b'), ('2', 'c'), ('3', 'd')]
    """
    content = content.removeprefix(_BOM).strip()
    header = header_of(content)
    whole = _split(content)
    if whole is None or whole.height != content.count(b"\n"):
        readings = (whole, _split(_without_open_quotes(content)))
        place = header.index(numbers)
        known = [reading for reading in readings if reading is not None]
        whole = max(known, key=lambda reading: _count_numbers(reading, place), default=None)
    return pl.DataFrame() if whole is None else _named(whole, header, strip)


def _split(content: bytes) -> pl.DataFrame | None:
    try:
        return pl.read_csv(
            content, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy"
        )
    except pl.exceptions.PolarsError:
        return None


def _without_open_quotes(content: bytes) -> bytes:
    lines: Iterable[bytes] = content.split(b"\n")
    return b"\n".join(line.replace(b'"', b"") if line.count(b'"') % 2 else line for line in lines)


def _count_numbers(rows: pl.DataFrame, place: int) -> int:
    column = rows.to_series(place)
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    return len(numbers) - numbers.null_count()


def _named(rows: pl.DataFrame, header: list[str], strip: str) -> pl.DataFrame:
    texts = rows.select(
        pl.nth(header.index(name)).str.strip_chars(strip).alias(name)
        for name in dict.fromkeys(header)
        if header.index(name) < rows.width
    )
    empty_as_null = texts.with_columns(pl.all().replace("", None))
    return empty_as_null.filter(~pl.all_horizontal(pl.all().is_null()))
