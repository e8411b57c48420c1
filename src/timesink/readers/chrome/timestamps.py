"""Microseconds as text or float to integer nanoseconds, without losing a digit.

Today's Unix time in microseconds with three decimals needs 61 bits; a float64 holds 53.  Below
2**43 us a float64 still tells neighbouring nanoseconds apart, so the fast path stays exact there.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]

NULL_INT = -(2**63)
"""Stands for a missing integer until the tables are assembled."""

EXACT_FLOAT_LIMIT_US = float(2**43)
_DIGITS_MOST = 15 + 1
"""Digits (and a sign) before the point that surely fit 64 bits as nanoseconds."""
_LONGEST = 31
_ZERO, _DOT, _MINUS, _COMMA, _QUOTE = (ord(character) for character in '0.-,"')


def float_us_to_ns(values_us: Float64Array) -> Int64Array:
    """Exact below 2**43 us; NaN and infinities become NULL_INT."""
    finite = np.isfinite(values_us) & (np.abs(values_us) < 9.2e15)
    safe = np.where(finite, values_us, 0.0)
    whole = np.floor(safe)
    # The fraction is exact in float64, so only it is rounded.
    result = whole.astype(np.int64) * 1000 + np.rint((safe - whole) * 1000).astype(np.int64)
    return np.where(finite, result, NULL_INT)


def text_us_to_ns(texts: Sequence[bytes]) -> Int64Array:
    """Exact decimal conversion of many numbers at once; what is no number becomes NULL_INT."""
    if not texts:
        return np.empty(0, np.int64)
    buffer = np.frombuffer(b",".join(texts) + b",", np.uint8)
    buffer = buffer[buffer != _QUOTE]
    ends = np.flatnonzero(buffer == _COMMA)
    if len(ends) != len(texts):
        return np.array([_decimal_us_to_ns(text) for text in texts], np.int64)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts
    points = lengths.copy()
    dots = np.flatnonzero(buffer == _DOT)
    dotted = np.searchsorted(ends, dots)
    points[dotted] = dots - starts[dotted]

    values = np.full(len(texts), NULL_INT, np.int64)
    # Numbers of one layout (length and place of the point) are added up column by column.
    layouts = lengths * (_LONGEST + 1) + points
    for layout in np.unique(layouts[lengths <= _LONGEST]):
        rows = np.flatnonzero(layouts == layout)
        length, point = divmod(int(layout), _LONGEST + 1)
        values[rows] = _sum_columns(buffer, starts[rows], length, point)
    for row in np.flatnonzero(values == NULL_INT):
        values[row] = _decimal_us_to_ns(texts[int(row)])
    return values


def _sum_columns(
    buffer: npt.NDArray[np.uint8], starts: Int64Array, length: int, point: int
) -> Int64Array:
    """Numbers of one layout in ns; NULL_INT where a character is not what the layout promises."""
    decimals = max(length - point - 1, 0)
    if not 0 < point <= _DIGITS_MOST or decimals > 3:
        return np.full(len(starts), NULL_INT, np.int64)
    total = np.zeros(len(starts), np.int64)
    fits = np.ones(len(starts), bool)
    negative = buffer[starts] == _MINUS
    for column in range(length):
        if column == point:
            continue
        digit = buffer[starts + column].astype(np.int64) - _ZERO
        is_digit = (digit >= 0) & (digit <= 9)
        if column == 0:
            fits &= is_digit | (negative & (point > 1))
            digit[negative] = 0
        else:
            fits &= is_digit
        total = total * 10 + digit
    scale = 10 ** (3 - decimals)
    fits &= (total >= 0) & (total <= (2**63 - 1) // scale)
    total *= scale
    return np.where(fits, np.where(negative, -total, total), NULL_INT)


def _decimal_us_to_ns(text: bytes) -> int:
    try:
        number = Decimal(text.decode("ascii").strip().strip('"')) * 1000
        value = int(number.to_integral_value(ROUND_HALF_EVEN))
    except (ArithmeticError, ValueError):
        return NULL_INT
    return value if abs(value) < 2**63 else NULL_INT
