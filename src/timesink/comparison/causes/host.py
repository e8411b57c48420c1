"""Causes in the code of the host: more calls, longer ones, pauses, waits, data.

Functions of the host and places in the cycle that do not keep the pace of the others show them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np
import polars as pl
from msgspec import structs

from timesink.analyses.behaviour.anatomy import MIN_PLACE
from timesink.analyses.behaviour.functions import NO_CALL, STEP_MARK
from timesink.analyses.columns import encode, memoize_per_trace
from timesink.analyses.statistics.moments import moments
from timesink.analyses.statistics.student_t import welch_interval
from timesink.comparison.causes.case import (
    HOST_PARTS,
    CaseSide,
    Claim,
    Demand,
    DiagnosisCase,
    PaceExcess,
    added_calls,
    added_in_cycles,
    along,
    both_ways,
    by_change,
    change,
    computes_on_host,
    excess,
    in_proportion,
    is_certain,
    median_place,
    more_calls,
    same_work,
    slowdown,
    told_name,
)
from timesink.comparison.causes.conditions import is_named, is_program, on_host, text_is, waits
from timesink.comparison.causes.device import Launching, common_ratio
from timesink.comparison.thresholds import CaseLimits, HostLimits
from timesink.model import units
from timesink.model.arrays import combine_codes, densify, exclusive_cumsum
from timesink.model.findings import Evidence, Interval
from timesink.model.intervals import Floats, Ints
from timesink.model.units import join_names
from timesink.patterns import regex

_SORT = ["inside", "after", "before"]
_PLACE = [*_SORT, "occurrence"]
_MAX_PLACES = 4
_MIN_FUNCTIONS, _MIN_FUNCTION_SHARE, _FENCE = 8, 0.001, 1.5
"""Functions whose factors tell how far these scatter, and which part of the host's time each has at
least; how many distances of the quartiles beyond these a factor lies apart (Tukey)."""


@dataclass(frozen=True, slots=True)
class HostPlace:
    """One place, or with `occurrence` None all of a sort."""

    inside: str | None
    after: str | None
    before: str | None
    occurrence: int | None = None
    operators: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Which functions are operators."""

    @property
    def words(self) -> str:
        """Where it is: `after the last operator of the cycle (aten::add)`."""
        scope = "the step" if self.inside is None else told_name(self.inside)
        if self.after is None and self.before is None:
            return f"inside {scope}"
        if self.after is not None and self.before is None:
            return f"after the last {self._sort(self.after)} of {scope} ({told_name(self.after)})"
        if self.after is None and self.before is not None:
            sort = self._sort(self.before)
            return f"before the first {sort} of {scope} ({told_name(self.before)})"
        between = f"between {told_name(self.after or '')} and {told_name(self.before or '')}"
        return between if self.inside is None else f"{between} inside {scope}"

    def _sort(self, function: str) -> str:
        return "operator" if function in self.operators else "call"


class HostPlaces(msgspec.Struct, frozen=True, eq=False):
    """Time in each place in each cycle; a place is a column of the arrays."""

    which: tuple[HostPlace, ...]
    base: Floats
    new: Floats

    @property
    def gained(self) -> Floats:
        """What each gained on average."""
        if not len(self.base) or not len(self.new):
            return np.zeros(len(self.which))
        return np.asarray(self.new.mean(axis=0) - self.base.mean(axis=0))


