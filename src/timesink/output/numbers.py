"""Numbers of a document in words, by their kind: the browser has the same words for them.

A column says its unit in its name, so that the kind of its values follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import polars as pl

from timesink.model import units
from timesink.model import units as amounts
from timesink.output.blocks import CauseCard, Kind

NONE = "-"
"""What stands for a number there is none of."""
WORDS: Mapping[str, Callable[..., str]] = {
    "time_ns": units.duration_ns,
    "moment_ns": units.moment_ns,
    "bytes": units.size_bytes,
    "bytes_per_s": lambda value: f"{units.size_bytes(value)}/s",
    "count": lambda value: units.count(round(value)),
    "number": units.number,
    "share": lambda value: units.share(value, 1),
    "percent": lambda value: units.share(value, 100),
    "p_value": amounts.chance,
}
"""What words each kind of number."""

_MOMENTS = ("ts_ns", "start_ns", "end_ns")
"""Endings of columns that are points in time: these stay whole nanoseconds of the clock."""
_RATIOS = ("_ratio", "utilisation", "any_activity", "within_steps", "sm_efficiency")


def worded(value: float | None, kind: Kind) -> str:
    """A number as people read it, with its unit."""
    known = value is not None and math.isfinite(value)
    return WORDS[kind](value) if known else NONE


def signed(value: float | None, kind: Kind) -> str:
    """The same for a change: a plus is told, and no sign where it rounds to nothing."""
    if value is None:
        return NONE
    said = worded(abs(value), kind)
    return f"{'-' if value < 0 else '+'}{said}" if any(c in "123456789" for c in said) else said


def cost_of(card: CauseCard) -> str:
    """What a cause explains, between which bounds, and how much of the change that is."""
    explains = "" if not card.explained else change_of(card.explained, card.kind)
    bounds = f" ({card.interval})" if card.interval else ""
    # A cause that others work against may explain more than all of the change.
    tells = card.share is not None and card.share < 1.0005
    share = f"{worded(card.share, 'share')} {card.share_word}" if tells else ""
    return ", ".join(filter(None, (f"{explains}{bounds}", share)))


def change_of(value: float, kind: Kind) -> str:
    """A change as sentences say it, with its sign.

    >>> change_of(5_310_000, "time_ns")
    '+5.31 ms'
    """
    return amounts.signed_ns(value) if kind == "time_ns" else signed(value, kind)


def is_moment(name: str) -> bool:
    """Whether a column holds points in time."""
    return name.endswith(_MOMENTS)


def is_length(name: str) -> bool:
    """Whether a column holds lengths of time."""
    return name.endswith("_ns") and not is_moment(name)


def is_ratio(name: str) -> bool:
    """Whether a column holds parts of a whole, 0 to 1."""
    return name.endswith(_RATIOS)


_KINDS: tuple[tuple[Callable[[str], bool], Kind], ...] = (
    (is_moment, "moment_ns"),
    (is_length, "time_ns"),
    (lambda name: name.endswith("bytes_per_s"), "bytes_per_s"),
    (lambda name: name.endswith("bytes"), "bytes"),
    (lambda name: name.endswith("_pct"), "percent"),
    (is_ratio, "share"),
)


def kind_of(name: str, dtype: pl.DataType) -> Kind:
    """How the values of a column are to be read; its name carries the unit."""
    if not dtype.is_numeric() or name == "device":
        return "text"
    plain: Kind = "count" if dtype.is_integer() else "number"
    return next((kind for fits, kind in _KINDS if fits(name)), plain)
