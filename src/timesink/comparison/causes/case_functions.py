"""Time and calls of every function in every cycle of two roles, and which come with each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from timesink.analyses.behaviour.classes import PART_OF_CLASS, SIDE_WAIT, UNTRACED
from timesink.analyses.behaviour.functions import NO_CALL, WAITING
from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.columns import numbers
from timesink.analyses.kernels.families import load_families
from timesink.analyses.names import is_data_loader
from timesink.analyses.statistics.moments import QUIETLY, column_means
from timesink.comparison.steps.recorded_events import equally_often
from timesink.model.intervals import Floats, Ints
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
    """Time in ns, one row per step, zero where a function did not run."""
    new: Floats
    base_calls: Floats
    new_calls: Floats

    @property
    def calls(self) -> tuple[Floats, Floats]:
        """Mean calls per step on both sides."""
        return column_means(self.base_calls), column_means(self.new_calls)

    @property
    def times(self) -> tuple[Floats, Floats]:
        """Mean time per step on both sides."""
        return column_means(self.base), column_means(self.new)

    @property
    def ran(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """What ran at all on both sides."""
        sides = ((self.base, self.base_calls), (self.new, self.new_calls))
        ran = [np.vstack([times, calls]).any(axis=0) for times, calls in sides]
        return self.table.filter(pl.Series(ran[0])), self.table.filter(pl.Series(ran[1]))

    def where(self, *conditions: pl.Expr) -> np.ndarray:
        """Which functions fulfil all conditions on the columns of the table."""
        every = conditions[0] if len(conditions) == 1 else pl.all_horizontal(*conditions)
        mask = self.table.select(every).to_series()
        return (mask.fill_null(value=False) if mask.null_count() else mask).to_numpy()

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
        return CaseFunctions(self.table.filter(which), *(matrix[:, which] for matrix in arrays))

    def swapped(self) -> CaseFunctions:
        """The same with the sides changed over."""
        return CaseFunctions(self.table, self.new, self.base, self.new_calls, self.base_calls)


@QUIETLY
def functions_of(base: pl.DataFrame, new: pl.DataFrame) -> CaseFunctions:
    """Every function of two behaviour tables."""
    sides = [_per_cycle(side) for side in (base, new)]
    table = pl.concat([side.select(_KEY) for side in sides]).unique(maintain_order=True)
    table = table.sort(_KEY)
    times, calls = zip(
        *(
            cycle_matrices(rows, side["cycle"].unique().sort(), table, "dur_ns", "calls")
            for rows, side in zip(sides, (base, new), strict=True)
        ),
        strict=True,
    )
    # Functions with the part of the cycle they belong to, and the family of kernels.
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
    described = table.with_columns(part=part, family=pl.when(computing).then(family))
    return CaseFunctions(described, *times, *calls)


def _per_cycle(side: pl.DataFrame) -> pl.DataFrame:
    columns = ["cycle", *_KEY, "dur_ns", "calls"]
    rows = plain_texts(once_per_cycle(side.select(columns)))
    rows = rows.with_columns(pl.col("function_class", "device").cast(pl.String))
    # Where an object lies in memory is another place in every run.
    named = pl.col("function").str.replace_all(_ADDRESS, "")
    return rows.filter(pl.col("function").is_not_null()).with_columns(named)


def cycle_matrices(
    rows: pl.DataFrame, cycles: pl.Series, columns: pl.DataFrame, *values: str
) -> list[Floats]:
    """Sums of each of the values by cycle and column, zero where there is no row.

    What the rows of `columns` hold, such as a function and a device, tells the column of a row.
    """
    matrices = [np.zeros((len(cycles), columns.height)) for _ in values]
    if rows.is_empty() or columns.is_empty():
        return matrices
    placed = rows.join(cycles.to_frame("cycle").with_row_index("row"), "cycle").join(
        columns.with_row_index("column"), columns.columns, nulls_equal=True
    )
    where = placed["row"].to_numpy(), placed["column"].to_numpy()
    for name, matrix in zip(values, matrices, strict=True):
        np.add.at(matrix, where, numbers(placed[name]).astype(np.float64))
    return matrices


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


_MIN_MORE = 0.5
"""Calls per step by which something must run more often to be more of it."""
_SAME_NUMBER = 0.05
_SOME = 4
"""Calls per step of which others are not a multiple by chance."""
_MANY = 10
"""Calls per step that do not come to be more by chance at the same time as others."""
_FEW_EACH = 4
_FRESH_EACH = 8
"""Operators that a value takes which is read: `isfinite(x).all()` is seven of them."""
_SAME_PROPORTION = 0.3
"""Part by which the growth of calls may differ from the proportion they grow in."""
_NEARLY_ALL = 0.8
_SAME_WORK = 1.1
"""Factor of the usual call by which the work of cycles may differ and still be the same."""


def more_calls(functions: CaseFunctions) -> np.ndarray:
    """By how many calls per step each function runs more often; 0 where it does not."""
    base, new = functions.calls
    rise = new - base
    more = (rise >= _MIN_MORE) & ~functions.called_equally
    # Time in no call is cut into pieces by calls, and is not called itself.
    calls = functions.where(pl.col("function_class").ne_missing(UNTRACED))
    return np.where(more & calls, rise, 0.0)


def companions(functions: CaseFunctions, rise: float) -> np.ndarray:
    """Which functions run more often by that number of calls per step, or a few times that."""
    rises = more_calls(functions)
    times = np.clip(np.round(rises / rise), 1, _FEW_EACH if rise >= _SOME else 1)
    return np.asarray((rises > 0) & (np.abs(rises - times * rise) <= _SAME_NUMBER * rise))


def along(functions: CaseFunctions, rise: float) -> np.ndarray:
    """Which functions come with calls that are more by that number.

    Those that are more by the same number; of many calls, also what is more by about as many, and
    what did not run before at all, unless that is far more: a few others come with each call.
    """
    mask = companions(functions, rise)
    if rise < _MANY:
        return mask
    rises = more_calls(functions)
    mask |= (rises >= rise / _FEW_EACH) & (rises <= rise * _FEW_EACH)
    fresh = (rises > 0) & (functions.calls[0] == 0)
    for there in (on_host(), ~on_host()):
        part = fresh & functions.where(there)
        if rises[part].sum() <= _FRESH_EACH * rise:
            mask |= part
    return np.asarray(mask)


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
    return 1 / _SAME_WORK <= _usual_ratio(functions) <= _SAME_WORK


def more_of_all(functions: CaseFunctions) -> float | None:
    """How many times as often nearly everything runs, on the host and on the device.

    None where the usual function runs about as often as before, or where only a part does not, as
    of a model with more layers between the same ends.
    """
    if same_work(functions):
        return None
    ratio = _usual_ratio(functions)
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


# -- how much slower everything became alike, and what more calls add ------------------------------


_MAX_WEIGHT = 0.1
"""No function has more than this part of the say, so that a large one does not judge itself."""
_NEARLY_ALWAYS = 0.8
CLEARLY = 0.25
"""Part by which something is slower than all else before it stands out."""
_PART_OF_MEAN = 0.25
"""Part of the usual excess that a cycle must have to count as one that has it."""
_USUAL = 0.9
"""Quantile of the base's own scatter that counts as usual."""