@memoize_per_trace
def places_of(case: DiagnosisCase) -> HostPlaces:
    """Every place of either side, and every sort of place that occurs more than once."""
    tables = [side.anatomy.places for side in (case.base, case.new)]
    if all(table.is_empty() for table in tables):
        base, new = (np.zeros((len(side.cycles), 0)) for side in (case.base, case.new))
        return HostPlaces((), base, new)
    every = pl.concat([table[[*_PLACE, "cycle", "dur_ns"]] for table in tables])
    # Numbers in the order in which places, and sorts of them, first come.
    columns = [encode(every[name]) for name in _SORT]
    sort = densify(combine_codes(*(codes for codes, _ in columns)))
    turn = every["occurrence"].to_numpy()
    place = combine_codes(sort, densify(turn))
    first = np.unique(place, return_index=True)[1]
    sort_of = sort[first]
    times = np.bincount(sort_of)
    many = np.flatnonzero(times > 1)
    first_of_sort = np.unique(sort, return_index=True)[1][many]
    functions = case.functions
    kinds = functions.table["function_class"].to_list()
    operators = frozenset(
        name
        for name, kind in zip(functions.table["function"].to_list(), kinds, strict=True)
        if kind == "cpu_operator"
    )
    turns = [*turn[first].tolist(), *([None] * len(many))]
    which = tuple(
        HostPlace(inside, after, before, at, operators)
        for row, at in zip([*first.tolist(), *first_of_sort.tolist()], turns, strict=True)
        for inside, after, before in [[texts[codes[row]] for codes, texts in columns]]
    )
    split, single = tables[0].height, len(first)
    base, new = (
        _place_times(side, place[rows], every[rows], single)
        for side, rows in ((case.base, slice(split)), (case.new, slice(split, None)))
    )
    # Sorts that come more than once: what their places take together.
    order = np.argsort(sort_of, kind="stable")
    first_place = exclusive_cumsum(times)
    base, new = (
        np.hstack([side, np.add.reduceat(side[:, order], first_place, axis=1)[:, many]])
        for side in (base, new)
    )
    # What the places of each sort may take that a side has not kept, as each takes too little.
    is_missing = np.bincount(place[:split], minlength=single) == 0
    lengths = case.base.anatomy.cycles["dur_ns"].median()
    least = MIN_PLACE * (lengths if isinstance(lengths, float) else 0.0)
    base[:, single:] += least * np.bincount(sort_of, is_missing)[many]
    return HostPlaces(which, base, new)


def _place_times(side: CaseSide, place: Ints, rows: pl.DataFrame, places: int) -> Floats:
    """Time of each place in each cycle of a side."""
    cycles, of_row = np.array(side.cycles, dtype=np.int64), rows["cycle"].to_numpy()
    cycle = np.searchsorted(cycles, of_row)
    inside = np.append(cycles, -1)[cycle] == of_row
    where = (cycle * places + place)[inside]
    times = np.bincount(where, rows["dur_ns"].to_numpy()[inside], minlength=len(cycles) * places)
    return times.astype(np.float64).reshape(len(cycles), places)


def place_evidence(side: CaseSide, place: HostPlace, values: Floats) -> Evidence:
    """The stretch to look at, in the cycle that shows it as most do."""
    cycle = side.cycles[median_place(values)]
    conditions = [
        pl.col(name).eq_missing(pl.lit(getattr(place, name), pl.String)) for name in _SORT
    ]
    rows = side.anatomy.places.filter(pl.col("cycle") == cycle, *conditions)
    if place.occurrence is not None:
        rows = rows.filter(pl.col("occurrence") == place.occurrence)
    if rows.is_empty():
        return Evidence("place", place.words, "new", cycle, function=place.inside)
    longest = rows.sort("dur_ns", descending=True).row(0, named=True)
    start, length = int(longest["ts_ns"]), int(longest["dur_ns"])
    text = f"{units.brief_ns(length)} {place.words}, in step {cycle}"
    return Evidence("place", text, "new", cycle, start, start + length, place.inside)


# -- the pace of the host --------------------------------------------------------------------------


