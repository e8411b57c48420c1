"""Which changes of cycle time two runs can show at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from timesink.analyses.diagnosis.diagnosis import CycleTime
from timesink.model import units
from timesink.reports.gate.limit import Limit

_WHOLE = 100.0


def tested_interval_pct(lengths: CycleTime) -> tuple[float, float] | None:
    """The 95 % interval of the change of what is tested; None where there is none.

    >>> tested_interval_pct(CycleTime(100.0, 101.0, 1.0, (-3.0, 5.0), 0.6))
    (-3.0, 5.0)
    """
    steady = lengths.steady
    return lengths.interval_pct if steady is None else steady.interval_pct


def unseen_pct(lengths: CycleTime) -> float | None:
    """Changes below this are lost in noise: half the width of the interval of what is tested.

    A true change of this size is found every other time.  None where there is no interval.

    >>> unseen_pct(CycleTime(100.0, 101.0, 1.0, (-3.0, 5.0), 0.6))
    4.0
    """
    bounds = tested_interval_pct(lengths)
    if bounds is None:
        return None
    low, high = bounds
    return (high - low) / 2


def unseen(smallest_pct: float, limit: Limit | None, cycles: Sequence[int]) -> str:
    """Which changes cannot be seen, and what follows for a limit.

    >>> unseen(20.0, Limit(), (8, 6))
    'Changes below about 20 % cannot be seen in 8 and 6 cycles.'
    >>> print(unseen(20.0, Limit(5.0), (8, 8)).partition(": ")[2])
    a slow-down of 5 % may pass. Record more cycles.
    """
    count = " and ".join(map(str, dict.fromkeys(cycles)))
    said = f"Changes below about {_rounded(smallest_pct)} cannot be seen in {count} cycles"
    allowed = None if limit is None else limit.allowed_pct
    if not allowed or smallest_pct <= allowed:
        return f"{said}."
    return f"{said}: a slow-down of {allowed:g} % may pass. Record more cycles."


def _rounded(pct: float) -> str:
    """Two digits, upward: more would claim to know it.

    >>> _rounded(3.72), _rounded(20.0), _rounded(0.0311), _rounded(1234.5)
    ('3.8 %', '20 %', '0.032 %', '1 235 %')
    """
    if pct >= _WHOLE:
        return f"{units.count(math.ceil(pct))} %"
    if not pct:
        return "0 %"
    digits = 1 - math.floor(math.log10(pct))
    step: float = 10.0**-digits
    return f"{math.ceil(pct / step - 1e-9) * step:.{max(digits, 0)}f} %"
