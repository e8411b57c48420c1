"""Times and percentages as people write them in a file of budgets."""

from __future__ import annotations

import re
from decimal import Decimal

from timesink.reports.budgets.budgets import Increase

_NS_OF = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_AMOUNT = re.compile(r"\+?\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,2})?)\s*(\S+)", re.IGNORECASE)
_PERCENT = "%"
_TIME = 'a time is a number and its unit, as in "1.5 ms" (ns, us, ms, s)'
_INCREASE = 'an increase is a percentage or a time, as in "10%" or "0.2 ms"'


class AmountError(ValueError):
    """What was written is no amount; the message says what one is."""


def time_ns(value: object) -> float:
    """A time in ns.

    >>> time_ns("1.5 ms"), time_ns("200us")
    (1500000.0, 200000.0)
    """
    number, unit = _parts(value, _TIME)
    if unit not in _NS_OF:
        raise AmountError(_TIME)
    return float(number * _NS_OF[unit])


def increase(value: object) -> Increase:
    """A percentage or a time.

    >>> increase("10%"), increase("0.2 ms")
    (Increase(pct=10.0, ns=None), Increase(pct=None, ns=200000.0))
    """
    number, unit = _parts(value, _INCREASE)
    if unit == _PERCENT:
        return Increase(pct=float(number))
    if unit not in _NS_OF:
        raise AmountError(_INCREASE)
    return Increase(ns=float(number * _NS_OF[unit]))


def _parts(value: object, form: str) -> tuple[Decimal, str]:
    found = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise AmountError(form)
    # Exact: 1.13 us are 1130 ns, and no part of one less.
    return Decimal(found[1]), found[2]
