"""Time per cycle of operators, modules and kernels of a role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.anatomy.of_role import anatomy_of_role
from timesink.analyses.behaviour.rows import once_per_cycle, plain_texts
from timesink.analyses.comparison.role import Role
from timesink.analyses.kernel_calls.families import load_families
from timesink.reports.budgets.budgets import Budget
from timesink.reports.budgets.patterns import NamePattern

Floats = NDArray[np.float64]

_CALL_KIND = {"operators": "operator", "modules": "module"}
_ON_DEVICE = "gpu_"
"""How classes of functions begin that run on a device."""
DEVICE_TIME = "time on a device"
"""What recordings lack in which nothing tells of work on devices, or of who launched it."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRun:
    """What an entry matches on one side, cycle by cycle."""

    rows: pl.DataFrame
    """Columns `name`, `cycle` and `ns`."""
    cycles: Sequence[int]
    """Every cycle, in order; what is not in `rows` took no time."""

    @property
    def names(self) -> set[str]:
        return set(self.rows["name"].unique())

    def matrix(self, names: Sequence[str], warm_up: int) -> Floats:
        """Time by cycle and name, cycles after warm-up in order."""
        row = pl.DataFrame({"cycle": pl.Series(self.cycles, dtype=pl.Int64)}).with_row_index("row")
        column = pl.DataFrame({"name": names}, {"name": pl.String}).with_row_index("column")
        placed = self.rows.join(row, "cycle").join(column, "name")
        values = np.zeros((row.height, column.height))
        where = placed["row"].to_numpy(), placed["column"].to_numpy()
        np.add.at(values, where, placed["ns"].to_numpy())
        return values[warm_up:]


def measured(role: Role, budget: Budget, of: str) -> MeasuredRun:
    """What an entry matches in a role; `of` is the sort of time."""
    if budget.kind == "kernels":
        return _kernels(role, NamePattern.of(budget.name))
    anatomy = anatomy_of_role(role)
    calls = anatomy.calls.filter(kind=_CALL_KIND[budget.kind])
    pattern = NamePattern.of(budget.name)
    fitting = [name for name in calls["name"].unique() if _fits(pattern, name, budget.kind)]
    rows = calls.filter(pl.col("name").is_in(fitting)).select("name", "cycle", ns=f"{of}_ns")
    return MeasuredRun(rows, anatomy.cycles["cycle"].sort().to_list())


def has_device_work(role: Role) -> bool:
    """Whether any operator of a role launched work on a device."""
    return role.anatomy is not None and bool((role.anatomy.calls["device_ns"] > 0).any())


def lacking(role: Role, kind: str, of: str) -> str | None:
    """What a role does not tell of: a kind at all, or its time on a device; None where it does."""
    if kind == "kernels":
        return kind if device_work(role).is_empty() else None
    if role.anatomy is None or role.anatomy.calls.filter(kind=_CALL_KIND[kind]).is_empty():
        return kind
    return DEVICE_TIME if of == "device" and not has_device_work(role) else None


def _fits(pattern: NamePattern, name: str, kind: str) -> bool:
    """A module goes by its path, or by the last part of it."""
    return pattern.fits(name) or (kind == "modules" and pattern.fits(name.rpartition(".")[2]))


def _kernels(role: Role, pattern: NamePattern) -> MeasuredRun:
    work = device_work(role)
    names = {
        function: name
        for function, short in work.select("function", "short_name").unique().iter_rows()
        if (name := _kernel(pattern, function, short)) is not None
    }
    rows = work.filter(pl.col("function").is_in(list(names))).select(
        pl.col("function").replace(names).alias("name"), "cycle", ns="dur_ns"
    )
    known = role.behaviour.filter(pl.col("cycle_dur_ns") > 0)
    cycles = (known if known.height else role.behaviour)["cycle"].unique().sort()
    return MeasuredRun(rows, cycles.to_list())


def device_work(role: Role) -> pl.DataFrame:
    """What ran on devices: one row per cycle, function and device."""
    once = once_per_cycle(plain_texts(role.behaviour))
    return once.filter(pl.col("function_class").cast(pl.String).str.starts_with(_ON_DEVICE))


def _kernel(pattern: NamePattern, function: str, short: str | None) -> str | None:
    """What a kernel counts for: its family where that is the entry, else its short name."""
    if not pattern.is_glob and pattern.text == _family(function):
        return pattern.text
    fits = pattern.fits(function) or (short is not None and pattern.fits(short))
    return (short or function) if fits else None


@lru_cache(maxsize=4096)
def _family(function: str) -> str:
    return load_families().of(function)
