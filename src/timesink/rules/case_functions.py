"""Time and calls of every function in every cycle of two roles, and which come with each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import PART_OF_CLASS
from timesink.analyses.behaviour.functions import NO_CALL, SIDE_WAIT, UNTRACED, WAITING
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.comparison.recorded import equally_often
from timesink.analyses.kernels.families import load_families
from timesink.analyses.names import is_data_loader
from timesink.analyses.statistics.means import QUIETLY
from timesink.model.arrays import Floats
from timesink.model.schema import HOST_DEVICE

_KEY = ["function", "function_class", "device"]
_SYSTEM = ("oncpu", "runq", "cpu_os_syscall_mem", "disk_read_and_write")
"""What the system does with a process: slices of a processor, faults, reads."""
_ADDRESS = " at 0x[0-9a-fA-F]+"


@dataclass(frozen=True, slots=True, eq=False)
class CaseFunctions:
    """All that ran on either side: a row of `table` is a column of the arrays."""

    table: pl.DataFrame
    """function, function_class, device, part, family (of kernels; null for all else)."""
    base: Floats
    """Time in ns, one row per cycle, zero where a function did not run."""
    new: Floats
    base_calls: Floats
    new_calls: Floats

    @property
    def calls(self) -> tuple[Floats, Floats]:
        """Mean calls per cycle on both sides."""
        return column_means(self.base_calls), column_means(self.new_calls)

    @property
    def times(self) -> tuple[Floats, Floats]:
        """Mean time per cycle on both sides."""
        return column_means(self.base), column_means(self.new)

    @property
    def ran(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """What ran at all on both sides."""
        sides = ((self.base, self.base_calls), (self.new, self.new_calls))
        ran = [np.vstack([times, calls]).any(axis=0) for times, calls in sides]
        return self.table.filter(pl.Series(ran[0])), self.table.filter(pl.Series(ran[1]))

    def where(self, *conditions: pl.Expr) -> np.ndarray:
        """Which functions fulfil all conditions on the columns of the table."""
        found = self.table.select(pl.all_horizontal(*conditions).fill_null(value=False))
        return found.to_series().to_numpy()

    @property
    def called_equally(self) -> np.ndarray:
        """Which run on both sides, and equally often."""
        if not len(self.base) or not len(self.new):
            return np.zeros(self.table.height, dtype=bool)
        same = equally_often(*self.calls)
        # Work of the last cycle may end after it, and of the one before it in the first.
        ends = 1.5 / min(len(self.base), len(self.new))
        usual = np.median(self.base_calls, axis=0), np.median(self.new_calls, axis=0)
        same |= equally_often(*usual) & equally_often(*self.calls, ends)
        return np.asarray(same & (self.base.any(axis=0) & self.new.any(axis=0)))

    def only(self, which: np.ndarray) -> CaseFunctions:
        """Some of the functions."""
        arrays = (self.base, self.new, self.base_calls, self.new_calls)
        return CaseFunctions(self.table.filter(which), *(each[:, which] for each in arrays))

    def swapped(self) -> CaseFunctions:
        """The same with the sides changed over."""
        return CaseFunctions(self.table, self.new, self.base, self.new_calls, self.base_calls)


def column_means(values: Floats) -> Floats:
    """Mean per column, zero where there is no row."""
    return np.asarray(values.mean(axis=0) if len(values) else np.zeros(values.shape[1]))


@QUIETLY
def functions_of(base: pl.DataFrame, new: pl.DataFrame) -> CaseFunctions:
    """Every function of two behaviour tables."""
    sides = [_per_cycle(side) for side in (base, new)]
    table = pl.concat([side.select(_KEY) for side in sides]).unique(maintain_order=True)
    table = table.sort(_KEY).with_row_index("column")
    arrays = [_arrays(rows, side, table) for rows, side in zip(sides, (base, new), strict=True)]
    return CaseFunctions(_described(table), arrays[0][0], arrays[1][0], arrays[0][1], arrays[1][1])


def _per_cycle(side: pl.DataFrame) -> pl.DataFrame:
    columns = ["cycle", *_KEY, "dur_ns", "calls"]
    rows = plain_texts(once_per_cycle(side.select(columns)))
    rows = rows.with_columns(pl.col("function_class", "device").cast(pl.String))
    # Where an object lies in memory is another place in every run.
    named = pl.col("function").str.replace_all(_ADDRESS, "")
    return rows.filter(pl.col("function").is_not_null()).with_columns(named)


def _arrays(rows: pl.DataFrame, side: pl.DataFrame, table: pl.DataFrame) -> tuple[Floats, Floats]:
    cycles = side["cycle"].unique().sort()
    row = pl.DataFrame({"cycle": cycles}).with_row_index("row")
    placed = rows.join(row, "cycle", "inner").join(table, _KEY, "inner", nulls_equal=True)
    where = placed["row"].to_numpy(), placed["column"].to_numpy()
    found = []
    for column in ("dur_ns", "calls"):
        values = np.zeros((len(cycles), table.height))
        np.add.at(values, where, placed[column].fill_null(0).to_numpy().astype(np.float64))
        found.append(values)
    return found[0], found[1]


def _described(table: pl.DataFrame) -> pl.DataFrame:
    """Functions with the part of the cycle they belong to, and the family of kernels."""
    computing = ~on_host() & (pl.col("function_class") == "gpu_compute")
    names = table.filter(computing)["function"].unique().to_list()
    families = {name: family_of(name) for name in names}
    family = pl.col("function").replace_strict(families, default=None, return_dtype=pl.String)
    loaders = [name for name in table["function"].unique() if is_data_loader(name)]
    part = (
        pl.when(pl.col("function").is_in(loaders))
        .then(pl.lit("data_loading"))
        .when(pl.col("function") == NO_CALL)
        .then(pl.lit("idle"))
        .otherwise(pl.col("function_class").replace_strict(PART_OF_CLASS, default="host_cpu"))
    )
    return table.select(*_KEY, part.alias("part"), pl.when(computing).then(family).alias("family"))


@lru_cache(maxsize=4096)
def family_of(name: str) -> str:
    """The family of a kernel."""
    return load_families().of(name)


def computes_on_host(functions: CaseFunctions) -> bool:
    """Whether nothing runs on a device: then operators are the work of the cycle."""
    return not bool(functions.where(~on_host()).any())


def on_host() -> pl.Expr:
    """Whether a function is one of the host."""
    return pl.col("device") == HOST_DEVICE


def is_program() -> pl.Expr:
    """Whether a function is a call of the program that does not wait, and not of the system."""
    return on_host() & ~waits() & ~pl.col("function_class").is_in(_SYSTEM).fill_null(value=True)


def waits() -> pl.Expr:
    """Whether a function of the host only waits: for the device, or for another thread."""
    waiting = pl.col("function_class").is_in(["cpu_sync", SIDE_WAIT, "runq"])
    return waiting | (pl.col("function") == WAITING)


# -- functions that come with each other -----------------------------------------------------------


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


def more_calls(functions: CaseFunctions) -> np.ndarray:
    """By how many calls per cycle each function runs more often; 0 where it does not."""
    base, new = functions.calls
    rise = new - base
    more = (rise >= _LEAST_MORE) & ~functions.called_equally
    # Time in no call is cut into pieces by calls, and is not called itself.
    calls = functions.where(pl.col("function_class").ne_missing(UNTRACED))
    return np.where(more & calls, rise, 0.0)


def companions(functions: CaseFunctions, rise: float) -> np.ndarray:
    """Which functions run more often by that number of calls per cycle, or a few times that."""
    rises = more_calls(functions)
    times = np.clip(np.round(rises / rise), 1, _FEW_EACH if rise >= _SOME else 1)
    return np.asarray((rises > 0) & (np.abs(rises - times * rise) <= _SAME_NUMBER * rise))


def along(functions: CaseFunctions, rise: float) -> np.ndarray:
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


def in_proportion(functions: CaseFunctions, ratio: float) -> np.ndarray:
    """Which functions run that many times as often as before, or nearly so."""
    if ratio < 1:
        functions, ratio = functions.swapped(), 1 / ratio
    base, _ = functions.calls
    more = more_calls(functions) / np.where(base > 0, base, np.inf)
    near = np.abs(more - (ratio - 1)) <= _SAME_PROPORTION * (ratio - 1)
    return np.asarray((more > 0) & near)


def same_work(functions: CaseFunctions) -> bool:
    """Whether the usual function runs about as often as before."""
    return _is_same(_usual_ratio(functions))


def more_of_all(functions: CaseFunctions) -> float | None:
    """How many times as often nearly everything runs, on the host and on the device.

    None where the usual function runs about as often as before, or where only a part does not, as
    of a model with more layers between the same ends.
    """
    ratio = _usual_ratio(functions)
    if _is_same(ratio):
        return None
    agree, total = in_proportion(functions, ratio), np.sum(functions.times, axis=0)
    for there in (is_program(), pl.col("part") == "device_compute"):
        part = functions.where(there)
        if total[part & agree].sum() < _NEARLY_ALL * total[part].sum():
            return None
    return ratio


def _usual_ratio(functions: CaseFunctions) -> float:
    base, new = functions.calls
    both = (base > 0) & (new > 0)
    return float(np.median(new[both] / base[both])) if both.any() else 1.0


def _is_same(ratio: float) -> bool:
    return 1 / _SAME_WORK <= ratio <= _SAME_WORK
