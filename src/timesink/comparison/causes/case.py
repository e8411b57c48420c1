"""What the rules about a change are asked about, and the evidence several of them give.

Functions of both sides come in every cycle with their time and their calls.  What rules claim is
settled in a ledger, by how much of the time is left: nothing is explained twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, wraps
from statistics import median
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.behaviour.classes import PART_OF_CLASS, UNTRACED
from timesink.analyses.behaviour.functions import NO_CALL, STEP_MARK, STEP_MARK_TOLD
from timesink.analyses.behaviour.summary import once_per_cycle
from timesink.analyses.columns import encode, numbers
from timesink.analyses.kernels.families import load_families
from timesink.analyses.names import is_data_loader, short_name
from timesink.analyses.statistics.mean_changes import mean_changes
from timesink.analyses.statistics.moments import QUIETLY, column_means
from timesink.comparison.causes.conditions import Condition, is_program, on_host, text_is, waits
from timesink.comparison.results import Pair, Process
from timesink.comparison.steps.recorded_events import equally_often, find_unrecorded
from timesink.comparison.thresholds import CaseLimits
from timesink.model import units as amounts
from timesink.model.arrays import combine_codes
from timesink.model.diagnosis import Component
from timesink.model.findings import Anomaly, Cause, Evidence, Interval
from timesink.model.intervals import Floats, Ints
from timesink.model.schema import HOST_DEVICE
from timesink.patterns import regex
from timesink.rules.register import make_cause

_KEY = ["function", "function_class", "device"]
_ADDRESS = regex(" at 0x[0-9a-fA-F]+")


class CaseFunctions(msgspec.Struct, frozen=True, eq=False, dict=True):
    """All that ran on either side: a row of `table` is a column of the arrays."""

    table: pl.DataFrame
    """function, function_class, device, part, family (of kernels; null for all else)."""
    base: Floats
    """Time in ns, one row per step, zero where a function did not run."""
    new: Floats
    base_calls: Floats
    new_calls: Floats

    @cached_property
    def calls(self) -> tuple[Floats, Floats]:
        """Mean calls per step on both sides."""
        return column_means(self.base_calls), column_means(self.new_calls)

    @cached_property
    def times(self) -> tuple[Floats, Floats]:
        """Mean time per step on both sides."""
        return column_means(self.base), column_means(self.new)

    @property
    def ran(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """What ran at all on both sides."""
        sides = ((self.base, self.base_calls), (self.new, self.new_calls))
        ran = [np.vstack([times, calls]).any(axis=0) for times, calls in sides]
        return self.table.filter(pl.Series(ran[0])), self.table.filter(pl.Series(ran[1]))

    @cached_property
    def _texts(self) -> dict[str, list[str | None]]:
        return {name: self.table[name].to_list() for name in self.table.columns}

    def where(self, *conditions: Condition) -> np.ndarray:
        """Which functions fulfil all conditions on the texts of the table."""
        fulfilled, *others = (condition.test(self._texts)[0] for condition in conditions)
        return np.asarray(np.logical_and.reduce([fulfilled, *others]))

    @property
    def called_equally(self) -> np.ndarray:
        """Which run on both sides, and equally often."""
        return self._called_equally.copy()

    @cached_property
    def _called_equally(self) -> np.ndarray:
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
    sides = [_FunctionRows.of(side) for side in (base, new)]
    every = {key for side in sides for key in side.keys if key[0] is not None}
    keys = sorted(every, key=lambda key: [(text is not None, text or "") for text in key])
    column_of = {key: column for column, key in enumerate(keys)}
    times, calls = zip(*(side.matrices(column_of) for side in sides), strict=True)
    # Functions with the part of the cycle they belong to, and the family of kernels.
    families = [
        family_of(name)
        if function_class == "gpu_compute" and device not in (None, HOST_DEVICE)
        else None
        for name, function_class, device in keys
    ]
    texts: list[Sequence[str | None]] = [*zip(*keys, strict=True)] or [(), (), ()]
    table = pl.DataFrame(
        [
            *(pl.Series(name, of, dtype=pl.String) for name, of in zip(_KEY, texts, strict=True)),
            pl.Series("part", [_part_of(key) for key in keys], dtype=pl.String),
            pl.Series("family", families, dtype=pl.String),
        ]
    )
    return CaseFunctions(table, *times, *calls)


_FunctionKey = tuple[str | None, str | None, str | None]
"""Name, class and device of a function."""


def _part_of(key: _FunctionKey) -> str:
    """The part of the cycle that a function belongs to."""
    name, function_class, _ = key
    if is_data_loader(name or ""):
        return "data_loading"
    return "idle" if name == NO_CALL else PART_OF_CLASS.get(function_class or "", "host_cpu")


class _FunctionRows(msgspec.Struct, frozen=True, eq=False):
    """What each function did in each cycle of a behaviour table."""

    keys: list[_FunctionKey]
    """Some may be the same."""
    key: Ints
    """Of each row."""
    cycle: Ints
    """Of each row: place among the cycles of the table."""
    cycles: int
    time: Floats
    calls: Floats

    @classmethod
    def of(cls, side: pl.DataFrame) -> _FunctionRows:
        rows = once_per_cycle(side)
        columns = [encode(rows[name]) for name in _KEY]
        first, key = np.unique(
            combine_codes(*(codes for codes, _ in columns)), return_index=True, return_inverse=True
        )[1:]
        # Where an object lies in memory is another place in every run.
        texts = [list(of) for _, of in columns]
        texts[0] = [name and _ADDRESS.sub("", name) for name in texts[0]]
        named = [
            [of[code] for code in codes[first]]
            for (codes, _), of in zip(columns, texts, strict=True)
        ]
        numbers_of_cycles = np.unique(side["cycle"].to_numpy())
        return cls(
            list(zip(*named, strict=True)),
            key,
            np.searchsorted(numbers_of_cycles, rows["cycle"].to_numpy()),
            len(numbers_of_cycles),
            numbers(rows["dur_ns"]).astype(np.float64),
            numbers(rows["calls"]).astype(np.float64),
        )

    def matrices(self, column_of: Mapping[_FunctionKey, int]) -> tuple[Floats, Floats]:
        """Time and calls, a row per cycle and a column per function."""
        column = np.array([column_of.get(key, -1) for key in self.keys], dtype=np.int64)[self.key]
        some = column >= 0
        where = self.cycle[some] * len(column_of) + column[some]
        many = self.cycles * len(column_of)
        times, calls = (
            np.bincount(where, amount[some], minlength=many).astype(np.float64)
            for amount in (self.time, self.calls)
        )
        shape = self.cycles, len(column_of)
        return times.reshape(shape), calls.reshape(shape)


def cycle_matrices(
    rows: pl.DataFrame, cycles: pl.Series, columns: pl.DataFrame, *values: str
) -> list[Floats]:
    """Sums of each of the values by cycle and column, zero where there is no row.

    What the rows of `columns` hold, such as a function and a device, tells the column of a row.
    """
    matrices = [np.zeros((len(cycles), columns.height)) for _ in values]
    if rows.is_empty() or columns.is_empty() or not len(cycles):
        return matrices
    column_of = {key: column for column, key in enumerate(columns.iter_rows())}
    keys = list(zip(*(rows[name].to_list() for name in columns.columns), strict=True))
    column = np.array([column_of.get(key, -1) for key in keys], dtype=np.int64)
    of_row, wanted = rows["cycle"].to_numpy(), cycles.to_numpy()
    order = np.argsort(wanted, kind="stable")
    place = order[np.minimum(np.searchsorted(wanted, of_row, sorter=order), len(order) - 1)]
    some = (column >= 0) & (wanted[place] == of_row)
    where = place[some], column[some]
    for name, matrix in zip(values, matrices, strict=True):
        np.add.at(matrix, where, numbers(rows[name]).astype(np.float64)[some])
    return matrices


@lru_cache(maxsize=4096)
def family_of(name: str) -> str:
    """The family of a kernel."""
    return load_families().of(name)


def computes_on_host(functions: CaseFunctions) -> bool:
    """Whether nothing runs on a device: then operators are the work of the cycle."""
    return not bool(functions.where(~on_host()).any())


# -- functions that come with each other -----------------------------------------------------------


def more_calls(functions: CaseFunctions) -> np.ndarray:
    """By how many calls per step each function runs more often; 0 where it does not."""
    base, new = functions.calls
    rise = new - base
    more = (rise >= CaseLimits.min_more) & ~functions.called_equally
    # Time in no call is cut into pieces by calls, and is not called itself.
    calls = ~functions.where(text_is("function_class", UNTRACED))
    return np.where(more & calls, rise, 0.0)


def companions(functions: CaseFunctions, rise: float) -> np.ndarray:
    """Which functions run more often by that number of calls per step, or a few times that."""
    rises = more_calls(functions)
    times = np.clip(
        np.round(rises / rise), 1, CaseLimits.few_each if rise >= CaseLimits.some else 1
    )
    return np.asarray((rises > 0) & (np.abs(rises - times * rise) <= CaseLimits.same_number * rise))


def along(functions: CaseFunctions, rise: float) -> np.ndarray:
    """Which functions come with calls that are more by that number.

    Those that are more by the same number; of many calls, also what is more by about as many, and
    what did not run before at all, unless that is far more: a few others come with each call.
    """
    mask = companions(functions, rise)
    if rise < CaseLimits.many:
        return mask
    rises = more_calls(functions)
    mask |= (rises >= rise / CaseLimits.few_each) & (rises <= rise * CaseLimits.few_each)
    fresh = (rises > 0) & (functions.calls[0] == 0)
    for there in (on_host(), ~on_host()):
        part = fresh & functions.where(there)
        if rises[part].sum() <= CaseLimits.fresh_each * rise:
            mask |= part
    return np.asarray(mask)


def in_proportion(functions: CaseFunctions, ratio: float) -> np.ndarray:
    """Which functions run that many times as often as before, or nearly so."""
    if ratio < 1:
        functions, ratio = functions.swapped(), 1 / ratio
    base, _ = functions.calls
    more = more_calls(functions) / np.where(base > 0, base, np.inf)
    near = np.abs(more - (ratio - 1)) <= CaseLimits.same_proportion * (ratio - 1)
    return np.asarray((more > 0) & near)


def same_work(functions: CaseFunctions) -> bool:
    """Whether the usual function runs about as often as before."""
    return 1 / CaseLimits.same_work <= _usual_ratio(functions) <= CaseLimits.same_work


def more_of_all(functions: CaseFunctions) -> float | None:
    """How many times as often nearly everything runs, on the host and on the device.

    None where the usual function runs about as often as before, or where only a part does not, as
    of a model with more layers between the same ends.
    """
    if same_work(functions):
        return None
    ratio = _usual_ratio(functions)
    agree, total = in_proportion(functions, ratio), np.sum(functions.times, axis=0)
    for there in (is_program(), text_is("part", "device_compute")):
        part = functions.where(there)
        if total[part & agree].sum() < CaseLimits.nearly_all * total[part].sum():
            return None
    return ratio


def _usual_ratio(functions: CaseFunctions) -> float:
    base, new = functions.calls
    both = (base > 0) & (new > 0)
    return float(np.median(new[both] / base[both])) if both.any() else 1.0


# -- how much slower everything became alike, and what more calls add ------------------------------


class PaceExcess(msgspec.Struct, frozen=True, eq=False):
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
    return np.asarray(np.minimum(typical, CaseLimits.max_weight * typical.sum()))


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
    scatter = np.quantile(usual, CaseLimits.usual, axis=0)
    mean = column_means(beyond)
    # Pauses at random are long in few cycles and next to nothing in the others.
    often = (beyond > np.maximum(scatter, CaseLimits.part_of_mean * mean)).mean(
        axis=0
    ) >= CaseLimits.nearly_always
    return np.asarray(often & (mean > 0) & (mean >= CaseLimits.clearly * expected))


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


# -- demands, claims and the ledger ----------------------------------------------------------------

HOST_PARTS = ("idle", "host_cpu", "launch_gap", "run_queue")
"""Parts in which the host works, in the order in which a stall without a call shows in them."""
_DEVICE = ("device_compute", "copies", "exposed_communication")
_ANY = float("inf")


class Demand(msgspec.Struct, frozen=True):
    """Time to be found in the growth of components, in that of the first of them first."""

    ns: float
    components: tuple[str, ...]
    """Names of components; a part alone (`device_compute`) means all of its families."""
    structural: bool = False
    """Whether it is in more or other calls, or in one place: then what the rest of the component
    gained or lost does not limit it."""


class Claim(msgspec.Struct, frozen=True):
    """One cause, and where the time it explains should be."""

    finding: Cause
    """With the 95 % interval of all that is demanded; None where too few cycles tell."""
    demands: tuple[Demand, ...]
    functions: tuple[str, ...] = ()
    """Functions of the host whose time it takes: no other rule takes them again."""
    columns: tuple[int, ...] = ()
    """Functions of the device, as columns of `CaseFunctions`, whose growth it takes as a whole."""
    inside: tuple[str | None, ...] = ()
    """The call in which the places lie whose time it takes, None for the cycle itself; empty where
    it is about no place."""

    @property
    def ns(self) -> float:
        """All that is demanded."""
        return sum(demand.ns for demand in self.demands)


def change(base: Floats, new: Floats) -> tuple[float, Interval | None]:
    """Change of the mean per step and its interval; None with too few cycles."""
    changes = mean_changes(base[:, None], new[:, None])
    return float(changes.delta[0]), known_interval(changes.low[0], changes.high[0])


def known_interval(low: float, high: float) -> Interval | None:
    """The ends of an interval, where there is one."""
    return (float(low), float(high)) if np.isfinite(low) and np.isfinite(high) else None


def is_certain(interval: Interval | None) -> bool:
    """Whether an interval says that there is a change."""
    return interval is not None and (interval[0] > 0 or interval[1] < 0)


def negate_interval(interval: Interval | None) -> Interval | None:
    """The interval of the opposite."""
    return None if interval is None else (-interval[1], -interval[0])


def opposite_claim(claim: Claim) -> Claim:
    """A claim about changed-over sides as one about the sides as they were given."""
    sides = {None: None, "base": "new", "new": "base"}
    finding = structs.replace(
        claim.finding,
        interval_ns=negate_interval(claim.finding.interval_ns),
        evidence=tuple(
            structs.replace(item, side=sides[item.side], base=item.new, new=item.base)
            for item in claim.finding.evidence
        ),
    )
    demands = tuple(structs.replace(demand, ns=-demand.ns) for demand in claim.demands)
    return structs.replace(claim, finding=finding, demands=demands)


class _Change(msgspec.Struct, frozen=True):
    """What of the change of a component is not explained."""

    structural: float
    """In more, fewer or other kernels."""
    other: float

    @property
    def left(self) -> float:
        return self.structural + self.other

    def most(self, wanted: float, *, structural: bool) -> float:
        """What of an amount is there; what the others lost does not hide more kernels."""
        there = [self.left, self.structural] if structural else [self.left]
        if wanted > 0:
            return max(0.0, min(wanted, max(there)))
        return min(0.0, max(wanted, min(there)))

    def without(self, ns: float, *, structural: bool) -> _Change:
        """The rest; an amount comes out of its own sort first, and never more than there is."""
        preferred, spare = (self.structural, self.other)[:: 1 if structural else -1]
        first = relative_closeness(preferred, ns)
        second = ns - first
        preferred, spare = preferred - first, spare - second
        return _Change(preferred, spare) if structural else _Change(spare, preferred)


class Ledger:
    """The components of a change, and what was taken from them."""

    def __init__(
        self, components: Sequence[Component], local: tuple[float, float] = (-_ANY, _ANY)
    ) -> None:
        """`local` is what functions of the host lost and gained that shows in their parts."""
        self._changes: dict[str, _Change] = {}
        for component in components:
            same = component.same_launches_ns
            structural = 0.0 if same is None else float(component.delta_ns - same)
            self._changes[component.name] = _Change(
                structural, float(component.delta_ns) - structural
            )
        self._local = local
        # Part of a cycle in which the device does nothing: the host's time shows in full there.
        on_device = [component for component in components if component.part in _DEVICE]
        sides = [
            (
                sum(component.base_ns for component in some),
                sum(component.new_ns for component in some),
            )
            for some in (on_device, components)
        ]
        self._exposed = [
            max(0.0, 1 - device / total) if total > 0 else 1.0
            for device, total in zip(*sides, strict=True)
        ]

    @property
    def left(self) -> dict[str, float]:
        """What of the change of each component is not explained."""
        return {name: change.left for name, change in self._changes.items()}

    def take(self, demand: Demand) -> dict[str, float]:
        """What there is of a demand, from the components in its order; of its sign."""
        wanted, taken = demand.ns, dict[str, float]()
        for name in self._named(demand.components):
            change = self._changes[name]
            amount = change.most(wanted, structural=demand.structural)
            if amount:
                taken[name] = amount
                self._changes[name] = change.without(amount, structural=demand.structural)
                wanted -= amount
        if demand.structural:
            self._take_in_full(demand, taken)
        return taken

    def _take_in_full(self, demand: Demand, taken: dict[str, float]) -> None:
        """Add what the rest of the component hides by its own change.

        What the host did in one place or in added calls it did, however fast the rest of it was:
        as much of that counts as the device usually does not run beside, and of all such places
        together no more than the functions of the host gained.
        """
        name = next(iter(self._named(demand.components)), None)
        if name not in HOST_PARTS:
            return
        total = sum(taken.values())
        missing = self._exposed[demand.ns > 0] * demand.ns - total
        local = self._local[demand.ns > 0] - total
        if missing * demand.ns > 0 and local * demand.ns > 0:
            more = min(missing, local, key=abs)
            taken[name] = taken.get(name, 0.0) + more
            self._changes[name] = self._changes[name].without(more, structural=False)
        lost, gained, ns = *self._local, sum(taken.values())
        self._local = min(0.0, lost - min(0.0, ns)), max(0.0, gained - max(0.0, ns))

    def settle(self, claim: Claim, least_ns: float) -> Cause | None:
        """The cause that a claim comes to.

        None where it is not certain, where too little is left, or where what is left is the
        opposite of what the claim says.
        """
        interval = claim.finding.interval_ns
        if interval is None or not is_certain(interval):
            return None
        before = dict(self._changes), self._local
        taken: dict[str, float] = {}
        for demand in claim.demands:
            for name, ns in self.take(demand).items():
                taken[name] = taken.get(name, 0.0) + ns
        explained = sum(taken.values())
        if (
            abs(explained) < max(least_ns, CaseLimits.shows * abs(claim.ns))
            or explained * claim.ns <= 0
        ):
            self._changes, self._local = before
            return None
        # The interval of a part of what it was computed for.
        low, high = sorted(end * (explained / claim.ns) for end in interval)
        return structs.replace(
            claim.finding,
            cost_ns=explained,
            interval_ns=(min(low, explained), max(high, explained)),
            claims=largest_first(taken),
        )

    def _named(self, components: Iterable[str]) -> Iterable[str]:
        for name in components:
            if name in self._changes:
                yield name
            else:
                yield from (
                    component for component in self._changes if component.startswith(f"{name}/")
                )


def relative_closeness(there: float, wanted: float) -> float:
    """What of an amount is there, of the same sign."""
    return min(there, wanted, key=abs) if there * wanted > 0 else 0.0


def largest_first(times: dict[str, float]) -> tuple[tuple[str, float], ...]:
    """Names and times that are not nothing, the largest first."""
    some = [(name, ns) for name, ns in times.items() if ns]
    return tuple(sorted(some, key=lambda item: -abs(item[1])))


_PYTHON = regex(r"\.py\(\d+\): |^<.*>$|^enumerate\(DataLoader\)")
"""Names of Python: `train.py(12): step`, `<built-in function sleep>`, data loaders of PyTorch."""


@dataclass(frozen=True, eq=False)
class CaseSide:
    """One side of a comparison."""

    role: Process
    anatomy: Anatomy

    @cached_property
    def cycles(self) -> list[int]:
        """Numbers of its cycles, in the order of the rows of `CaseFunctions`."""
        cycles: list[int] = np.unique(self.role.behaviour["cycle"].to_numpy()).tolist()
        return cycles

    @cached_property
    def _part_times(self) -> dict[str | None, Floats]:
        """Time of each part in each of its cycles, in order."""
        rows, cycles = self.anatomy.parts, np.array(self.cycles, dtype=np.int64)
        place, time = np.searchsorted(cycles, rows["cycle"].to_numpy()), rows["dur_ns"].to_numpy()
        inside = np.append(cycles, -1)[place] == rows["cycle"].to_numpy()
        codes, texts = encode(rows["part"])
        return {
            text: np.bincount(place[mine], time[mine], minlength=len(cycles)).astype(np.float64)
            for code, text in enumerate(texts)
            for mine in [np.flatnonzero(inside & (codes == code))]
        }

    def times_of(self, *parts: str) -> Floats:
        """Time of parts of the cycle together in each of its cycles, in order; zero where none."""
        times = [
            self._part_times[part] for part in dict.fromkeys(parts) if part in self._part_times
        ]
        return np.asarray(sum(times, np.zeros(len(self.cycles))))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DiagnosisCase:
    """Two sides, where their time is, and what is odd about the environment of the second."""

    base: CaseSide
    new: CaseSide
    functions: CaseFunctions
    cycle_ns: float
    """Usual cycle of the run that is compared with, whichever side that is here."""
    attribution: tuple[Component, ...]
    anomalies: tuple[Anomaly, ...]
    blurred: frozenset[str] = frozenset()
    """Functions of the host whose own time holds calls that only one side recorded."""
    relieved: tuple[Anomaly, ...] = ()
    """What was odd about the environment of the first, as seen from the second."""
    backwards: bool = False
    """Whether the sides are changed over, to find what is gone."""
    settled: list[Claim] = field(default_factory=list)
    """Claims that came to a cause, in order; the same list for both directions."""

    @property
    def taken(self) -> frozenset[str]:
        """Functions of the host whose time is explained already."""
        return frozenset(name for claim in self.settled for name in claim.functions)

    @property
    def least_ns(self) -> float:
        """Time that is worth a cause."""
        return CaseLimits.min_share * self.cycle_ns

    def swapped(self) -> DiagnosisCase:
        """The case seen from the other side: what grew there is gone here."""
        return replace(
            self,
            base=self.new,
            new=self.base,
            functions=self.functions.swapped(),
            # What each component adds to the change back.
            attribution=tuple(
                structs.replace(
                    part,
                    base_ns=part.new_ns,
                    new_ns=part.base_ns,
                    interval_ns=negate_interval(part.interval_ns),
                    same_launches_ns=None if same is None else -same,
                )
                for part in self.attribution
                for same in [part.same_launches_ns]
            ),
            anomalies=self.relieved,
            relieved=self.anomalies,
            backwards=not self.backwards,
        )

    def times(self, base_ns: float, new_ns: float) -> str:
        """Times of both sides in words, in the order in which the runs were given."""
        return amounts.times(*((new_ns, base_ns) if self.backwards else (base_ns, new_ns)))

    def calls(self, base: float, new: float) -> str:
        """Calls per step of both sides in words, in the order in which the runs were given."""
        counts = amounts.per_cycle(base), amounts.per_cycle(new)
        return amounts.from_to(*(counts[::-1] if self.backwards else counts))

    def took(self, which: Any) -> str:
        """What functions take per step on both sides, in words."""
        return self.times(*(float(np.sum(side[which])) for side in self.functions.times))

    def often(self, which: Any) -> str:
        """How often functions run per step on both sides, in words."""
        return self.calls(*(float(np.sum(side[which])) for side in self.functions.calls))

    def names(self, columns: Iterable[int]) -> list[str]:
        """Functions as people say them."""
        names = self.functions.table["function"]
        return [told_name(names[column]) for column in columns]

    def both(self, *parts: str) -> tuple[Floats, Floats]:
        """Time of parts of the cycle in each cycle of both sides."""
        return self.base.times_of(*parts), self.new.times_of(*parts)

    def evidence(
        self, columns: Iterable[int], values: Floats, *, calls: bool = False
    ) -> tuple[Evidence, ...]:
        """Functions, by their time or by their calls, and the cycle that shows `values` best."""
        entries = [self._of_function(column, calls=calls) for column in columns]
        if len(values):
            # That of the new side at the median shows something as it usually is.
            number = self.new.cycles[median_place(values)]
            text = f"for example in step {number}"
            entries.append(Evidence("cycle", text, "new", number, *self.new.anatomy.span(number)))
        return tuple(entries)

    def _of_function(self, column: int, *, calls: bool) -> Evidence:
        """How often a function runs per step on both sides, or also how long it takes."""
        row = self.functions.table.row(column, named=True)
        function, device = row["function"], row["device"]
        sides = self.functions.calls if calls else self.functions.times
        base, new = (float(side[column]) for side in sides)
        kind, unit = "calls", "calls per cycle"
        text = f"{told_name(function)}: {self.calls(base, new)} calls per step"
        if not calls:
            kind, unit = "function" if device == HOST_DEVICE else "kernel", "ns"
            where = "" if device == HOST_DEVICE else f" on {device}"
            text = f"{self.times(base, new)} in {self.often(column)} calls per step"
            text = f"{told_name(function)}{where}: {text}"
            if function == STEP_MARK:
                text = f"{STEP_MARK_TOLD}: {self.times(base, new)} per step"
        return Evidence(kind, text, function=function, device=device, unit=unit, base=base, new=new)

    def claim(
        self,
        cause: str,
        sentence: str,
        demands: Iterable[Demand],
        interval_ns: Interval | None,
        evidence: tuple[Evidence, ...],
        *,
        advice: str = "advice",
        **more: Any,
    ) -> Claim:
        """What a rule claims; `advice` names the row of the catalogue where it has several."""
        claim_finding = make_cause(
            cause, sentence, advice=advice, interval_ns=interval_ns, evidence=evidence
        )
        return Claim(claim_finding, tuple(demands), **more)


def case_of(
    pair: Pair,
    anatomies: tuple[Anatomy, Anatomy],
    attribution: tuple[Component, ...],
    anomalies: tuple[Anomaly, ...],
    relieved: tuple[Anomaly, ...] = (),
) -> DiagnosisCase:
    """The case of a pair."""
    functions = functions_of(pair.base.behaviour, pair.new.behaviour)
    missing = find_unrecorded(*functions.ran)
    blurred: Iterable[str] = ()
    if missing.any:
        table = functions.table
        blurred = table.filter(missing.call_these())["function"]
        functions = functions.only(table.select(~missing.of_these()).to_series().to_numpy())
    lengths = pair.cycle_times.base_ns
    typical_ns = median(lengths) if lengths else float(functions.times[0].sum())
    return DiagnosisCase(
        CaseSide(pair.base, anatomies[0]),
        CaseSide(pair.new, anatomies[1]),
        functions,
        typical_ns or 1.0,
        attribution,
        anomalies,
        blurred=frozenset(blurred),
        relieved=relieved,
    )


def median_place(values: Floats) -> int:
    """Where the cycle is that shows something as most do."""
    return int(np.argsort(values, kind="stable")[len(values) // 2])


def told_name(function: str) -> str:
    """A function as people say it."""
    return function if _PYTHON.search(function) else short_name(function) or function


def by_change(functions: CaseFunctions, which: np.ndarray) -> list[int]:
    """The chosen functions, largest change of time first."""
    base, new = functions.times
    return sorted(
        np.flatnonzero(which).tolist(), key=lambda column: -abs(new[column] - base[column])
    )


def both_ways(rule: Rule) -> Rule:
    """A rule about what is more on the new side, asked as well about what is less."""

    @wraps(rule)
    def claims_both_ways(case: DiagnosisCase) -> Iterator[Claim]:
        yield from rule(case)
        yield from (opposite_claim(claim) for claim in rule(case.swapped()))

    return claims_both_ways


Rule = Callable[[DiagnosisCase], Iterator[Claim]]
