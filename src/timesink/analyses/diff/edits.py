"""What one program does that another does not: counts per cycle first, then where.

A site changed where its calls per cycle lie in ranges that do not meet; what varies from cycle to
cycle in one run is compared by these ranges alone and never aligned.  One cycle of either side is
then aligned, tree by tree, to tell which calls came, went or were replaced, and between which.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from timesink.analyses.diff.program import (
    ANNOTATION,
    KERNEL,
    MODULE,
    OPERATOR,
    SORTS,
    WAIT,
    Hashes,
    Program,
    mixed,
)
from timesink.analyses.kernels.join_alignment import common_subsequence
from timesink.model.arrays import Flags, Floats, Ints

_MOST_CYCLES = 400
"""Cycles of a side that are looked at; of more, as many that lie evenly among them."""
_TRIMMED = 0.1
"""Part of the cycles at either end of a range that may be odd ones."""
_ALIKE = 0.1
"""Part of its calls by which a single cycle may differ from those of a kind and still be of it."""
_RAGGED = 0.35
"""The same for programs of which hardly two cycles are equal."""
_NEARLY_ALL = 0.8
"""Part of the operators that come so many times as often where a cycle does its work again."""
_MOST_RESIZED = 0.4
"""Part of the kernels with other geometry above which the work is another."""
_LEAST_VARIANT = 0.005
"""Part of the device's time that other variants of equal kernels must take or save."""
_BRIDGED = 2
"""Equal calls between two changes that are one."""


@dataclass(frozen=True, slots=True)
class CycleKind:
    """Cycles that do the same."""

    cycles: tuple[int, ...]
    period: int | None
    """Every how many-th cycle is of it; None where they do not come evenly, or all are."""
    calls: float
    """Operators and ranges per cycle."""
    partner: int | None = None
    """The kind of the other run that it is compared with."""


@dataclass(frozen=True, slots=True, eq=False)
class CallChange:
    """Calls that came or went at one sort of place."""

    inside: tuple[str, ...]
    """Names of the calls around, outermost first."""
    removed: tuple[str, ...]
    added: tuple[str, ...]
    before: str
    after: str
    """Names of the calls that stand before and after it; empty at an end."""
    places: int
    """At how many places of a cycle."""
    of_places: int
    """How many places of that sort there are."""
    gone: Counter[int]
    """Sites of the calls that went, and of all below, with how many calls of a cycle."""
    came: Counter[int]
    order: int = 0
    """Where in the cycle it is first."""
    frequency: float = 1.0
    """In which part of the cycles."""
    kind: str = "calls"
    """`calls`, `kernels` below equal operators, `shapes`, `types`, `variants`, `moved`, `cycles`."""
    factor: float | None = None
    """How many times as much work, of other shapes."""


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

    @property
    def same(self) -> bool:
        return not self.changes

    @cached_property
    def row(self) -> dict[int, int]:
        return {site: place for place, site in enumerate(self.sites["site"].to_list())}

    def amounts(self, change: CallChange) -> Floats:
        """What a change adds: calls, host_ns, device_ns and bytes per cycle."""
        total = np.zeros(4)
        for sign, counts, mean in (
            (-1, change.gone, self.means[0]),
            (1, change.came, self.means[1]),
        ):
            for site, often in counts.items():
                column = mean[:, self.row[site]]
                if column[0]:
                    total += sign * column * min(1.0, often / column[0])
        return total * change.frequency


CALL_TREE = {
    "depth": pl.Int64(),
    "name": pl.String(),
    "sort": pl.String(),
    "state": pl.String(),
    **dict.fromkeys(("base_calls", "new_calls"), pl.Float64()),
    **dict.fromkeys(("base_device_ns", "new_device_ns"), pl.Float64()),
    **dict.fromkeys(("base_host_ns", "new_host_ns"), pl.Float64()),
    "folded": pl.Int64(),
}
"""Calls of both programs as one tree, in order, each with all that is below it; below equal calls
(`state` is `same`) only how many sorts of calls there are (`folded`).  Other states: `added`,
`removed`, `changed` somewhere below or in number, and `varies` from cycle to cycle."""


