"""Functions that run more often by the same number: they come with each other."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.behaviour.classes import UNTRACED
from timesink.analyses.diagnosis.causes.calls.functions import Functions, is_program, on_host

_LEAST_MORE = 0.5
"""Calls per cycle by which something must run more often to be more of it."""
_SAME_NUMBER = 0.05
_SOME = 4
"""Calls per cycle of which others are not a multiple by chance."""
_MANY = 10
"""Calls per cycle that do not come to be more by chance at the same time as others."""
_FEW_EACH = 4
_FRESH_EACH = 8
"""Operators that a value takes which is read: `isfinite(x).all()` is seven of them."""
_SAME_PROPORTION = 0.3
"""Part by which the growth of calls may differ from the proportion they grow in."""
_NEARLY_ALL = 0.8
_SAME_WORK = 1.1
"""Factor of the usual call by which the work of cycles may differ and still be the same."""


def more_calls(functions: Functions) -> np.ndarray:
    """By how many calls per cycle each function runs more often; 0 where it does not."""
    base, new = functions.calls
    rise = new - base
    more = (rise >= _LEAST_MORE) & ~functions.called_equally
    # Time in no call is cut into pieces by calls, and is not called itself.
    calls = functions.where(pl.col("function_class").ne_missing(UNTRACED))
    return np.where(more & calls, rise, 0.0)


def companions(functions: Functions, rise: float) -> np.ndarray:
    """Which functions run more often by that number of calls per cycle, or a few times that.

    >>> one, many = np.array([[1.0, 5.0]]), np.array([[101.0, 5.0]])
    >>> table = pl.DataFrame({"function_class": ["cpu_sync", "cpu_operator"]})
    >>> companions(Functions(table, one, many, one, many), 100.0).tolist()
    [True, False]
    """
    rises = more_calls(functions)
    times = np.clip(np.round(rises / rise), 1, _FEW_EACH if rise >= _SOME else 1)
    return np.asarray((rises > 0) & (np.abs(rises - times * rise) <= _SAME_NUMBER * rise))


def along(functions: Functions, rise: float) -> np.ndarray:
    """Which functions come with calls that are more by that number.

    Those that are more by the same number; of many calls, also what is more by about as many, and
    what did not run before at all, unless that is far more: a few others come with each call.
    """
    found = companions(functions, rise)
    if rise < _MANY:
        return found
    rises = more_calls(functions)
    found |= (rises >= rise / _FEW_EACH) & (rises <= rise * _FEW_EACH)
    fresh = (rises > 0) & (functions.calls[0] == 0)
    for there in (on_host(), ~on_host()):
        part = fresh & functions.where(there)
        if rises[part].sum() <= _FRESH_EACH * rise:
            found |= part
    return np.asarray(found)


def in_proportion(functions: Functions, ratio: float) -> np.ndarray:
    """Which functions run that many times as often as before, or nearly so.

    >>> one, many = np.array([[10.0, 5.0]]), np.array([[12.0, 9.0]])
    >>> table = pl.DataFrame({"function_class": ["cpu_operator", "cpu_operator"]})
    >>> in_proportion(Functions(table, one, many, one, many), 1.2).tolist()
    [True, False]
    """
    base, _ = functions.calls
    more = more_calls(functions) / np.where(base > 0, base, np.inf)
    near = np.abs(more - (ratio - 1)) <= _SAME_PROPORTION * (ratio - 1)
    return np.asarray((more > 0) & near)


def same_work(functions: Functions) -> bool:
    """Whether the usual function runs about as often as before."""
    return _is_same(_usual_ratio(functions))


def more_of_all(functions: Functions) -> float | None:
    """How many times as often nearly everything runs, on the host and on the device.

    None where the usual function runs about as often as before, or where only a part does not, as
    of a model with more layers between the same ends.
    """
    ratio = _usual_ratio(functions)
    if _is_same(ratio):
        return None
    seen, often = (functions, ratio) if ratio > 1 else (functions.swapped(), 1 / ratio)
    agree, total = in_proportion(seen, often), np.sum(functions.times, axis=0)
    for there in (is_program(), pl.col("part") == "device_compute"):
        part = functions.where(there)
        if total[part & agree].sum() < _NEARLY_ALL * total[part].sum():
            return None
    return ratio


def _usual_ratio(functions: Functions) -> float:
    base, new = functions.calls
    both = (base > 0) & (new > 0)
    return float(np.median(new[both] / base[both])) if both.any() else 1.0


def _is_same(ratio: float) -> bool:
    return 1 / _SAME_WORK <= ratio <= _SAME_WORK