class HostPace(msgspec.Struct, frozen=True, eq=False):
    """Functions of the host and places in the cycle, in one array, and what stands out of them."""

    case: DiagnosisCase
    places: HostPlaces
    excess: PaceExcess
    candidates: np.ndarray
    """Which functions may be to blame."""

    @property
    def functions(self) -> int:
        """How many of the columns are functions; places come after them."""
        return self.case.functions.table.height

    def rise(self, column: int) -> float:
        """What a column gained beyond the pace of the others, on average."""
        return float(self.excess.new[:, column].mean() - self.excess.base[:, column].mean())

    def stands(self, column: int) -> bool:
        """Whether a column stands out, and by enough to be a cause."""
        stands_out = bool(self.excess.stands_out[column]) and self.is_apart(column)
        return stands_out and self.rise(column) >= self.case.least_ns

    def is_apart(self, column: int) -> bool:
        """Whether the factor of a column lies apart from those of the functions of the host.

        Beyond the upper quartile by more than 1.5 times the distance of the quartiles: where calls
        take longer by all sorts of factors, the one that happens to be largest is no place.
        """
        functions = self.case.functions
        base, new = (side[self.candidates & functions.called_equally] for side in functions.times)
        is_large = (base > _MIN_FUNCTION_SHARE * base.sum()) & (new > 0)
        mine = [side[:, column] for side in (self._base, self._new)]
        before, after = (float(side.mean()) for side in mine)
        if is_large.sum() < _MIN_FUNCTIONS or before <= 0:
            return True
        low, high = np.quantile(np.log(new[is_large] / base[is_large]), (0.25, 0.75))
        return bool(after > before * np.exp(high + _FENCE * (high - low)))

    @property
    def _base(self) -> Floats:
        return np.hstack([self.case.functions.base, self.places.base])

    @property
    def _new(self) -> Floats:
        return np.hstack([self.case.functions.new, self.places.new])

    def change_of(self, columns: list[int]) -> tuple[float, Interval | None]:
        """What columns gained together beyond the pace of the others, with its interval."""
        sides = self.excess.base, self.excess.new
        return change(*(side[:, columns].sum(axis=1) for side in sides))

    def pace_told(self, column: int) -> str:
        """What became of the rest of the host, in words."""
        if self.case.backwards:
            return "the rest of the host changed less"
        factor = float(self.excess.slowdown[column])
        return f"the rest of the host takes {factor:.2f} times as long as before"

    def pace_of_gaps(self, inside: str | None, but: HostPlace | None = None) -> float:
        """By how much the usual gap grew, of those inside of calls or of those between them."""
        is_other = [
            place.occurrence is not None
            and (place.inside is None) == (inside is None)
            and (but is None or not _overlap(place, but))
            for place in self.places.which
        ]
        return slowdown(self.places.base, self.places.new, np.array(is_other, dtype=bool))


def host_of(case: DiagnosisCase) -> HostPace:
    """The host of a case, without functions whose time is explained already."""
    functions = case.functions
    works = functions.where(
        is_program(),
        # Copies that wait for the device are no work of the host.
        ~text_is("function_class", "cpu_copy"),
        ~text_is("part", "data_loading"),
        ~is_named([*case.taken, *case.blurred]),
    )
    places = places_of(case)
    # A number per function and place: that of the function whose own time it is.
    marks = marks_of(case)
    names = [*functions.table["function"], *(place.inside for place in places.which)]
    owners = ["" if name is None or name in marks else name for name in names]
    owner = np.unique(np.array(owners, dtype=str), return_inverse=True)[1].ravel()
    comparable = np.append(works & functions.called_equally, np.zeros(len(places.which), bool))
    host_excess = excess(
        np.hstack([functions.base, places.base]),
        np.hstack([functions.new, places.new]),
        comparable,
        owner,
    )
    return HostPace(case, places, host_excess, works)


def marks_of(case: DiagnosisCase) -> frozenset[str]:
    """Functions that stand for the time of a cycle in no other call."""
    anchors = {case.base.role.anchor, case.new.role.anchor}
    return frozenset({NO_CALL, *filter(None, anchors)})


# -- places that are to blame ----------------------------------------------------------------------


def gap_claims(host: HostPace) -> Iterator[Claim]:
    """Places that are to blame; many of them, or several inside of one call, as one."""
    columns = _standing_places(host)
    groups: dict[str | None, list[int]] = {}
    for column in columns:
        groups.setdefault(_place(host, column).inside, []).append(column)
    column_groups = []
    for inside, group in groups.items():
        apart = inside is None and len(group) <= HostLimits.few
        column_groups += [[gap_column] for gap_column in group] if apart else [group]
    column_groups.sort(key=lambda group: columns.index(group[0]))
    yield from (_place_claim(host, group) for group in column_groups)


def _standing_places(host: HostPace) -> list[int]:
    """Columns of places that are to blame, each stretch of time in one of them only."""
    unclear = host.case.blurred | (marks_of(host.case) if host.case.blurred else frozenset())
    columns = [
        host.functions + place
        for place, where in enumerate(host.places.which)
        if not host.case.blurred or (where.inside is not None and where.inside not in unclear)
    ]
    candidates = [
        candidate
        for candidate in columns
        if host.stands(candidate)
        and not _is_common(host, candidate)
        and not _has_moved(host, candidate)
        and _is_backed(host, candidate)
    ]

    def rank(column: int) -> tuple[float, float]:
        # Sorts of places come after the one place that is nearly all of them.
        is_sort = _place(host, column).occurrence is None
        return -host.rise(column) * (HostLimits.nearly_all if is_sort else 1), -host.rise(column)

    chosen: list[int] = []
    for column in sorted(candidates, key=rank):
        place = _place(host, column)
        if not any(_overlap(place, _place(host, other)) for other in chosen):
            chosen.append(column)
    return chosen