def call_tree(found: ProgramDifference, base: Program, new: Program) -> pl.DataFrame:
    """Both programs as one tree of rows of `CALL_TREE`."""
    sites, parents = found.sites["site"].to_list(), found.sites["parent"].to_list()
    moved = {site for one in found.changes for side in (one.gone, one.came) for site in side}
    place = _order(base, new)
    below: dict[int | None, list[int]] = defaultdict(list)
    for row, parent in enumerate(parents):
        below[found.row.get(parent)].append(row)
    for rows in below.values():
        rows.sort(key=lambda row: place.get(sites[row], 0.0))
    totals = [mean.copy() for mean in found.means]
    changed = np.zeros(len(sites), dtype=np.bool_)
    depth_first: list[int] = []
    pending = below[None][::-1]
    while pending:
        row = pending.pop()
        depth_first.append(row)
        pending += below[row][::-1]
    size = np.ones(len(sites), dtype=np.int64)
    for row in reversed(depth_first):
        changed[row] |= sites[row] in moved
        above = found.row.get(parents[row])
        if above is not None:
            changed[above] |= changed[row]
            size[above] += size[row]
            for total in totals:
                total[1:, above] += total[1:, row]
    names, sorts = found.sites["name"].to_list(), found.sites["sort"].to_list()
    depth = dict.fromkeys(below[None], 0)
    told: list[tuple[Any, ...]] = []
    skipped = -1
    for at, row in enumerate(depth_first):
        depth.update(dict.fromkeys(below[row], depth[row] + 1))
        if at < skipped:
            continue
        calls = [float(mean[0, row]) for mean in found.means]
        state = "changed" if changed[row] else "same"
        if changed[row] and not all(calls):
            state = "added" if calls[1] else "removed"
        elif not changed[row] and abs(calls[0] - calls[1]) > 1e-9:
            state = "varies"
        if state != "changed":
            skipped = at + int(size[row])
        times = [float(total[part, row]) for part in (2, 1) for total in totals]
        hidden = 0 if state == "changed" else int(size[row]) - 1
        told.append((depth[row], names[row], SORTS[sorts[row]], state, *calls, *times, hidden))
    return pl.DataFrame(told, schema=CALL_TREE, orient="row")


def _order(base: Program, new: Program) -> dict[int, float]:
    """Where each site comes first: as in the new program, others after what they followed."""
    firsts = []
    for program in (base, new):
        known, first = np.unique(program.nodes["site"].to_numpy(), return_index=True)
        firsts.append(dict(zip(known.tolist(), first.tolist(), strict=True)))
    found: dict[int, float] = dict(firsts[1])
    last, step = -1.0, 1.0 / (len(firsts[0]) + 1)
    for site, _ in sorted(firsts[0].items(), key=lambda one: one[1]):
        last = found.setdefault(site, last + step)
    return found


# -- sites of both sides, counted cycle by cycle --------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Counted:
    """One side: calls per cycle and site, and sums; columns are the sites of both sides."""

    program: Program
    cycles: Ints
    calls: NDArray[np.int32]
    host_ns: NDArray[np.int64]
    device_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    blocks: NDArray[np.int64]
    shape: Hashes
    exact: Hashes

    def only(self, which: Ints) -> _Counted:
        return replace(
            self,
            cycles=self.cycles[which],
            **{name: getattr(self, name)[which] for name in _MATRICES},
        )

    def means(self) -> Floats:
        parts = (self.calls, self.host_ns, self.device_ns, self.bytes)
        return np.stack([part.mean(axis=0) for part in parts])


_MATRICES = ("calls", "host_ns", "device_ns", "bytes", "blocks", "shape", "exact")


def _counted(program: Program, sites: pl.Series, cycles: Sequence[int]) -> _Counted:
    wanted = np.array(sorted(cycles), dtype=np.int64)
    if len(wanted) > _MOST_CYCLES:
        wanted = wanted[np.linspace(0, len(wanted) - 1, _MOST_CYCLES).astype(np.int64)]
    rows = program.counts.filter(pl.col("cycle").is_in(wanted.tolist()))
    at = np.searchsorted(wanted, rows["cycle"].to_numpy())
    column = np.searchsorted(sites.to_numpy(), rows["site"].to_numpy())
    shape = (len(wanted), len(sites))
    found = {}
    for name in _MATRICES:
        values = rows[name].to_numpy()
        dtype = np.int32 if name == "calls" else values.dtype
        matrix = np.zeros(shape, dtype=dtype)
        matrix[at, column] = values
        found[name] = matrix
    return _Counted(program, wanted, **found)


