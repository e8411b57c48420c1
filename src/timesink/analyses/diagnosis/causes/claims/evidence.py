"""Evidence of the sorts that several rules give."""

from __future__ import annotations

import re

import numpy as np

from timesink.analyses.behaviour.classes import STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.diagnosis.causes.calls.functions import Functions
from timesink.analyses.diagnosis.causes.case import Case, Side
from timesink.analyses.diagnosis.diagnosis import Anomaly, Evidence
from timesink.analyses.kernel_names.short import short_name
from timesink.model import amounts
from timesink.model.schema import HOST_DEVICE

_PYTHON = re.compile(r"\.py\(\d+\): |^<.*>$|^enumerate\(DataLoader\)")
"""Names of Python: `train.py(12): step`, `<built-in function sleep>`, data loaders of PyTorch."""


def calls_evidence(case: Case, column: int) -> Evidence:
    """How often a function runs per cycle on both sides."""
    row = case.functions.table.row(column, named=True)
    base, new = (float(side[column]) for side in case.functions.calls)
    text = f"{told_name(row['function'])}: {case.calls(base, new)} calls per cycle"
    return Evidence(
        "calls",
        text,
        function=row["function"],
        device=row["device"],
        unit="calls per cycle",
        base=base,
        new=new,
    )


def time_evidence(case: Case, column: int) -> Evidence:
    """How long a function takes per cycle on both sides, and how often it runs."""
    functions = case.functions
    row = functions.table.row(column, named=True)
    base, new = (float(side[column]) for side in functions.times)
    calls = case.calls(*(float(side[column]) for side in functions.calls))
    where = "" if row["device"] == HOST_DEVICE else f" on {row['device']}"
    text = (
        f"{told_name(row['function'])}{where}: {case.times(base, new)} in {calls} calls per cycle"
    )
    if row["function"] == STEP_MARK:
        text = f"{STEP_MARK_TOLD}: {case.times(base, new)} per cycle"
    return Evidence(
        "function" if row["device"] == HOST_DEVICE else "kernel",
        text,
        function=row["function"],
        device=row["device"],
        unit="ns",
        base=base,
        new=new,
    )


def cycle_evidence(side: Side, values: np.ndarray) -> Evidence | None:
    """The cycle of the new side that shows something as it usually is: the one at its median."""
    if not len(values):
        return None
    middle = int(np.argsort(values, kind="stable")[len(values) // 2])
    number = side.cycles[middle]
    start, end = side.anatomy.span(number)
    return Evidence(
        "cycle",
        f"cycle {number} shows it as most do",
        side="new",
        cycle=int(number),
        start_ns=start,
        end_ns=end,
    )


def counter_evidence(case: Case, anomaly: Anomaly) -> Evidence:
    """The counter that an anomaly is about; in words in the order in which the runs were given."""
    levels = anomaly.base, anomaly.new
    told = amounts.amounts(*(levels[::-1] if case.backwards else levels), anomaly.unit)
    return Evidence(
        "counter",
        f"{anomaly.metric} of {anomaly.device}: {told}",
        device=anomaly.device,
        metric=anomaly.metric,
        unit=anomaly.unit,
        base=anomaly.base,
        new=anomaly.new,
    )


def told_name(function: str) -> str:
    """A function as people say it.

    >>> told_name("void at::native::reduce_kernel<512>(int)"), told_name("train.py(12): step")
    ('reduce_kernel', 'train.py(12): step')
    """
    return function if _PYTHON.search(function) else short_name(function) or function


def by_change(functions: Functions, which: np.ndarray) -> list[int]:
    """The chosen functions, largest change of time first."""
    base, new = functions.times
    return sorted(np.flatnonzero(which).tolist(), key=lambda each: -abs(new[each] - base[each]))
