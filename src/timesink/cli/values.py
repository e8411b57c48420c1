"""Values of options, for `type=`: what cannot be meant is refused in words."""

from __future__ import annotations

import argparse
import math
import os
from fractions import Fraction
from pathlib import Path

_MOST_PROCESSES = 64
"""On machines with fewer cores than this."""
_MOST_ROWS = 2**31
"""A larger number means the same: all of them."""


def not_empty(text: str) -> str:
    """A path as given; an empty one is refused.

    >>> not_empty("trace.json")
    'trace.json'
    """
    if not text:
        # Most likely a shell variable that is not set; the current folder is not what was meant.
        msg = "the path is empty"
        raise argparse.ArgumentTypeError(msg)
    return text


def process_count(text: str) -> int:
    """A number of processes; more than are of any use are not started.

    >>> process_count("4")
    4
    """
    return min(whole_number(text, "processes"), max(_MOST_PROCESSES, os.cpu_count() or 1))


def row_count(text: str) -> int:
    """A number of rows to show.

    >>> row_count("10")
    10
    """
    return min(whole_number(text, "rows"), _MOST_ROWS)


def whole_number(text: str, things: str) -> int:
    """A count of something.

    >>> whole_number("010", "launches")
    10
    """
    if not (text.isascii() and text.isdigit() and text.strip("0")):
        msg = f"{text!r} is not a number of {things}, 1 or more"
        raise argparse.ArgumentTypeError(msg)
    # Beyond twenty digits the number is large, whichever it is; Python converts only so many.
    return int(text.lstrip("0")[:20])


def fraction(text: str) -> float:
    """A part of a whole between 0 and 1: a decimal, a fraction or a percentage.

    >>> fraction("0.25"), fraction("25%"), fraction("1/4")
    (0.25, 0.25, 0.25)
    """
    value = fraction_or_all(text)
    if value in {0, 1}:
        raise _no_fraction(text)
    return value


def fraction_or_all(text: str) -> float:
    """A part of a whole that may be none or all of it.

    >>> fraction_or_all("0"), fraction_or_all("100%")
    (0.0, 1.0)
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = Fraction(number) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        raise _no_fraction(text) from None
    if not 0 <= value <= 1:
        raise _no_fraction(text)
    return float(value)


def _no_fraction(text: str) -> argparse.ArgumentTypeError:
    msg = f"{text!r} is not a share between 0 and 1, such as 1/3, 0.25 or 25%"
    return argparse.ArgumentTypeError(msg)


def percentage(text: str) -> float:
    """Percent of a whole; the sign may be left out.

    >>> percentage("1"), percentage("0.5%")
    (1.0, 0.5)
    """
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        msg = f"{text!r} is not a percentage between 0 and 100"
        raise argparse.ArgumentTypeError(msg)
    return value


def file_or_stdout(text: str) -> Path | None:
    """An output; None for standard output, which is `-`.

    >>> file_or_stdout("-") is None
    True
    """
    return None if text == "-" else Path(not_empty(text))


def file_only(text: str) -> Path:
    """An output that must be a file or a folder.

    >>> file_only("tables").name
    'tables'
    """
    if text == "-":
        msg = "this cannot be written to standard output; name a file"
        raise argparse.ArgumentTypeError(msg)
    return Path(not_empty(text))