@dataclass(frozen=True, slots=True, eq=False)
class PaceExcess:
    """What each column has beyond its share of the common slowdown."""

    base: Floats
    """Per cycle and column; scatters around zero."""
    new: Floats
    stands_out: np.ndarray
    """Which columns have clearly more than that, in nearly every cycle."""
    slowdown: Floats
    """Factor by which the others of each column grew; what shrank with them is no excess."""


@QUIETLY
def excess(
    base: Floats, new: Floats, comparable: np.ndarray, owner: Ints | None = None
) -> PaceExcess:
    """What each column took beyond what the slowdown of the others lets expect.

    `comparable` are the columns that tell the slowdown: what runs equally often on both sides, and
    works rather than waits.  Columns of one `owner` are of one thing, and do not judge each other.
    """
    typical = np.median(base, axis=0) if len(base) else np.zeros(base.shape[1])
    speeds = [_middle(side, typical, comparable) for side in (base, new)]
    means = [column_means(side) for side in (base, new)]
    owners = np.arange(len(typical)) if owner is None else owner
    peer_growth = _without_each(means[0], means[1], comparable, owners)
    usual = base - speeds[0][:, None] * means[0]
    # The mean of the others counts too: pauses that hit at random miss short functions, and then
    # the typical function is not slower while a long one always is.
    factor = np.maximum(speeds[1][:, None], peer_growth)
    # What only did not get faster as all others did is not to blame for anything.
    at_least = np.maximum(factor, 1.0)
    beyond = new - at_least * means[0]
    expected = column_means(at_least) * means[0]
    return PaceExcess(usual, beyond, _stands_out(usual, beyond, expected), column_means(factor))