def _place(host: HostPace, column: int) -> HostPlace:
    return host.places.which[column - host.functions]


def _overlap(place: HostPlace, other: HostPlace) -> bool:
    same = (place.inside, place.after, place.before) == (other.inside, other.after, other.before)
    return same and (None in {place.occurrence, other.occurrence} or place == other)


def _has_moved(host: HostPace, column: int) -> bool:
    """Whether the time of a new place stood beside it before, next to other calls.

    A call that came, went or was replaced has other places around it: what these take together is
    what matters, and what a call takes that only one side makes is its own.
    """
    place, places = _place(host, column), host.places
    if not len(places.base) or places.base[:, column - host.functions].any():
        return False
    functions = host.case.functions
    if place.inside is not None:
        called = (functions.table["function"] == place.inside).to_numpy()
        if not functions.base[:, called].any():
            return True
    here = [
        (other, float(places.base[:, at].mean()), float(places.new[:, at].mean()))
        for at, other in enumerate(places.which)
        if other.occurrence is not None and other.inside == place.inside
    ]
    gone = [(other, time) for other, time, left in here if not left and _is_beside(other, place)]
    came = sum(
        time
        for other, before, time in here
        if not before and any(_is_beside(other, lost) for lost, _ in gone)
    )
    lost = sum(time for _, time in gone)
    return bool(gone) and came - lost < HostLimits.backed * host.rise(column)


def _is_beside(place: HostPlace, other: HostPlace) -> bool:
    """Whether two places begin after, or end before, a call of the same name."""
    return place.after == other.after or place.before == other.before


def _is_backed(host: HostPace, column: int) -> bool:
    """Whether what is around a place gained time, and it is not only called something else."""
    inside, functions = _place(host, column).inside, host.case.functions
    if inside is None:
        # Time in no call beyond the pace of the host, which holds waits for a core.
        base, new = map(_idle, (host.case.base, host.case.new))
        gained = new - float(host.excess.slowdown[column]) * base
    else:
        # What functions gained against the pace of the others, where all got faster too.
        blamed = host.candidates & (functions.table["function"] == inside).to_numpy()
        base, new = (side[blamed] for side in functions.times)
        pace = host.excess.slowdown[: host.functions][blamed]
        gained = float(np.sum(new - pace * base))
    return gained >= HostLimits.backed * host.rise(column)


def _idle(side: CaseSide) -> float:
    """Mean time in no call, with its share of the waits for a core."""
    idle, waits = (float(side.times_of(part).mean()) for part in ("idle", "run_queue"))
    ran = float(side.times_of(*HOST_PARTS).mean()) - waits
    return idle * (1 + waits / ran) if ran > 0 else idle


def _is_common(host: HostPace, column: int) -> bool:
    """Whether the other gaps of its sort grew as much: gaps that all grew have none to blame."""
    place = _place(host, column)
    base, new = (side[:, column - host.functions] for side in (host.places.base, host.places.new))
    pace = host.pace_of_gaps(place.inside, place)
    return float(new.mean()) < (1 + CaseLimits.clearly) * pace * float(base.mean())


def _place_claim(host: HostPace, columns: list[int]) -> Claim:
    case, place = host.case, _place(host, columns[0])
    at = [column - host.functions for column in columns]
    base, new = (side[:, at].sum(axis=1) for side in (host.places.base, host.places.new))
    rise, interval = host.change_of(columns)
    took = case.times(float(base.mean()), float(new.mean()))
    parts = ("idle", "host_cpu") if place.inside is None else ("host_cpu", "idle")
    where = place.words
    if len(columns) > 1:
        scope = "of the step" if place.inside is None else f"inside {told_name(place.inside)}"
        where = f"in {len(columns)} places {scope}, most of it {where}"
    claim = case.claim(
        "host_code",
        f"The host spends {took} per step {where}, in nearly every step; "
        f"{host.pace_told(columns[0])}.",
        [Demand(rise, (*parts, "launch_gap"), structural=True)],
        interval,
        tuple(
            place_evidence(
                case.new, _place(host, column), host.places.new[:, column - host.functions]
            )
            for column in columns[:_MAX_PLACES]
        ),
        inside=(place.inside,),
    )
    return structs.replace(claim, finding=structs.replace(claim.finding, place=where))


