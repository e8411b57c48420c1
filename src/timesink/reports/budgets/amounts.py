"""Times and percentages as people write them in a file of budgets."""

from __future__ import annotations

import re

from timesink.reports.budgets.budgets import Increase

_NS_OF = {"ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9}
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
    return number * _NS_OF[unit]


def increase(value: object) -> Increase:
    """A percentage or a time.

    >>> increase("10%"), increase("0.2 ms")
    (Increase(pct=10.0, ns=None), Increase(pct=None, ns=200000.0))
    """
    number, unit = _parts(value, _INCREASE)
    if unit == _PERCENT:
        return Increase(pct=number)
    if unit not in _NS_OF:
        raise AmountError(_INCREASE)
    return Increase(ns=number * _NS_OF[unit])


def _parts(value: object, form: str) -> tuple[float, str]:
    found = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise AmountError(form)
    return float(found[1]), found[2]