@QUIETLY
def slowdown(base: Floats, new: Floats, comparable: np.ndarray) -> float:
    """Factor by which the usual column grew, of comparable ones; 1 where there is none."""
    before, after = column_means(base), column_means(new)
    return float(_middle(after[None, :], before, comparable)[0])


def _middle(side: Floats, typical: Floats, comparable: np.ndarray) -> Floats:
    """How slow each cycle is: weighted median over columns of their time against the typical."""
    is_used = comparable & (typical > 0)
    if not is_used.any():
        return np.ones(len(side))
    weights = _weights(typical[is_used])
    if 2 * weights.max() > weights.sum():
        # Where calls come in other numbers, few functions tell the pace: the largest would alone.
        is_used[np.flatnonzero(is_used)[weights.argmax()]] = False
        if not is_used.any():
            return np.ones(len(side))
        weights = _weights(typical[is_used])
    ratios = side[:, is_used] / typical[is_used]
    order = np.argsort(ratios, axis=1)
    reached = np.cumsum(weights[order], axis=1) >= weights.sum() / 2
    middle = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
    return np.take_along_axis(ratios, middle, axis=1)[:, 0]


def _weights(typical: Floats) -> Floats:
    return np.asarray(np.minimum(typical, _MAX_WEIGHT * typical.sum()))


def _without_each(base: Floats, new: Floats, comparable: np.ndarray, owner: Ints) -> Floats:
    """Growth of all comparable functions together but that of the owner that is judged."""
    before, after = (
        np.bincount(owner, np.where(comparable, side, 0.0))[owner] if len(owner) else side
        for side in (base, new)
    )
    rest = base[comparable].sum() - before
    growth = (new[comparable].sum() - after) / np.where(rest > 0, rest, 1.0)
    return np.where(rest > 0, growth, 1.0)


def _stands_out(usual: Floats, beyond: Floats, expected: Floats) -> np.ndarray:
    if not len(beyond) or not len(usual):
        return np.zeros(len(expected), dtype=bool)
    scatter = np.quantile(usual, _USUAL, axis=0)
    mean = column_means(beyond)
    # Pauses at random are long in few cycles and next to nothing in the others.
    often = (beyond > np.maximum(scatter, _PART_OF_MEAN * mean)).mean(axis=0) >= _NEARLY_ALWAYS
    return np.asarray(often & (mean > 0) & (mean >= CLEARLY * expected))


@QUIETLY
def added_calls(functions: CaseFunctions, which: np.ndarray) -> Floats:
    """What each of the functions gained by more calls, or lost by fewer; mean per step.

    That calls take longer now is no part of it, and nor is what one of many calls takes that was
    there before: of the pace of a function itself and that of the others, the one counts by which
    less was added.  Calls that wait have no pace.
    """
    base, new = functions.base[:, which], functions.new[:, which]
    often = [side[which] for side in functions.calls]
    before, after = (column_means(side) for side in (base, new))
    both = (before > 0) & (after > 0) & (often[0] > 0) & (often[1] > 0)
    same_calls = new * np.where(both, often[0] / np.where(often[1] > 0, often[1], 1.0), 1.0)
    function_pace = np.where(
        both, column_means(same_calls) / np.where(before > 0, before, 1.0), 1.0
    )
    function_pace[functions.where(waits())[which]] = 1.0
    # Pace of calls of the host, and of those of the device; of those that wait 1.
    sides = (base, same_calls)
    waiting, on_the_host = (functions.where(sort)[which] for sort in (waits(), on_host()))
    common = np.ones(len(both))
    for place in (on_the_host & ~waiting, ~on_the_host):
        common[place] = slowdown(*sides, both & place)
    grown = after / np.where(before > 0, before, 1.0)
    pace = np.where(
        often[1] >= often[0],
        np.minimum(np.maximum(function_pace, common), grown),
        np.maximum(np.minimum(function_pace, common), grown),
    )
    return np.asarray(after - np.where(both, pace, 1.0) * before)


def added_in_cycles(
    functions: CaseFunctions, which: np.ndarray, added: Floats
) -> tuple[Floats, Floats]:
    """The same of all of them in each cycle of both sides: where the calls are that are more.

    How the pace of a host wanders tells nothing about how many calls there are.
    """
    sides = []
    for times, sign in ((functions.base[:, which], -1.0), (functions.new[:, which], 1.0)):
        mean = column_means(times)
        share = np.where(mean > 0, np.maximum(sign * added, 0.0) / np.where(mean > 0, mean, 1.0), 0)
        sides.append(times @ share)
    return sides[0], sides[1]
