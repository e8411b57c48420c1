"""Printed numbers of any locale as values, without a detour through a rounded product.

`26,336` is 26336 to an English profiler and 26.336 to a German one.  A value that can only be read
one way is read that way; the others follow what the file's unambiguous values say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.patterns import regex

POINT, COMMA = ".", ","
_GROUPING_SPACE = "[\\s\u00a0\u2009\u202f'\u2019]"
_GROUPED_BY_SPACE = rf"^\s*[-+]?\d{{1,3}}(?:{_GROUPING_SPACE}\d{{3}})+(?:[.,]\d*)?\s*$"
_INSTANCES = r"\s+\(.*$"
"""Values of single units behind their sum (`--print-metric-instances`)."""
_NO_VALUE = r"(?i)^\s*(?:|n/?a|-?nan(?:\(ind\))?|-+|none|null|[-+]?inf(?:inity)?)\s*$"


def _certain(decimal: str, group: str) -> str:
    """Texts in which `decimal` must be the decimal mark, or `group` must group digits."""
    d, g = f"[{decimal}]", f"[{group}]"
    return (
        r"^[-+]?(?:"
        rf"\d*{d}(?:\d{{0,2}}|\d{{4,}})"  # 72.37, 26.336000: groups have three digits
        rf"|(?:|0\d*|\d{{4,}}){d}\d{{3}}"  # 0.336, 1234.567: and none before them is longer
        rf"|\d{{1,3}}(?:{g}\d{{3}})+{d}\d*"  # 1,234.5
        rf"|\d{{1,3}}(?:{g}\d{{3}}){{2,}}"  # 1,234,567
        rf"|\d*{d}?\d*[eE][-+]?\d+"
        r")$"
    )


_CERTAIN_POINT = _certain(POINT, COMMA)
_CERTAIN_COMMA = _certain(COMMA, POINT)
_THREE_AFTER_POINT, _THREE_AFTER_COMMA = (
    r"^[-+]?[1-9]\d{0,2}[.]\d{3}$",
    r"^[-+]?[1-9]\d{0,2},\d{3}$",
)
_LOOKED_AT = 5_000
"""About as many texts of a stretch are looked at; more would only repeat the answer."""
WHOLE_UNITS = ("ns", "nsecond", "byte", "inst")
"""Units whose values are whole: three digits behind a mark are a group."""
SMALL_UNITS = ("%",)
"""Units whose values are below a thousand: three digits behind a mark are decimals."""


class DecimalEvidence(msgspec.Struct):
    """How often the decimal mark was certainly, or probably, a point or a comma."""

    certain: dict[str, int] = msgspec.field(default_factory=lambda: {POINT: 0, COMMA: 0})
    likely: dict[str, int] = msgspec.field(default_factory=lambda: {POINT: 0, COMMA: 0})

    @property
    def decimal(self) -> str:
        """The decimal mark of the file: what is certain decides, then what is likely."""
        for counts in (self.certain, self.likely):
            if counts[POINT] != counts[COMMA]:
                return max(counts, key=lambda mark: counts[mark])
        return POINT

    def look_at(self, texts: pl.Series, units: pl.Series) -> None:
        """Count what some texts of one stretch of the file say."""
        every = max(1, len(texts) // _LOOKED_AT)
        rows = pl.DataFrame({"text": texts, "unit": units}).gather_every(every)
        text = _without_spaces(pl.col("text"))
        unit = pl.col("unit").cast(pl.String)
        is_integer, small = unit.is_in(WHOLE_UNITS), unit.is_in(SMALL_UNITS)
        after_point = text.str.contains(_THREE_AFTER_POINT)
        after_comma = text.str.contains(_THREE_AFTER_COMMA)
        counts = rows.select(
            certain_point=text.str.contains(_CERTAIN_POINT).sum(),
            certain_comma=text.str.contains(_CERTAIN_COMMA).sum(),
            likely_point=((is_integer & after_comma) | (small & after_point)).sum(),
            likely_comma=((is_integer & after_point) | (small & after_comma)).sum(),
        ).row(0, named=True)
        for mark, name in ((POINT, "point"), (COMMA, "comma")):
            self.certain[mark] += counts[f"certain_{name}"]
            self.likely[mark] += counts[f"likely_{name}"]


def to_numbers(texts: pl.Series, decimal: str, exponents: pl.Series | None = None) -> pl.Series:
    """The values of printed numbers; null where a text is none, or is not finite.

    `exponents` are powers of ten as text (`e3`, or nothing), one for every number.
    """
    plain = _to_plain(texts, decimal)
    if exponents is not None:
        plain = pl.select(pl.concat_str([plain, exponents])).to_series()
    values = plain.cast(pl.Float64, strict=False)
    return values.set(~values.is_finite().fill_null(value=False), None).alias(texts.name)


def _to_plain(texts: pl.Series, decimal: str) -> pl.Series:
    """The texts with digits, a point and nothing else, where they are numbers."""
    if decimal == POINT:
        # Most values are plain already, and a text with a comma is none.
        odd = texts.str.contains(r"[^0-9.]|[.].*[.]").fill_null(value=False)
    else:
        odd = texts.is_not_null()
    if not odd.any():
        return texts
    places = odd.arg_true()
    frame = pl.DataFrame({"text": texts.gather(places)})
    text = pl.col("text")
    certain_comma = text.str.contains(_CERTAIN_COMMA)
    certain_point = text.str.contains(_CERTAIN_POINT)
    is_comma = certain_comma | ~certain_point if decimal == COMMA else certain_comma
    mended = frame.with_columns(_without_spaces(text.str.replace(_INSTANCES, ""))).select(
        pl.when(is_comma)
        .then(text.str.replace_all(POINT, "", literal=True).str.replace(COMMA, POINT, literal=True))
        .otherwise(text.str.replace_all(COMMA, "", literal=True))
    )
    return texts.scatter(places, mended.to_series())


def _without_spaces(text: pl.Expr) -> pl.Expr:
    """Digits without what groups them; a list of numbers stays one."""
    grouped = text.str.contains(_GROUPED_BY_SPACE)
    joined = text.str.replace_all(_GROUPING_SPACE, "")
    return pl.when(grouped).then(joined).otherwise(text.str.strip_chars()).alias("text")


def is_missing(texts: pl.Series) -> pl.Series:
    """Whether a text says that there is no value, rather than being a word."""
    return texts.str.contains(_NO_VALUE).fill_null(value=True)


# Units as Nsight Compute prints them, and the base unit each is a power of ten of.
#
# The same metric is printed as `26,336 ns`, `26.34 us` or `26.34 usecond`, depending on the size of
# the value, the version and `--print-units`.  The power of ten is written behind the printed digits
# before they become a number (`26.34e3`), so no value passes through a product that rounds.

_SECONDS = {"second": 0, "s": 0, "sec": 0, "m": -3, "u": -6, "µ": -6, "n": -9, "p": -12}
_TIME = regex(r"^(?P<prefix>[munpµ]?)(?:s|sec|second)s?$")
_PREFIXED = regex(r"^(?P<prefix>[KMGTPk])(?P<unit>[a-z]\w*|Hz|B)$")
_POWERS = {"K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_SAME = {
    "Hz": "hz",
    "B": "byte",
    "bytes": "byte",
    "cycle/s": "hz",
    "cycles": "cycle",
    "percent": "%",
}
_NANO = 9


@cache
def unit_of(printed: str) -> tuple[str, int]:
    """The base unit of a printed one, and the power of ten that leads to it."""
    above, slash, below = printed.strip().partition("/")
    upper, power = _single(above, of_time="ns", time_power=_NANO)
    if not slash:
        return upper, power
    # Rates are per second whatever time they are printed for.
    lower, less = _single(below, of_time="s", time_power=0)
    base = f"{upper}/{lower}"
    return _SAME.get(base, base), power - less


def _single(printed: str, *, of_time: str, time_power: int) -> tuple[str, int]:
    if time := _TIME.match(printed):
        return of_time, _SECONDS.get(time["prefix"], 0) + time_power
    if prefixed := _PREFIXED.match(printed):
        return _SAME.get(prefixed["unit"], prefixed["unit"]), _POWERS[prefixed["prefix"]]
    return _SAME.get(printed, printed), 0


STRETCH = 16 * 1024 * 1024
"""Bytes parsed at once: enough to keep both the parser and a small machine busy."""
_Item = TypeVar("_Item")
_LINE_END = ord("\n")
_PART = 128 * 1024
_BOM = b"\xef\xbb\xbf"


def stretches(blocks: Iterable[bytes], size: int = STRETCH) -> Iterator[bytes]:
    r"""Whole lines of about `size` bytes in all, ended by `\n`; only the last line may lack it."""

    def plain_ends(text: bytes) -> bytes:
        return text.replace(b"\r\n", b"\n") if b"\r" in text else text

    chunks: list[bytes] = []
    length = 0
    for place, block in enumerate(blocks):
        chunks.append(block if place else block.removeprefix(_BOM))
        length += len(chunks[-1])
        if length < size:
            continue
        text = b"".join(chunks)
        end = text.rfind(b"\n") + 1
        if end:
            yield plain_ends(text[:end])
        chunks = [text[end:]] if end < len(text) else []
        length = len(text) - end
    if chunks:
        yield plain_ends(b"".join(chunks))


def ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """The same items; each is made while the one before is worked on."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def count_lines(text: bytes) -> int:
    r"""How many lines there are; the last need not end."""
    letters = np.frombuffer(text, np.uint8)
    ends = sum(int(np.count_nonzero(part == _LINE_END)) for _, part in _parts(letters))
    return ends + (not text.endswith(b"\n"))


def _parts(letters: NDArray[np.uint8]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Parts so small that what is computed of them stays in the cache of a core."""
    for begin in range(0, len(letters), _PART):
        yield begin, letters[begin : begin + _PART]


def all_quoted_rows(text: bytes) -> bool:
    r"""Whether every line ends, and begins with a quoted number."""
    if not text.endswith(b"\n"):
        return False
    letters = np.frombuffer(text, np.uint8)
    starts = np.concatenate(
        [np.flatnonzero(part == _LINE_END) + begin + 1 for begin, part in _parts(letters)]
    )
    starts[-1] = 0
    digits = letters[np.minimum(starts + 1, len(text) - 1)] - ord("0")
    return bool((letters[starts] == ord('"')).all() and (digits < 10).all())