# -- causes ----------------------------------------------------------------------------------------

_HOST = ("host_cpu", "launch_gap", "idle")
"""Where the host's work shows that ran beside the device before."""
_CODE = ("host_cpu", "idle", "launch_gap")
_MAX_LISTED, _MAX_LOADERS = 4, 3
_COMPILES = regex(r"compil|dynamo|inductor|nvrtc|ModuleLoad|autotun", re.IGNORECASE)
_READING = frozenset({"disk_io", "host_memory"})
_PROCESSORS = frozenset({"cpu_contention", "cpu_clock"})


def local_changes(case: DiagnosisCase) -> tuple[float, float]:
    """What all functions, and the places inside of them, lost and what they gained, in ns.

    Functions run beside the device, or inside of a data loader, and what they gain there costs
    nothing.  What shows of all gains is no more than what the host's parts of the cycle gained,
    and what shows of the losses that these make up for.
    """
    functions = case.functions
    is_local = functions.where(is_program(), ~text_is("part", "data_loading"))
    is_local |= functions.where(on_host(), is_named([NO_CALL]))
    base, new = (float(side[is_local].sum()) for side in functions.times)
    changes = _local(case, is_local)
    lost, gained = float(-np.minimum(changes, 0).sum()), float(np.maximum(changes, 0).sum())
    parts = [part for part in case.attribution if part.part in HOST_PARTS]
    before, after = sum(part.base_ns for part in parts), sum(part.new_ns for part in parts)
    net_change = after - before
    most = (
        net_change + lost * _shown_share(before, base),
        gained * _shown_share(after, new) - net_change,
    )
    return -max(0.0, min(lost, most[1])), max(0.0, min(gained, most[0]))


def _local(case: DiagnosisCase, is_local: np.ndarray) -> Floats:
    """What each function gained outside of the places in it, and what each of these gained.

    Where operators are the work, what more of them take counts for itself: calls that all became
    faster do not hide that.
    """
    functions, places = case.functions, places_of(case)
    column = {
        functions.table["function"][int(index)]: int(index) for index in np.flatnonzero(is_local)
    }
    rest = functions.times[1] - functions.times[0]
    inside = []
    for place, gained in zip(places.which, places.gained, strict=True):
        if place.occurrence is not None and place.inside in column:
            rest[column[place.inside]] -= gained
            inside.append(gained)
    added = (
        added_calls(functions, is_local)
        if computes_on_host(functions)
        else np.zeros(is_local.sum())
    )
    return np.concatenate([rest[is_local] - added, added, inside])


def _shown_share(parts_ns: float, functions_ns: float) -> float:
    """Part of the time of functions that shows in the cycle."""
    return min(1.0, parts_ns / functions_ns) if functions_ns > 0 else 1.0


