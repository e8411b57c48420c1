"""What one program does that another does not: counts per cycle first, then where.

A site changed where its calls per cycle lie in ranges that do not meet; what varies from cycle to
cycle in one run is compared by these ranges alone and never aligned.  One cycle of either side is
then aligned, tree by tree, to tell which calls came, went or were replaced, and between which.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from msgspec.structs import replace
from numpy.typing import NDArray

from timesink.comparison.program.alignment import (
    CallAlignment,
    CallChange,
    CountedCycles,
    CycleKind,
    SiteNames,
    count_calls,
    even_period,
    kinds_of,
    paired_kinds,
    ranges,
    steady_tree,
)
from timesink.comparison.program.calls import ANNOTATION, MODULE, OPERATOR, RUNTIME, SORTS, Program
from timesink.comparison.program.sizes import details, resized_operators
from timesink.comparison.thresholds import EditsLimits
from timesink.model.intervals import Flags, Floats

EQUAL_CALLS = frozenset({"shapes", "uneven", "types", "variants"})
"""Kinds of changes in what equal calls are given, or in the variants of kernels they launch."""
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ProgramDifference:
    """Two programs beside each other, cycles of the same kind."""

    sites: pl.DataFrame
    """Rows of `SITES` of both, each once; `row` of the tables below."""
    means: tuple[NDArray[np.float64], NDArray[np.float64]]
    """Of each side: calls, host_ns, device_ns, bytes per cycle; a column per site."""
    kinds: tuple[tuple[CycleKind, ...], tuple[CycleKind, ...]]
    changes: tuple[CallChange, ...]
    device_ns: tuple[Floats, Floats]
    """Device time of every cycle of the kinds that are compared."""
    varying: int
    """Sites whose calls differ from cycle to cycle."""
    host: bool
    typed: bool
    resized: frozenset[int] = frozenset()
    """Operators whose inputs are of another size, as sites; empty where shapes are not known."""

    @property
    def same(self) -> bool:
        return not self.changes

    @cached_property
    def row(self) -> dict[int, int]:
        return {site: place for place, site in enumerate(self.sites["site"].to_list())}

    @cached_property
    def has_device(self) -> bool:
        """Whether work of a device was recorded on either side."""
        return any(bool(mean[2].any()) for mean in self.means)

    def amounts(self, change: CallChange) -> Floats:
        """What a change adds: calls, host_ns, device_ns and bytes per cycle.

        A host that launches work takes as long for small work as for large: what equal calls of
        it take more or less is its pace.
        """
        total = np.zeros(4)
        for sign, counts, mean in (
            (-1, change.gone, self.means[0]),
            (1, change.came, self.means[1]),
        ):
            for site, often in counts.items():
                column = mean[:, self.row[site]]
                if column[0]:
                    total += sign * column * min(1.0, often / column[0])
        if change.kind in EQUAL_CALLS and self.has_device:
            total[1] = 0.0
        return total * change.frequency


def difference(
    base: Program, new: Program, base_cycles: Sequence[int] = (), new_cycles: Sequence[int] = ()
) -> ProgramDifference:
    """What the second program does otherwise; of some cycles, where these are said."""
    if base.captured != new.captured:
        # Of captured graphs only calls that launched something are known.
        base, new = base.launching(), new.launching()
    table = pl.concat([base.sites, new.sites]).unique("site", keep="first").sort("site")
    sites = table["site"]
    left = count_calls(base, sites, base_cycles or base.cycles)
    right = count_calls(new, sites, new_cycles or new.cycles)
    structural = np.isin(table["sort"].to_numpy(), (OPERATOR, ANNOTATION, MODULE))
    if not (base.host and new.host):
        structural[:] = True
    kinds = kinds_of(left, structural), kinds_of(right, structural)
    kinds, pairs = paired_kinds(left, right, kinds, structural)
    names = SiteNames(table)
    changes: list[CallChange] = []
    varying = 0
    for place, (ours, theirs) in enumerate(pairs):
        pair = left.only(kinds[0][ours]), right.only(kinds[1][theirs])
        parts = len(kinds[0][ours]) / len(left.cycles), len(kinds[1][theirs]) / len(right.cycles)
        pair_changes, unsteady = _changes(*pair, names)
        varying = max(varying, unsteady)
        signatures = {(change.inside, change.removed, change.added) for change in changes}
        changes += [
            replace(change, frequency=sum(parts) / 2 if place else 1.0)
            for change in pair_changes
            if (change.inside, change.removed, change.added) not in signatures
        ]
    cycle_kinds = [
        [
            CycleKind(
                tuple(side.cycles[rows].tolist()),
                even_period(rows, len(side.cycles)),
                float(side.calls[rows][:, structural].sum(axis=1).mean()),
                dict(met).get(number),
            )
            for number, rows in enumerate(side_kinds)
        ]
        for side, side_kinds, met in zip(
            (left, right), kinds, (pairs, [(b, a) for a, b in pairs]), strict=True
        )
    ]
    changes += _other_kinds(left, right, cycle_kinds, names)
    changes += _other_frequency(left, right, cycle_kinds, names)
    usual = left.only(kinds[0][0]), right.only(kinds[1][0])
    return ProgramDifference(
        table,
        (left.means(), right.means()),
        (tuple(cycle_kinds[0]), tuple(cycle_kinds[1])),
        tuple(sorted(changes, key=lambda change: change.order)),
        tuple(side.device_ns.sum(axis=1).astype(np.float64) for side in usual),
        varying,
        base.host and new.host,
        base.typed and new.typed,
        resized_operators(base, new),
    )


def _other_kinds(
    left: CountedCycles, right: CountedCycles, cycle_kinds: list[list[CycleKind]], names: SiteNames
) -> Iterator[CallChange]:
    """Step types that only one side has and that come evenly, by what its usual ones lack."""
    for which, (side, kinds) in enumerate(zip((left, right), cycle_kinds, strict=True)):
        for kind in kinds[1:]:
            if kind.partner is not None or len(kind.cycles) < 2 or kind.period is None:
                continue
            usual, odd = (
                side.only(np.flatnonzero(np.isin(side.cycles, cycle_kind.cycles)))
                for cycle_kind in (kinds[0], kind)
            )
            other = (right, left)[which].calls
            often = np.median(odd.calls, axis=0)
            if ((often >= other.min(axis=0)) & (often <= other.max(axis=0))).all():
                continue  # the other side has cycles that call as much of everything
            changes = _changes(usual, odd, names)[0]
            came: Counter[int] = sum((change.came for change in changes), Counter())
            gone: Counter[int] = sum((change.gone for change in changes), Counter())
            added = (name for change in changes for name in change.added)
            yield _one_way(
                added,
                *((gone, came) if which else (came, gone)),
                more=which > 0,
                kind="cycles",
                frequency=len(kind.cycles) / len(side.cycles),
                factor=float(kind.period),
            )


def _one_way(
    names: Iterable[str],
    gone: Counter[int],
    came: Counter[int],
    *,
    more: bool,
    inside: tuple[str, ...] = (),
    places: tuple[int, int] = (1, 1),
    **about: Any,
) -> CallChange:
    """Calls that came, where they are `more`, or else went: between which others is not known."""
    unique_names = tuple(dict.fromkeys(names))
    removed, added = ((), unique_names) if more else (unique_names, ())
    return CallChange(inside, removed, added, "", "", *places, gone, came, **about)


def _other_frequency(
    left: CountedCycles, right: CountedCycles, cycle_kinds: list[list[CycleKind]], names: SiteNames
) -> Iterator[CallChange]:
    """Step types that both sides have and that come evenly, at another distance."""
    for number, kind in enumerate(cycle_kinds[0]):
        if number == 0 or kind.partner is None:
            continue
        other = cycle_kinds[1][kind.partner]
        if kind.period is None or other.period is None or kind.period == other.period:
            continue
        # What such a cycle does beyond a usual one, as often as it now comes more or less.
        more = other.period < kind.period
        side, usual, odd = (
            (right, cycle_kinds[1][0], other) if more else (left, cycle_kinds[0][0], kind)
        )
        both = [
            side.only(np.flatnonzero(np.isin(side.cycles, cycle_kind.cycles)))
            for cycle_kind in (usual, odd)
        ]
        changes = _changes(both[0], both[1], names)[0]
        calls: Counter[int] = sum((change.came for change in changes), Counter())
        rate = abs(len(other.cycles) / len(right.cycles) - len(kind.cycles) / len(left.cycles))
        yield _one_way(
            (name for change in changes for name in change.added),
            *((Counter(), calls) if more else (calls, Counter())),
            more=more,
            places=(kind.period, other.period),
            kind="frequency",
            frequency=rate,
            factor=float(other.period),
        )


def _changes(
    base: CountedCycles, new: CountedCycles, names: SiteNames
) -> tuple[list[CallChange], int]:
    (low, high), (least, most) = ranges(base.calls), ranges(new.calls)
    apart = (high < least) | (most < low)
    equal = (low == high) & (least == most) & (low == least)
    varies = ~apart & ~equal
    foreign = base.program.vendor != new.program.vendor
    if foreign:
        # What operators do with the runtime and the device of two makers implements one program.
        inside = names.table["parent"].is_in(names.table["site"].to_list()).to_numpy()
        is_vendor_work = (names.table["sort"].to_numpy() >= RUNTIME) & inside
        varies, apart = varies | is_vendor_work, apart & ~is_vendor_work
    repeated = _repetition_change(base, new, names, apart)
    if repeated is not None:
        return [repeated], int(varies.sum())
    changes: list[CallChange] = []
    if apart.any():
        sites = names.table["site"].to_numpy()
        trees = [steady_tree(side, sites, varies) for side in (base, new)]
        changes = CallAlignment(
            trees[0], trees[1], names, frozenset(sites[apart].tolist())
        ).changes()
        changes += _unaligned_changes(changes, names, apart, base, new)
    if not foreign:
        changes += details(base, new, names, equal, changes)
    return changes, 0 if foreign else int(varies.sum())


def _unaligned_changes(
    changes: Sequence[CallChange],
    names: SiteNames,
    apart: Flags,
    base: CountedCycles,
    new: CountedCycles,
) -> Iterator[CallChange]:
    """Sites whose counts changed for sure, though the aligned cycles do not show it."""
    covered_sites = {site for change in changes for site in (*change.gone, *change.came)}
    sites = names.table["site"].to_list()
    for column in np.flatnonzero(apart).tolist():
        site, above = sites[column], names.place.get(names.parents[column])
        if site in covered_sites or (above is not None and apart[above]):
            continue
        before, after = (int(np.median(side.calls[:, column])) for side in (base, new))
        more, counts = after > before, Counter({site: abs(after - before)})
        yield _one_way(
            [names.names[column]],
            *((Counter(), counts) if more else (counts, Counter())),
            more=more,
            inside=names.path(site)[:-1],
            places=(abs(after - before), max(before, after)),
        )


# -- the same work more than once ------------------------------------------------------------------


def _repetition_change(
    base: CountedCycles, new: CountedCycles, names: SiteNames, apart: Flags
) -> CallChange | None:
    """Nearly all operators so many times as often: a cycle that does its work more than once."""
    operators = names.table["sort"].to_numpy() == OPERATOR
    # Gradients may be those of several passes: the optimizer steps once all the same.
    steps = [names.path(site)[0].startswith("Optimizer.") for site in names.table["site"].to_list()]
    operators &= ~np.array(steps, dtype=np.bool_)
    before, after = (np.median(side.calls, axis=0) for side in (base, new))
    some = operators & (before > 0) & (after > 0)
    if not (apart & some).any():
        return None
    ratio = after[some] / before[some]
    values, often = np.unique(np.round(ratio, 3), return_counts=True)
    factor = float(values[np.argmax(often)])
    is_integer = abs(factor - round(factor)) < 1e-9 or abs(1 / factor - round(1 / factor)) < 1e-3
    if not is_integer or factor == 1.0 or often.max() < EditsLimits.nearly_all * len(ratio):
        return None
    columns = np.flatnonzero(apart)
    sites = names.table["site"].to_numpy()
    more, fewer = (
        Counter(
            {
                int(sites[column]): int(abs(after[column] - before[column]))
                for column in columns
                if (after[column] - before[column]) * sign > 0
            }
        )
        for sign in (1, -1)
    )
    largest = columns[np.argsort(-np.abs(after - before)[columns], kind="stable")][:8]
    return _one_way(
        (names.names[column] for column in largest.tolist()),
        fewer,
        more,
        more=factor > 1,
        places=(int(often.max()), len(ratio)),
        kind="repeated",
        factor=factor,
    )


# -- both programs as one tree ---------------------------------------------------------------------

CALL_TREE = {
    "depth": pl.Int64(),
    "name": pl.String(),
    "sort": pl.String(),
    "state": pl.String(),
    **dict.fromkeys(("base_calls", "new_calls"), pl.Float64()),
    **dict.fromkeys(("base_device_ns", "new_device_ns"), pl.Float64()),
    **dict.fromkeys(("base_host_ns", "new_host_ns"), pl.Float64()),
    "folded": pl.Int64(),
    **dict.fromkeys(("base_first_ns", "new_first_ns"), pl.Int64()),
}
"""Calls of both programs as one tree, in order, each with all that is below it.  `state` is `same`,
`added`, `removed`, `changed` somewhere below or in number, or `varies` from cycle to cycle; so many
of the next rows (`folded`) are below one that is not `changed`, and say nothing else.  Last is when
the first call of a usual cycle began on either side."""


def call_tree(program_difference: ProgramDifference, base: Program, new: Program) -> pl.DataFrame:
    """Both programs as one tree of rows of `CALL_TREE`."""
    sites, parents = (
        program_difference.sites["site"].to_list(),
        program_difference.sites["parent"].to_list(),
    )
    above = [program_difference.row.get(parent) for parent in parents]
    place = _order(base, new)
    order, depth = _depth_first(above, [place.get(site, 0.0) for site in sites])
    moved = {
        site
        for change in program_difference.changes
        for side in (change.gone, change.came)
        for site in side
    }
    changed = [site in moved for site in sites]
    totals, size = [mean.copy() for mean in program_difference.means], [1] * len(sites)
    for row in reversed(order):
        top = above[row]
        if top is not None:
            changed[top] |= changed[row]
            size[top] += size[row]
            for total in totals:
                total[1:, top] += total[1:, row]
    names, sorts = (
        program_difference.sites["name"].to_list(),
        program_difference.sites["sort"].to_list(),
    )
    firsts = [
        _first_calls(*side) for side in zip((base, new), program_difference.kinds, strict=True)
    ]
    rows: list[tuple[Any, ...]] = []
    for row in order:
        calls = [float(mean[0, row]) for mean in program_difference.means]
        state = _state(calls, changed=changed[row])
        hidden = 0 if state == "changed" else size[row] - 1
        moments = [first.get(sites[row]) for first in firsts]
        times = [float(total[part, row]) for part in (2, 1) for total in totals]
        about = depth[row], names[row], SORTS[sorts[row]], state
        rows.append((*about, *calls, *times, hidden, *moments))
    return pl.DataFrame(rows, schema=CALL_TREE, orient="row")


def _first_calls(program: Program, kinds: Sequence[CycleKind]) -> dict[int, int]:
    """When each site began first in the cycle amid the usual ones; older baselines do not say."""
    if "first_ns" not in program.counts.columns or not kinds:
        return {}
    usual = kinds[0].cycles[len(kinds[0].cycles) // 2]
    rows = program.counts.filter(pl.col("cycle") == usual).select("site", "first_ns")
    return dict(rows.iter_rows())


def _state(calls: Sequence[float], *, changed: bool) -> str:
    if not changed:
        return "same" if abs(calls[0] - calls[1]) < _ROUNDING else "varies"
    return "changed" if all(calls) else "added" if calls[1] else "removed"


def _depth_first(
    above: Sequence[int | None], place: Sequence[float]
) -> tuple[list[int], dict[int, int]]:
    """Rows of a tree with callers before what they call, in order, and how deep each lies."""
    below: dict[int | None, list[int]] = defaultdict(list)
    for row in sorted(range(len(above)), key=place.__getitem__, reverse=True):
        below[above[row]].append(row)
    order, pending = [], list(below[None])
    depth = dict.fromkeys(pending, 0)
    while pending:
        row = pending.pop()
        order.append(row)
        depth.update(dict.fromkeys(below[row], depth[row] + 1))
        pending += below[row]
    return order, depth


def _order(base: Program, new: Program) -> dict[int, float]:
    """Where each site comes first: as in the new program, others after what they followed."""
    firsts = []
    for program in (base, new):
        sites, first = np.unique(program.nodes["site"].to_numpy(), return_index=True)
        firsts.append(dict(zip(sites.tolist(), first.tolist(), strict=True)))
    positions: dict[int, float] = dict(firsts[1])
    last, step = -1.0, 1.0 / (len(firsts[0]) + 1)
    for site, _ in sorted(firsts[0].items(), key=lambda item: item[1]):
        last = positions.setdefault(site, last + step)
    return positions