def _ranges(calls: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """Fewest and most calls per cycle of each site, without a few odd cycles."""
    ordered = np.sort(calls, axis=0)
    odd = int(len(calls) * _TRIMMED)
    return ordered[odd], ordered[len(calls) - 1 - odd]


# -- kinds of cycles -------------------------------------------------------------------------------


def _kinds(side: _Counted, structural: Flags) -> list[Ints]:
    """Rows of the cycles of each kind, the most frequent kind first."""
    weight = mixed(np.arange(1, structural.sum() + 1, dtype=np.uint64))
    calls = side.calls[:, structural]
    with np.errstate(over="ignore"):
        key = (calls.astype(np.uint64) * weight).sum(axis=1)
    groups: dict[int, list[int]] = defaultdict(list)
    for row, one in enumerate(key.tolist()):
        groups[one].append(row)
    ordered = sorted(groups.values(), key=lambda rows: -len(rows))
    repeated = sum(len(rows) for rows in ordered if len(rows) > 1)
    ragged = repeated < len(key) / 2
    found: list[list[int]] = []
    for rows in ordered:
        near = [(_distance(calls[rows[0]], calls[known[0]]), known) for known in found]
        best = min(near, key=lambda one: one[0], default=None)
        joins = best is not None and best[0] <= (_RAGGED if ragged else _ALIKE)
        if best is not None and joins and (ragged or len(rows) == 1):
            best[1].extend(rows)
        else:
            found.append(list(rows))
    return [np.array(sorted(rows)) for rows in sorted(found, key=lambda rows: -len(rows))]


def _distance(left: NDArray[np.int32], right: NDArray[np.int32]) -> float:
    most = max(int(left.sum()), int(right.sum()), 1)
    return float(np.abs(left.astype(np.int64) - right).sum()) / most


def _period(rows: Ints, many: int) -> int | None:
    steps = np.unique(np.diff(rows))
    even = len(rows) >= 2 and len(steps) == 1 and steps[0] > 1 and len(rows) < many
    return int(steps[0]) if even else None


def _paired(
    base: _Counted, new: _Counted, kinds: tuple[list[Ints], list[Ints]], structural: Flags
) -> list[tuple[int, int]]:
    """Kinds that do the most alike, the most frequent ones first."""
    pairs: list[tuple[int, int]] = []
    vectors = [
        [np.median(side.calls[rows][:, structural], axis=0) for rows in own]
        for side, own in zip((base, new), kinds, strict=True)
    ]
    open_ = set(range(len(kinds[1])))
    for number, vector in enumerate(vectors[0]):
        near = sorted((_distance(vector, vectors[1][other]), other) for other in open_)
        if near and (near[0][0] < 1.0 or number == 0):
            pairs.append((number, near[0][1]))
            open_.discard(near[0][1])
    return pairs


# -- the difference --------------------------------------------------------------------------------


def difference(
    base: Program, new: Program, base_cycles: Sequence[int] = (), new_cycles: Sequence[int] = ()
) -> ProgramDifference:
    """What the second program does otherwise; of some cycles, where these are said."""
    table = pl.concat([base.sites, new.sites]).unique("site", keep="first").sort("site")
    sites = table["site"]
    left = _counted(base, sites, base_cycles or base.cycles)
    right = _counted(new, sites, new_cycles or new.cycles)
    structural = np.isin(table["sort"].to_numpy(), (OPERATOR, ANNOTATION, MODULE))
    if not (base.host and new.host):
        structural[:] = True
    kinds = _kinds(left, structural), _kinds(right, structural)
    pairs = _paired(left, right, kinds, structural)
    names = _SiteNames(table)
    changes: list[CallChange] = []
    varying = 0
    for place, (ours, theirs) in enumerate(pairs):
        pair = left.only(kinds[0][ours]), right.only(kinds[1][theirs])
        part = len(kinds[1][theirs]) / len(right.cycles)
        found, unsteady = _changes(*pair, names)
        varying = max(varying, unsteady)
        known = {(one.inside, one.removed, one.added) for one in changes}
        changes += [
            replace(one, frequency=part if place else 1.0)
            for one in found
            if (one.inside, one.removed, one.added) not in known
        ]
    told = [
        [
            CycleKind(
                tuple(side.cycles[rows].tolist()),
                _period(rows, len(side.cycles)),
                float(side.calls[rows][:, structural].sum(axis=1).mean()),
                dict(met).get(number),
            )
            for number, rows in enumerate(own)
        ]
        for side, own, met in zip(
            (left, right), kinds, (pairs, [(b, a) for a, b in pairs]), strict=True
        )
    ]
    changes += _other_kinds(left, right, told, names)
    main = [
        side.only(own[0])
        for side, own in ((left, [kinds[0][pairs[0][0]]]), (right, [kinds[1][pairs[0][1]]]))
    ]
    return ProgramDifference(
        table,
        (left.means(), right.means()),
        (tuple(told[0]), tuple(told[1])),
        tuple(sorted(changes, key=lambda one: one.order)),
        (
            main[0].device_ns.sum(axis=1).astype(np.float64),
            main[1].device_ns.sum(axis=1).astype(np.float64),
        ),
        varying,
        base.host and new.host,
        base.typed and new.typed,
    )


def _other_kinds(
    left: _Counted, right: _Counted, told: list[list[CycleKind]], names: _SiteNames
) -> Iterator[CallChange]:
    """Kinds of cycles, of at least two cycles, that only one side has: as it differs from its usual one."""
    for which, (side, kinds) in enumerate(zip((left, right), told, strict=True)):
        for kind in kinds[1:]:
            if kind.partner is not None or len(kind.cycles) < 2 or kind.period is None:
                continue
            usual, odd = (
                side.only(np.flatnonzero(np.isin(side.cycles, one.cycles)))
                for one in (kinds[0], kind)
            )
            found = _changes(usual, odd, names)[0]
            came, gone = (
                sum((getattr(one, part) for one in found), Counter()) for part in ("came", "gone")
            )
            added = tuple(dict.fromkeys(name for one in found for name in one.added))
            if which == 0:
                came, gone = gone, came
            yield CallChange(
                (),
                () if which else added,
                added if which else (),
                "",
                "",
                1,
                1,
                gone,
                came,
                kind="cycles",
                frequency=len(kind.cycles) / len(side.cycles),
                factor=float(kind.period),
            )


@dataclass(frozen=True, eq=False)
class _SiteNames:
    """What sites are called."""

    table: pl.DataFrame

    @cached_property
    def place(self) -> dict[int, int]:
        return {site: place for place, site in enumerate(self.table["site"].to_list())}

    @cached_property
    def names(self) -> list[str]:
        return self.table["name"].to_list()

    @cached_property
    def sorts(self) -> list[int]:
        return self.table["sort"].to_list()

    @cached_property
    def parents(self) -> list[int]:
        return self.table["parent"].to_list()

    def name(self, site: int) -> str:
        return self.names[self.place[site]]

    def path(self, site: int) -> tuple[str, ...]:
        """Names from the outermost call down to this one."""
        found: list[str] = []
        place = self.place.get(site)
        while place is not None:
            found.append(self.names[place])
            place = self.place.get(self.parents[place])
        return tuple(found[::-1])


def _changes(base: _Counted, new: _Counted, names: _SiteNames) -> tuple[list[CallChange], int]:
    (low, high), (least, most) = _ranges(base.calls), _ranges(new.calls)
    apart = (high < least) | (most < low)
    equal = (low == high) & (least == most) & (low == least)
    varies = ~apart & ~equal
    repeated = _repeated(base, new, names, apart)
    if repeated is not None:
        return [repeated], int(varies.sum())
    found: list[CallChange] = []
    if apart.any():
        known = names.table["site"].to_numpy()
        trees = [_steady_tree(side, known, varies) for side in (base, new)]
        found = _Alignment(trees[0], trees[1], names, frozenset(known[apart].tolist())).changes()
        found += _uncovered(found, names, known, apart, base, new)
    if all(one.kind == "kernels" for one in found):
        found += _details(base, new, names, equal)
    return found, int(varies.sum())


def _uncovered(
    found: Sequence[CallChange],
    names: _SiteNames,
    known: Hashes,
    apart: Flags,
    base: _Counted,
    new: _Counted,
) -> list[CallChange]:
    """Sites whose counts changed for sure, though the aligned cycles do not show it."""
    shown = {site for one in found for site in (*one.gone, *one.came)}
    rest = []
    for column in np.flatnonzero(apart).tolist():
        site = int(known[column])
        parent = names.parents[column]
        if (
            site in shown or parent in shown or apart[names.place[parent]]
            if parent in names.place
            else site in shown
        ):
            continue
        before, after = (int(np.median(side.calls[:, column])) for side in (base, new))
        name = names.names[column]
        rest.append(
            CallChange(
                names.path(site)[:-1],
                (name,) if before > after else (),
                (name,) if after > before else (),
                "",
                "",
                abs(after - before),
                max(before, after),
                Counter({site: before - after}) if before > after else Counter(),
                Counter({site: after - before}) if after > before else Counter(),
            )
        )
    return rest


def _steady_tree(side: _Counted, known: Hashes, varies: Flags) -> _Tree:
    """A usual cycle without the calls that vary, and what is below them."""
    with np.errstate(over="ignore"):
        key = side.exact.sum(axis=1)
    values, often = np.unique(key, return_counts=True)
    usual = np.flatnonzero(key == values[np.argmax(often)])
    cycle = int(side.cycles[usual[len(usual) // 2]])
    nodes = side.program.tree(cycle)
    site, parent = nodes["site"].to_numpy(), nodes["parent"].to_numpy()
    drop = varies[np.searchsorted(known, site)]
    for node, above in enumerate(parent.tolist()):
        if above >= 0 and drop[above]:
            drop[node] = True
    kept = np.flatnonzero(~drop)
    place = np.full(len(site) + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return _Tree.of(site[kept], place[parent[kept]], nodes["thread"].to_numpy()[kept])


@dataclass(frozen=True, eq=False)
class _Tree:
    """Nodes of a cycle with a hash of each subtree."""

    site: Hashes
    parent: Ints
    size: Ints
    whole: Hashes
    """Equal for subtrees that are equal in all names, and their order."""
    thread: Ints
    children: list[list[int]]

    @classmethod
    def of(cls, site: Hashes, parent: Ints, thread: Ints) -> _Tree:
        size = np.ones(len(site), dtype=np.int64)
        children: list[list[int]] = [[] for _ in range(len(site))]
        whole = mixed(site)
        value = whole.tolist()
        mask = (1 << 64) - 1
        parents = parent.tolist()
        for node in range(len(parents) - 1, -1, -1):
            above = parents[node]
            if above >= 0:
                size[above] += size[node]
                children[above].append(node)
                # The order of calls counts: what came so far is multiplied before each.
                value[above] = (value[above] * 1099511628211 + value[node] * 31 + 7) & mask
        for own in children:
            own.reverse()
        return cls(site, parent, size, np.array(value, dtype=np.uint64), thread, children)

    def roots(self) -> dict[int, list[int]]:
        """Outermost calls of each thread."""
        found: dict[int, list[int]] = defaultdict(list)
        for node in np.flatnonzero(self.parent < 0).tolist():
            found[int(self.thread[node])].append(node)
        return found

    def below(self, node: int) -> list[int]:
        return self.site[node : node + int(self.size[node])].tolist()


@dataclass(eq=False)
class _Hunk:
    """A change at one place."""

    inside: int
    """Site of the call around; 0 for none."""
    removed: list[int]
    added: list[int]
    before: int
    after: int
    order: int


@dataclass(eq=False)
class _Alignment:
    base: _Tree
    new: _Tree
    names: _SiteNames
    apart: frozenset[int]
    hunks: list[_Hunk] = field(default_factory=list)

    def changes(self) -> list[CallChange]:
        for ours, theirs in self._threads():
            self._align(ours, theirs, 0)
        return self._grouped()

    def _threads(self) -> Iterator[tuple[list[int], list[int]]]:
        """Outermost calls of threads that do the most alike; numbers of threads mean nothing."""
        left, right = self.base.roots(), self.new.roots()
        counts = [
            {
                thread: Counter(self.names.name(site) for site in tree.site[roots].tolist())
                for thread, roots in own.items()
            }
            for tree, own in ((self.base, left), (self.new, right))
        ]
        scored = sorted(
            (
                (-sum((one & other).values()), -len(left[a]) - len(right[b]), a, b)
                for a, one in counts[0].items()
                for b, other in counts[1].items()
            ),
        )
        for common, _, ours, theirs in scored:
            if ours in left and theirs in right and common:
                yield left.pop(ours), right.pop(theirs)
        for rest in left.values():
            yield rest, []
        for rest in right.values():
            yield [], rest

    def _align(self, ours: list[int], theirs: list[int], inside: int) -> None:
        work = [(ours, theirs, inside)]
        while work:
            left, right, around = work.pop()
            a, b = self.base.site[left], self.new.site[right]
            mine, its = common_subsequence(a.view(np.int64), b.view(np.int64))
            self._hunks(left, right, mine, its, around)
            for x, y in zip(mine.tolist(), its.tolist(), strict=True):
                one, other = left[x], right[y]
                if self.base.whole[one] != self.new.whole[other]:
                    work.append((self.base.children[one], self.new.children[other], int(a[x])))

    def _hunks(self, left: list[int], right: list[int], mine: Ints, its: Ints, inside: int) -> None:
        ends = [(-1, -1), *zip(mine.tolist(), its.tolist(), strict=True), (len(left), len(right))]
        open_: _Hunk | None = None
        bridge = 0
        for (x0, y0), (x1, y1) in zip(ends, ends[1:], strict=False):
            removed, added = left[x0 + 1 : x1], right[y0 + 1 : y1]
            if not removed and not added:
                bridge += 1
                continue
            after = int(self.base.site[left[x1]]) if x1 < len(left) else 0
            if (
                open_ is not None
                and bridge < _BRIDGED
                and len(open_.removed) + len(open_.added) > bridge
            ):
                open_.removed += removed
                open_.added += added
                open_.after = after
            else:
                before = int(self.base.site[left[x0]]) if x0 >= 0 else 0
                order = right[y0] if y0 >= 0 else (right[0] if right else 0)
                open_ = _Hunk(inside, removed, added, before, after, order)
                self.hunks.append(open_)
            bridge = 0

    def _grouped(self) -> list[CallChange]:
        """Changes that are the same at several places as one."""
        groups: dict[tuple[object, ...], list[_Hunk]] = defaultdict(list)
        for hunk in self.hunks:
            hunk.removed = [one for one in hunk.removed if self._counts(self.base, one)]
            hunk.added = [one for one in hunk.added if self._counts(self.new, one)]
            gone, came = self.base.site[hunk.removed].tolist(), self.new.site[hunk.added].tolist()
            if gone or came:
                groups[(hunk.inside, tuple(gone), tuple(came))].append(hunk)
        return [self._change(hunks) for hunks in groups.values()]

    def _counts(self, tree: _Tree, node: int) -> bool:
        """Whether a call, or anything below it, comes more or less often: else it only moved."""
        return any(site in self.apart for site in tree.below(node))

    def _change(self, hunks: list[_Hunk]) -> CallChange:
        first = hunks[0]
        gone = Counter(
            site for one in hunks for node in one.removed for site in self.base.below(node)
        )
        came = Counter(site for one in hunks for node in one.added for site in self.new.below(node))
        led = first.removed[0] if first.removed else first.added[0]
        tree = self.base if first.removed else self.new
        same = int((tree.site == tree.site[led]).sum())
        name = self.names.name
        kinds = {self.names.sorts[self.names.place[site]] for site in (*gone, *came)}
        return CallChange(
            self.names.path(first.inside) if first.inside else (),
            tuple(name(site) for site in self.base.site[first.removed].tolist()),
            tuple(name(site) for site in self.new.site[first.added].tolist()),
            name(first.before) if first.before else "",
            name(first.after) if first.after else "",
            len(hunks),
            max(len(hunks), same),
            gone,
            came,
            first.order,
            kind="kernels" if first.inside and kinds == {KERNEL} else "calls",
        )


# -- the same calls with other shapes, types or geometry ------------------------------------------


def _repeated(base: _Counted, new: _Counted, names: _SiteNames, apart: Flags) -> CallChange | None:
    """Nearly all operators so many times as often: a cycle that does its work more than once."""
    operators = names.table["sort"].to_numpy() == OPERATOR
    before, after = (np.median(side.calls, axis=0) for side in (base, new))
    some = operators & (before > 0) & (after > 0)
    if not (apart & some).any():
        return None
    ratio = after[some] / before[some]
    values, often = np.unique(np.round(ratio, 3), return_counts=True)
    factor = float(values[np.argmax(often)])
    whole = abs(factor - round(factor)) < 1e-9 or abs(1 / factor - round(1 / factor)) < 1e-3
    if not whole or factor == 1.0 or often.max() < _NEARLY_ALL * len(ratio):
        return None
    columns = np.flatnonzero(apart)
    known = names.table["site"].to_numpy()
    more, fewer = (
        Counter(
            {
                int(known[one]): int(abs(after[one] - before[one]))
                for one in columns
                if (after[one] - before[one]) * sign > 0
            }
        )
        for sign in (1, -1)
    )
    largest = columns[np.argsort(-np.abs(after - before)[columns], kind="stable")][:8]
    shown = tuple(dict.fromkeys(names.names[one] for one in largest.tolist()))
    return CallChange(
        (),
        () if factor > 1 else shown,
        shown if factor > 1 else (),
        "",
        "",
        int(often.max()),
        len(ratio),
        fewer,
        more,
        kind="repeated",
        factor=factor,
    )


def _details(
    base: _Counted, new: _Counted, names: _SiteNames, equal: Flags
) -> Iterator[CallChange]:
    """Shapes, types and geometry of equal calls, where every cycle of a side has the same."""
    table = names.table
    sort = table["sort"].to_numpy()
    typed = base.program.typed and new.program.typed
    if typed:
        columns = _steadily_other(base.shape, new.shape, equal & (sort < WAIT))
        if len(columns):
            types = [
                dict(zip(side.program.sites["site"], side.program.sites["types"], strict=True))
                for side in (base, new)
            ]
            sites = table["site"].to_list()
            retyped = [
                one
                for one in columns.tolist()
                if types[0].get(sites[one]) != types[1].get(sites[one])
            ]
            kind = "types" if len(retyped) * 2 > len(columns) else "shapes"
            yield _detailed(base, new, names, columns, kind)
            return
    work = equal & (sort >= KERNEL)
    resized = _steadily_other(base.blocks, new.blocks, work)
    copied = _steadily_other(base.bytes, new.bytes, work)
    most = max(1, int((work & (base.blocks[0] > 0)).sum()))
    if len(resized) > _MOST_RESIZED * most:
        yield _detailed(base, new, names, np.union1d(resized, copied), "shapes")
        return
    columns = _steadily_other(base.exact, new.exact, work)
    if len(columns):
        change, error = _device_change(base, new, columns)
        if abs(change) > max(3 * error, _LEAST_VARIANT * float(base.device_ns.sum(axis=1).mean())):
            yield _detailed(base, new, names, columns, "variants")


def _steadily_other(ours: NDArray[Any], theirs: NDArray[Any], which: Flags) -> Ints:
    """Columns in which every cycle of a side is equal, and the sides are not."""
    steady = (ours == ours[0]).all(axis=0) & (theirs == theirs[0]).all(axis=0)
    return np.flatnonzero(which & steady & (ours[0] != theirs[0]))


def _device_change(base: _Counted, new: _Counted, columns: Ints) -> tuple[float, float]:
    """What some sites take more per cycle, and how sure that is."""
    sums = [side.device_ns[:, columns].sum(axis=1).astype(np.float64) for side in (base, new)]
    error = sum(float(one.var()) / max(1, len(one) - 1) for one in sums) ** 0.5
    return float(np.median(sums[1]) - np.median(sums[0])), error


def _detailed(
    base: _Counted, new: _Counted, names: _SiteNames, columns: Ints, kind: str
) -> CallChange:
    """Equal calls that differ in the same sort of detail, as one change."""
    sort = names.table["sort"].to_numpy()
    often = base.calls[0, columns]
    amounts = [side.blocks[:, columns].sum(axis=1).mean() for side in (base, new)]
    if not all(amounts):
        amounts = [side.blocks.sum(axis=1).mean() for side in (base, new)]
    if not all(amounts):
        amounts = [side.bytes.sum(axis=1).mean() for side in (base, new)]
    known = names.table["site"].to_numpy()
    counted = Counter(dict(zip(known[columns].tolist(), often.tolist(), strict=True)))
    delta = np.abs(new.device_ns.mean(axis=0) - base.device_ns.mean(axis=0))
    largest = columns[np.argsort(-delta[columns], kind="stable")][:8]
    shown = tuple(dict.fromkeys(names.names[one] for one in largest.tolist()))
    return CallChange(
        names.path(int(known[largest[0]]))[:-1],
        shown,
        shown,
        "",
        "",
        int(often.sum()),
        int(base.calls[0, sort == sort[columns[0]]].sum()),
        counted,
        counted,
        kind=kind,
        factor=float(amounts[1] / amounts[0]) if all(amounts) else None,
    )