@both_ways
def synchronisation(case: DiagnosisCase) -> Iterator[Claim]:
    """Calls that wait for the device and run more often, with all that came with them.

    The time is that of the waits, of what runs more often by the same number, and of the work of
    the host that the device no longer runs beside.
    """
    functions = case.functions
    rises = more_calls(functions)
    more = (rises > 0) & functions.where(text_is("function_class", "cpu_sync"))
    if not more.any() or not same_work(functions):
        return
    first = int(np.argmax(np.where(more, rises, 0)))
    taken = more | along(functions, float(rises[first]))
    added = added_calls(functions, taken)
    added_sides = added_in_cycles(functions, taken, added)
    parts = functions.table.filter(pl.Series(taken)).with_columns(rise=pl.Series(added))
    summed = parts.group_by("part", "family").agg(pl.col("rise").sum())
    # Less the host's work that ran beside the device, per step: it grows where that is lost.
    works = functions.where(on_host(), ~waits())
    base, new = (
        side - ran[:, works].sum(axis=1)
        for side, ran in zip(case.both(*HOST_PARTS), (functions.base, functions.new), strict=True)
    )
    from_timelines = case.base.anatomy.from_timeline and case.new.anatomy.from_timeline
    lost = new.mean() - base.mean() if min(len(base), len(new)) else 0.0
    exposed = float(from_timelines and lost > 0)
    total, interval = change(added_sides[0] + exposed * base, added_sides[1] + exposed * new)
    rise = (
        float(added_sides[1].mean() - added_sides[0].mean()) if min(map(len, added_sides)) else 0.0
    )
    columns = by_change(functions, taken)
    other_names = list(dict.fromkeys(case.names(column for column in columns if column != first)))
    came = (
        f" With what came along ({join_names(other_names, _MAX_LISTED)}), these"
        if other_names
        else " These"
    )
    yield case.claim(
        "synchronisation",
        f"{case.names([first])[0]} waits for the device {case.often(first)} times per step."
        f"{came} calls take {case.took(columns)} per step.",
        (
            *(
                Demand(ns, (part if family is None else f"{part}/{family}",), structural=True)
                for part, family, ns in summed.sort("part", "family").iter_rows()
            ),
            Demand(total - rise, _HOST),
        ),
        interval,
        case.evidence(
            [first, *(column for column in columns[:_MAX_LISTED] if column != first)],
            added_sides[1],
            calls=True,
        ),
        functions=tuple(functions.table["function"].filter(pl.Series(taken))),
    )


def more_operators(case: DiagnosisCase) -> Iterator[Claim]:
    """Operators that take most of the time run more or less often, all in one proportion.

    A model with more layers does that, between the same ends.  A few operators that are more, or
    many short ones, are no other work but other code.
    """
    if not computes_on_host(case.functions):
        return
    functions = case.functions
    operators = functions.where(text_is("function_class", "cpu_operator"))
    ratio = common_ratio(functions, operators & ~functions.called_equally)
    if ratio is None:
        return
    which = operators & in_proportion(functions, ratio)
    which &= functions.where(~is_named([*case.taken, *case.blurred]))
    total = np.sum(functions.times, axis=0)
    if total[which].sum() < HostLimits.min_share_explained * total[operators].sum():
        return
    host = Launching(case, which, ratio)
    _, interval = change(*host.sides)
    columns = by_change(functions, which)
    yield case.claim(
        "workload_change",
        f"The workload differs: {int(which.sum())} operators run about {ratio:.2f} times as "
        f"often, {case.names(columns[:1])[0]} {case.often(columns[0])} times per step among them. "
        f"Together they take {case.took(which)} per step.",
        host.demands(),
        interval,
        case.evidence(columns[:_MAX_LISTED], functions.new[:, which].sum(axis=1), calls=True),
        functions=host.functions,
    )


def host_calls(case: DiagnosisCase) -> Iterator[Claim]:
    """All calls of the host that run more or less often together, beyond the pace of the others.

    What runs more may stand for what runs less, so it is the sum that counts.
    """
    functions = case.functions
    works = functions.where(
        is_program(),
        # How often a mark comes is a matter of how cycles are told apart.
        ~is_named([*case.taken, *case.blurred, *marks_of(case)]),
        ~text_is("part", "data_loading"),
    )
    other = works & ((more_calls(functions) > 0) | (more_calls(functions.swapped()) > 0))
    if not other.any() or not same_work(functions):
        return
    pace = slowdown(functions.base, functions.new, works & functions.called_equally)
    base, new = functions.base[:, other].sum(axis=1), functions.new[:, other].sum(axis=1)
    rise, interval = change(pace * base, new)
    if abs(rise) < case.least_ns or not is_certain(interval):
        return
    columns = by_change(functions, other)
    names = [functions.table["function"][column] for column in columns]
    also = ""
    if len(columns) > 1:
        more = (functions.calls[1] - functions.calls[0])[columns] > 0
        less = "less often" if not more.any() else "more or less often"
        other_names = join_names(case.names(columns[1:]), _MAX_LISTED)
        also = f", and {other_names} run {'more often' if more.all() else less} too"
    yield case.claim(
        "host_code",
        f"{told_name(names[0])} runs {case.often(columns[0])} times per step{also}: together "
        f"{case.took(columns)} per step.",
        [Demand(rise, _HOST, structural=True)],
        interval,
        case.evidence(columns[:_MAX_LISTED], new, calls=True),
        advice="compiles" if any(map(_COMPILES.search, names)) else "other_calls",
        functions=tuple(names),
    )


