"""One value of a table of kernels for people."""

from __future__ import annotations

from decimal import Decimal

from timesink.model import units


def cell(value: object) -> str:
    """One value for people.

    >>> cell(1200), cell(None), cell(True)
    ('1 200', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return units.count(value)
    if isinstance(value, (float, Decimal)):
        return units.number(float(value))
    return str(value)
