"""Time and calls of every function in every cycle of two roles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from timesink.analyses.anatomy.anatomy import PART_OF_CLASS
from timesink.analyses.behaviour.classes import NO_CALL, SIDE_WAIT, WAITING
from timesink.analyses.behaviour.rows import once_per_cycle, plain_texts
from timesink.analyses.comparison.equally_often import equally_often
from timesink.analyses.kernel_calls.families import load_families
from timesink.analyses.names import is_data_loader
from timesink.analyses.statistics.moments import QUIETLY, Floats
from timesink.model.schema import HOST_DEVICE

_KEY = ["function", "function_class", "device"]
_SYSTEM = ("oncpu", "runq", "cpu_os_syscall_mem", "disk_read_and_write")
"""What the system does with a process: slices of a processor, faults, reads."""
_ADDRESS = " at 0x[0-9a-fA-F]+"


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
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
        return _means(self.base_calls), _means(self.new_calls)

    @property
    def times(self) -> tuple[Floats, Floats]:
        """Mean time per cycle on both sides."""
        return _means(self.base), _means(self.new)

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

    def only(self, which: np.ndarray) -> Functions:
        """Some of the functions."""
        arrays = (self.base, self.new, self.base_calls, self.new_calls)
        return Functions(self.table.filter(which), *(each[:, which] for each in arrays))

    def swapped(self) -> Functions:
        """The same with the sides changed over."""
        return Functions(self.table, self.new, self.base, self.new_calls, self.base_calls)


def _means(values: Floats) -> Floats:
    return values.mean(axis=0) if len(values) else np.zeros(values.shape[1])


@QUIETLY
def functions_of(base: pl.DataFrame, new: pl.DataFrame) -> Functions:
    """Every function of two behaviour tables.

    >>> from timesink.model.schema import BEHAVIOUR
    >>> functions_of(BEHAVIOUR.empty(), BEHAVIOUR.empty()).base.shape
    (0, 0)
    """
    sides = [_per_cycle(side) for side in (base, new)]
    table = pl.concat([side.select(_KEY) for side in sides]).unique(maintain_order=True)
    table = table.sort(_KEY).with_row_index("column")
    arrays = [_arrays(rows, side, table) for rows, side in zip(sides, (base, new), strict=True)]
    return Functions(_described(table), arrays[0][0], arrays[1][0], arrays[0][1], arrays[1][1])


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
    on_device = pl.col("device") != HOST_DEVICE
    computing = on_device & (pl.col("function_class") == "gpu_compute")
    names = table.filter(computing)["function"].unique().to_list()
    families = {name: _family(name) for name in names}
    family = pl.col("function").replace_strict(families, default=None, return_dtype=pl.String)
    return table.select(
        *_KEY, _part(table).alias("part"), pl.when(computing).then(family).alias("family")
    )


def _part(table: pl.DataFrame) -> pl.Expr:
    loaders = [name for name in table["function"].unique() if is_data_loader(name)]
    part = pl.col("function_class").replace_strict(PART_OF_CLASS, default="host_cpu")
    return (
        pl.when(pl.col("function").is_in(loaders))
        .then(pl.lit("data_loading"))
        .when(pl.col("function") == NO_CALL)
        .then(pl.lit("idle"))
        .otherwise(part)
    )


@lru_cache(maxsize=4096)
def _family(name: str) -> str:
    return load_families().of(name)


def computes_on_host(functions: Functions) -> bool:
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