@both_ways
def host_code(case: DiagnosisCase) -> Iterator[Claim]:
    """Places first, then functions that run as often as before."""
    host = host_of(case)
    yield from gap_claims(host)
    # What places inside of each call explain, None for the cycle itself, is known only now.
    explained: dict[str | None, float] = {}
    for claim in case.settled:
        ns = -claim.ns if case.backwards else claim.ns
        for inside in claim.inside:
            explained[inside] = explained.get(inside, 0.0) + max(0.0, ns)
    for column in list(_standing_functions(host, explained))[: HostLimits.few]:
        function, part = case.functions.table.select("function", "part").row(column)
        rise, interval = host.change_of([column])
        name = "Code outside recorded calls" if function == NO_CALL else told_name(function)
        sentence = f"{name} takes {case.took(column)} per step for as many calls"
        place = "outside of recorded calls" if function == NO_CALL else f"in {name}"
        if function == STEP_MARK:
            place = "between recorded calls"
            sentence = f"The host spends {case.took(column)} per step {place}"
        claim = case.claim(
            "host_code",
            f"{sentence}, in nearly every step; {host.pace_told(column)}.",
            [Demand(rise, tuple(dict.fromkeys((part, *_CODE))), structural=True)],
            interval,
            case.evidence([column], case.functions.new[:, column]),
            functions=(function,),
        )
        yield structs.replace(claim, finding=structs.replace(claim.finding, place=place))


def _standing_functions(host: HostPace, explained: dict[str | None, float]) -> Iterator[int]:
    """Functions called as often as before that are to blame, beyond the places inside of them.

    A process that waits for its turn does so in its longest functions, in every cycle.
    """
    if any(anomaly.id == "cpu_contention" for anomaly in host.case.anomalies):
        return
    names = host.case.functions.table["function"]
    marks = marks_of(host.case)
    may = host.candidates & host.case.functions.called_equally
    for column in by_change(host.case.functions, may):
        name = names[column]
        explained_ns = explained.get(name, 0.0) + (
            explained.get(None, 0.0) if name in marks else 0.0
        )
        left = host.rise(column) - explained_ns
        base, new = (float(side[column]) for side in host.case.functions.times)
        if name in marks and new < (1 + CaseLimits.clearly) * host.pace_of_gaps(None) * base:
            continue  # it only grew as the gaps in it did, all of them alike
        if host.stands(column) and left >= max(host.case.least_ns, host.rise(column) / 2):
            yield column


def _is_starved(case: DiagnosisCase, rise: float) -> bool:
    """Whether the loader waits for something that is known to be scarce: that is the cause then.

    Its workers need processors as the process does, which gains more where these are scarce, and
    waits for a core itself; and a loader is what reads from a disk.
    """
    odd = {anomaly.id for anomaly in case.anomalies}
    if odd & _READING:
        return True
    waits = [part for part in case.attribution if part.part == "run_queue"]
    if any(is_certain(part.interval_ns) and part.delta_ns > rise for part in waits):
        return True
    host = sum(part.delta_ns for part in case.attribution if part.part in HOST_PARTS)
    return bool(odd & _PROCESSORS) and host > rise


@both_ways
def data_loading(case: DiagnosisCase) -> Iterator[Claim]:
    """Time in the data loader that grew."""
    base, new = case.both("data_loading")
    if not len(base) or not len(new):
        return
    rise, interval = change(base, new)
    if not is_certain(interval) and (new > base.max()).sum() >= HostLimits.often:
        # A loader that is too slow holds up cycles now and then, whenever what it had ready is used
        # up.  Where many of them wait longer than any did before, that they are uneven is how it
        # shows.
        before, after = (
            moments(np.zeros(len(side), dtype=np.int64), side, 1) for side in (base, new)
        )
        interval = welch_interval(before, after)
    if rise < max(case.least_ns, CaseLimits.clearly * float(base.mean())) or _is_starved(
        case, rise
    ):
        return
    loaders = case.functions.where(text_is("part", "data_loading"))
    took = case.times(float(base.mean()), float(new.mean()))
    yield case.claim(
        "data_loading",
        f"Steps wait {took} for the data loader.",
        [Demand(rise, ("data_loading",))],
        interval,
        case.evidence(by_change(case.functions, loaders)[:_MAX_LOADERS], new),
    )
