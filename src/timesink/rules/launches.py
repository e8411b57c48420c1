"""What launches are given to do, and what the host does more where there are more of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import Anatomy
from timesink.analyses.behaviour.functions import UNTRACED
from timesink.model.arrays import Floats, Ints
from timesink.rules.case import DiagnosisCase
from timesink.rules.case_functions import (
    CaseFunctions,
    companions,
    in_proportion,
    is_program,
    on_host,
    waits,
)
from timesink.rules.ledger import Demand
from timesink.rules.pace import added_calls, added_in_cycles

SAME_WORK = 0.02
"""Blocks or bytes per launch that differ by less than this part are as many."""
_MOST_OF_IT = 0.5
_LEAST_MORE = 0.02
"""Part by which kernels run more often before others may do so in the same proportion."""
_SOME = 4
"""Launches of one kernel per cycle that calls are not more by just by chance."""
_FAR_LONGER = 20.0
_AS_MANY = 0.3
"""Launches that differ from those of kernels by less than this part are the launches of these."""


def work_ratios(case: DiagnosisCase) -> Floats:
    """How many times as much work a launch of each function is given; NaN where not known.

    Known it is of functions launched equally often on both sides.
    """
    base, new = (_per_launch(side.anatomy) for side in (case.base, case.new))
    known = case.functions.called_equally & case.functions.where(~on_host())
    ratios = np.full(len(known), np.nan)
    for column in np.flatnonzero(known).tolist():
        name = case.functions.table["function"][column]
        both = zip(base.get(name, ()), new.get(name, ()), strict=False)
        ratios[column] = next((now / ago for ago, now in both if ago > 0 and now > 0), np.nan)
    return ratios


def has_other_work(ratios: Floats) -> np.ndarray:
    """Which functions are given more or less per launch."""
    return np.asarray(np.abs(np.nan_to_num(ratios, nan=1.0) - 1) > SAME_WORK)


def is_other_work(case: DiagnosisCase, ratios: Floats) -> bool:
    """Whether most of the time of kernels launched equally often is in ones given other work."""
    kernels = case.functions.called_equally & case.functions.where(
        pl.col("part") == "device_compute"
    )
    time = np.sum(case.functions.times, axis=0)
    total, other = time[kernels].sum(), time[kernels & has_other_work(ratios)].sum()
    return bool(total > 0 and other >= _MOST_OF_IT * total)


def _per_launch(anatomy: Anatomy) -> Mapping[str, tuple[float, float]]:
    """Blocks and bytes of a launch of each function."""
    sums = anatomy.launches.group_by("function").agg(pl.col("calls", "blocks", "bytes").sum())
    return {name: (blocks / calls, size / calls) for name, calls, blocks, size in sums.iter_rows()}


# -- what the host does more with kernels ----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Launching:
    """Functions of the host that run more or less often with kernels, and the code around them."""

    case: DiagnosisCase
    which: np.ndarray
    ratio: float | None
    """How many times as often most kernels and operators run, where that is one number."""

    def left_out(self) -> Launching:
        """None of these functions."""
        return Launching(self.case, np.zeros_like(self.which), None)

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of all of them."""
        return tuple(self.case.functions.table["function"].filter(pl.Series(self.which)))

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """What was added in each cycle of both sides, with the code around the calls."""
        columns, around = self._around()
        which = np.concatenate([np.flatnonzero(self.which), columns])
        added = np.concatenate([added_calls(self.case.functions, self.which), around])
        return added_in_cycles(self.case.functions, which, added)

    def demands(self) -> Iterator[Demand]:
        """What was added in each part; the code around the calls only as far as it is there."""
        parts = self.case.functions.table["part"].to_numpy()
        added = added_calls(self.case.functions, self.which)
        for part in np.unique(parts[self.which]):
            ns = float(added[parts[self.which] == part].sum())
            yield Demand(ns, (str(part),), structural=True)
        for column, ns in zip(*self._around(), strict=True):
            yield Demand(float(ns), (str(parts[column]), "host_cpu", "idle"))

    def _around(self) -> tuple[Ints, Floats]:
        """Marks and time in no call, and what they gained by lying around more calls."""
        functions = self.case.functions
        marks = functions.where(
            on_host(),
            pl.col("function_class").is_in(["cpu_annotation", UNTRACED]),
            pl.col("part") != "data_loading",
            ~pl.col("function").is_in([*self.case.taken, *self.case.blurred]),
        )
        called = functions.where(on_host()) & ~marks
        often = [float(side[called].sum()) for side in functions.calls]
        share = (often[1] - often[0]) / max(*often, 1.0) if self.ratio is not None else 0.0
        before, after = functions.times
        most, gained = share * np.maximum(before, after), after - before
        some = np.flatnonzero(marks & ~self.which & (most * gained > 0))
        return some, np.where(gained > 0, np.minimum(most, gained), np.maximum(most, gained))[some]


def launching(case: DiagnosisCase, kernels: list[np.ndarray]) -> Launching:
    """What comes with kernels that run more or less often; `kernels` are these, by family."""
    functions = case.functions
    changed = np.any(kernels, axis=0)
    ratio = common_ratio(functions, changed)
    found = np.zeros(functions.table.height, dtype=bool)
    base, new = functions.calls
    total = float((new - base)[changed].sum())
    rises = {float((new - base)[which].sum()) for which in kernels}
    if abs(total) >= 1:
        rises |= {float(rise) for rise in (new - base)[changed] if abs(rise) >= _SOME}
    for rise in rises:
        if abs(rise) >= 1:
            found |= companions(functions if rise > 0 else functions.swapped(), abs(rise))
    found &= _are_short(functions)
    if ratio is not None:
        found |= in_proportion(functions, ratio)
    found |= _launches(functions, total)
    own = functions.where(on_host(), ~waits(), ~pl.col("function").is_in(list(case.taken)))
    return Launching(case, np.asarray(found & own), ratio)


def _are_short(functions: CaseFunctions) -> np.ndarray:
    """Which functions take what others take per call: what takes far longer does other things."""
    calls, times = np.sum(functions.calls, axis=0), np.sum(functions.times, axis=0)
    each = times / np.where(calls > 0, calls, np.inf)
    usual = each[functions.where(is_program()) & (each > 0)]
    return np.asarray(each <= _FAR_LONGER * np.median(usual) if len(usual) else each <= 0)


def common_ratio(functions: CaseFunctions, changed: np.ndarray) -> float | None:
    """How many times as often most of the changed kernels run; None where they do not agree."""
    base, new = functions.calls
    both = changed & (base > 0) & (new > 0)
    if not both.any():
        return None
    total = np.sum(functions.times, axis=0)
    ratios, times = (new / np.where(base > 0, base, 1.0))[both], total[both]
    order = np.argsort(ratios)
    middle = np.searchsorted(np.cumsum(times[order]), times.sum() / 2)
    ratio = float(ratios[order][min(int(middle), len(order) - 1)])
    if abs(ratio - 1) < _LEAST_MORE:
        return None
    agree = changed & in_proportion(functions, ratio)
    return ratio if total[agree].sum() >= _MOST_OF_IT * total[changed].sum() else None


def _launches(functions: CaseFunctions, rise: float) -> np.ndarray:
    """Calls that launch kernels, where there are more of them by as many as there are kernels."""
    base, new = functions.calls
    found = functions.where(
        pl.col("function_class") == "cpu_launch", pl.col("function").str.contains("Launch")
    )
    found &= ~functions.called_equally
    agrees = abs(float((new - base)[found].sum()) - rise) <= _AS_MANY * abs(rise)
    return np.asarray(found & (agrees and abs(rise) >= 1))
